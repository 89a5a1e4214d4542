"""The observe-think-act agent: what it says to the model, and what it makes of the answers."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from PIL import Image
from pydantic import Field

from confkv_agents.errors import ConfigError, PromptTooLongError, TaskError
from confkv_agents.evaluation.agents import load_agent
from confkv_agents.plugins import find_agent, find_task, load_module
from confkv_agents.web.actions import describe_actions, parse_action
from confkv_agents.web.observation import Picture
from confkv_agents.web.tasks import load_tasks
from tests.evaluation.fakes import FakeElement, FakeObservation, FakeTask, screenshot

react = load_module(find_agent("react"), "agents.react")
PNG = screenshot()


class ScriptedModel(BaseChatModel):
    """Answers from a list and keeps every conversation it was given."""

    replies: list[Any]
    seen: list[list[BaseMessage]] = Field(default_factory=list)
    sees: bool | None = False

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _resolve_model_profile(self):
        return {} if self.sees is None else {"image_inputs": self.sees}

    def _generate(self, messages, stop=None, run_manager=None, **kwargs) -> ChatResult:
        self.seen.append(list(messages))
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        usage = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
        message = AIMessage(reply, usage_metadata=usage, response_metadata={"model_name": "scripted"})
        return ChatResult(generations=[ChatGeneration(message=message)])


def page(number: int, **values: Any) -> FakeObservation:
    elements = (FakeElement(4, "link", "Red Canvas Backpack"),)
    return FakeObservation(f"page {number}", elements, screenshot=PNG, marked=screenshot("marked"), **values)


def begin(*replies: Any, sees: bool | None = False, task: FakeTask | None = None, **options: Any):
    model = ScriptedModel(replies=list(replies), sees=sees)
    agent = load_agent("react", model=model, **options)
    agent.reset(task or FakeTask(), page(1))  # type: ignore[arg-type]
    return agent, model


def text_of(message: BaseMessage) -> str:
    return message.text


def test_each_call_only_adds_to_the_conversation():
    agent, model = begin("I search.\nclick [4]", "go_back", "done\nstop [$34]")
    for number in (1, 2, 3):
        agent.act(page(number))
    for earlier, later in zip(model.seen, model.seen[1:], strict=False):
        assert later[: len(earlier)] == earlier
        assert [message.type for message in later[len(earlier) :]] == ["ai", "human"]
    first = model.seen[0]
    assert [message.type for message in first] == ["system", "human"]
    assert text_of(first[1]) == "Task: Find the red canvas backpack and tell its price\n\npage 1"
    assert text_of(model.seen[1][3]) == "page 2"
    assert all(isinstance(message.content, str) for message in model.seen[2]), "no blocks where text is all"


def test_a_new_episode_starts_a_new_conversation():
    agent, model = begin("click [4]", "click [4]")
    agent.act(page(1))
    agent.reset(FakeTask(intent="Another"), page(1))
    agent.act(page(1))
    assert len(model.seen[1]) == 2
    assert "Another" in text_of(model.seen[1][1])


def test_the_decision_has_action_thought_raw_prompt_and_cost():
    agent, _ = begin("Thought: the bag is [4].\nclick 4")
    decision = agent.act(page(1))
    assert decision.action == "click [4]"
    assert decision.thought == "the bag is [4]."
    assert decision.raw == "Thought: the bag is [4].\nclick 4"
    assert decision.prompt.endswith("page 1")
    assert (decision.usage["model_calls"], decision.usage["tokens_read"]) == (1, 10)


def test_an_answer_without_an_action_is_sent_back_once_in_the_same_conversation():
    agent, model = begin("I think I should look around.", "Well then.\nscroll [down]")
    decision = agent.act(page(1))
    assert decision.action == "scroll [down]"
    assert decision.raw.split("\n---\n") == ["I think I should look around.", "Well then.\nscroll [down]"]
    assert (decision.usage["model_calls"], decision.usage["tokens_read"]) == (2, 20)
    assert [message.type for message in model.seen[1]] == ["system", "human", "ai", "human"]
    assert "click [3]" in text_of(model.seen[1][-1])


def test_a_second_answer_without_an_action_is_passed_on_as_it_is():
    agent, model = begin("hm", "  still\nnothing ", "click [4]")
    decision = agent.act(page(1))
    assert decision.action == "still\nnothing"
    assert len(model.seen) == 2
    assert agent.act(page(2)).action == "click [4]"


@pytest.mark.parametrize(
    ("reply", "thought", "action"),
    [
        ("click [4]", "", "click [4]"),
        ("One.\nTwo.\nclick [4]", "One.\nTwo.", "click [4]"),
        (
            "First I could click [3].\nAction: type [4] [red bag] [1]",
            "First I could click [3].",
            "type [4] [red bag] [1]",
        ),
        ("So:\n```\nstop [$34.00]\n```", "So:", "stop [$34.00]"),
        ("click [4]\nThat opens it.", "", "click [4]"),
        ("Copy it.\ntype [4] [two\nlines]", "Copy it.", "type [4] [two\nlines]"),
    ],
)
def test_replies_are_split_into_thought_and_action(reply: str, thought: str, action: str):
    assert react.split_reply(reply) == (thought, action)


def test_the_prompt_names_every_action_in_a_form_that_is_understood():
    for verb in (line.split()[0].rstrip(":") for line in describe_actions().splitlines()):
        assert verb in react.GRAMMAR, verb
    examples = react.GRAMMAR.replace("[id]", "[4]").replace("[number]", "[1]").replace("[text]", "[x]")
    for line in examples.splitlines():
        for form in line.split("   (")[0].split(", "):
            parse_action(form)


def test_a_model_that_sees_is_shown_the_marked_screenshot():
    agent, model = begin("click [4]", sees=True)
    agent.act(page(1))
    blocks = model.seen[0][1].content
    assert [block["type"] for block in blocks] == ["text", "image"]  # texts side by side are one
    assert blocks[0]["text"].endswith("page 1\n\nThe page, with the elements' numbers:")
    assert blocks[1]["mime_type"] == "image/png"


@pytest.mark.parametrize(
    ("pictures", "count"), [("none", 0), ("screenshot", 1), ("page", 2), ("marked+page", 3), ("blank", 2)]
)
def test_what_is_shown_can_be_chosen(pictures: str, count: int):
    shown = [Picture(PNG, "bag", 4), Picture(PNG, "")]
    agent, model = begin("click [4]", sees=True, pictures=pictures)
    agent.act(page(1, pictures=tuple(shown)))
    content = model.seen[0][1].content
    assert sum(block["type"] == "image" for block in content if isinstance(block, dict)) == count


def test_blank_pictures_are_white_and_of_the_same_size():
    picture = Picture(PNG, "bag", 4)
    agent, model = begin("click [4]", sees=True, pictures="blank")
    agent.act(page(1, pictures=(picture,)))
    blocks = model.seen[0][1].content
    assert [block["type"] for block in blocks] == ["text", "image"] and blocks[0]["text"].endswith("Picture 'bag' [4]:")
    with Image.open(io.BytesIO(base64.b64decode(blocks[1]["base64"]))) as image:
        assert image.getcolors() == [(image.width * image.height, (255, 255, 255))]
        with Image.open(io.BytesIO(PNG)) as before:
            assert image.size == before.size


@pytest.mark.parametrize("name", ["react", "pilot"])
def test_pictures_that_there_are_not_or_that_the_model_does_not_take_are_refused(name: str):
    blind = ScriptedModel(replies=[], sees=False)
    with pytest.raises(ConfigError, match="takes text only"):
        load_agent(name, model=blind, pictures="page")
    for model in (blind, ScriptedModel(replies=[], sees=True)):
        with pytest.raises(ConfigError, match="choose one of"):
            load_agent(name, model=model, pictures="everything")


def test_a_model_that_does_not_say_whether_it_sees_is_shown_what_is_asked_for():
    agent, model = begin("click [4]", sees=None, pictures="marked")
    agent.act(page(1))
    assert any(block["type"] == "image" for block in model.seen[0][1].content)
    agent, model = begin("click [4]", sees=None)
    agent.act(page(1))
    assert isinstance(model.seen[0][1].content, str)


def test_pictures_of_the_task_are_shown_or_said_to_be_hidden(tmp_path: Path):
    (tmp_path / "goal.png").write_bytes(PNG)
    fields = json.loads((find_task("shop/read_sku")).read_text(encoding="utf-8")) | {"image": "goal.png"}
    (tmp_path / "task.json").write_text(json.dumps(fields), encoding="utf-8")
    (task,) = load_tasks(tmp_path / "task.json")
    agent, model = begin("click [4]", sees=True, pictures="none", task=task)
    agent.act(page(1))
    assert sum(block["type"] == "image" for block in model.seen[0][1].content) == 1
    agent, model = begin("click [4]", task=task)
    agent.act(page(1))
    assert "1 picture" in text_of(model.seen[0][1])


@pytest.mark.parametrize("name", ["../secret.png", "/etc/hostname"])
def test_pictures_outside_the_tasks_folder_are_refused(tmp_path: Path, name: str):
    (tmp_path / "secret.png").write_bytes(PNG)
    (tmp_path / "inside").mkdir()
    fields = json.loads((find_task("shop/read_sku")).read_text(encoding="utf-8")) | {"image": name}
    (tmp_path / "inside" / "task.json").write_text(json.dumps(fields), encoding="utf-8")
    with pytest.raises(TaskError, match="outside the task's folder"):
        load_tasks(tmp_path / "inside" / "task.json")
    (task,) = load_tasks(find_task("shop/read_sku"))
    task = task.model_copy(update={"source": tmp_path / "inside" / "task.json", "images": (name,)})
    with pytest.raises(TaskError, match="outside the task's folder"):  # a task that was made otherwise
        begin("click [4]", sees=True, pictures="none", task=task)


def test_a_full_context_ends_the_agents_work_as_its_own_error():
    agent, _ = begin(ContextOverflowError("too long"))
    with pytest.raises(PromptTooLongError, match="too long"):
        agent.act(page(1))
