"""A replay asks what the run asked: message for message, picture for picture, and with the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from confkv_agents import ChatConfKV
from confkv_agents.cache import CacheConfig
from confkv_agents.engine import Engine
from confkv_agents.engine.request import Request
from confkv_agents.errors import RecordError
from confkv_agents.evaluation.agents import load_agent, open_agent
from confkv_agents.evaluation.bench.forcing import replay
from confkv_agents.evaluation.bench.recorded import RecordedEpisode, RecordedStep, read_recorded
from confkv_agents.evaluation.bench.retelling import Asked, retell
from confkv_agents.evaluation.episode import run_episode
from confkv_agents.evaluation.recording import RunRecorder
from confkv_agents.messages import to_turns
from confkv_agents.web.observation import Picture
from tests.agents.test_react import ScriptedModel
from tests.engine.tiny import script, tiny_pilot
from tests.evaluation.fakes import FakeAgent, FakeEnv, FakeObservation, FakeTask, screenshot

PILOT, REACT = open_agent("pilot"), open_agent("react")
PAGES = {**PILOT.observation, "pictures": 6}


class PictureEnv(FakeEnv):
    """Every page has a marked screenshot and two pictures, one of them of an element."""

    def _observe(self, outcome: str = "") -> FakeObservation:
        seen = super()._observe(outcome)
        number = len(self.actions) + 1
        pictures = (Picture(screenshot(f"bag {number}", (64, 64)), "a bag", 4), Picture(screenshot("b", (64, 64)), "b"))
        text = f"{seen.text}\npicture 'b'\n'Delivery' [5]"
        return replace(seen, text=text, pictures=pictures, marked=screenshot(f"marked {number}"))


@dataclass
class PictureTask(FakeTask):
    """A task with a picture of its own."""

    images: tuple[str, ...] = ("goal.png",)
    folder: Path = Path()

    def beside(self, name: str) -> Path:
        return self.folder / name


@pytest.fixture
def task(tmp_path: Path) -> PictureTask:
    (tmp_path / "goal.png").write_bytes(screenshot("goal", (64, 64)))
    return PictureTask(folder=tmp_path)


def played(tmp_path: Path, player: Any, task: Any, **configuration: Any) -> RecordedEpisode:
    """Play an episode of at most four steps, and read its record."""
    known = {"agent": "pilot", "model": "tiny", "pictures": "auto", "pages": PAGES, **configuration}
    with RunRecorder(tmp_path / "runs", configuration=known) as recorder:
        run_episode(PictureEnv(), player, task, recorder.episode(task, 7), max_steps=4)
    (episode,) = read_recorded(recorder.directory)
    return episode


def plain(messages: Any) -> list[tuple[str, Any]]:
    return [(message.type, message.content) for message in messages]


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """What engines are asked."""
    seen: list[Request] = []
    submit = Engine._submit

    def note(self: Engine, stream: Any) -> Any:
        seen.append(stream.request)
        return submit(self, stream)

    monkeypatch.setattr(Engine, "_submit", note)
    return seen


def test_the_pilot_is_asked_what_it_was_asked_picture_for_picture(
    tmp_path: Path, task: PictureTask, requests: list[Request]
) -> None:
    answers = ["'Red Canvas Backpack' [4]\nclick [4]", "I do not know", "scroll [down]", "the price '$34'\nstop [$34]"]
    with Engine(lambda: script(tiny_pilot(), answers), "tiny") as engine:
        model = ChatConfKV(model="tiny", engine=engine, policy="full", max_tokens=60, profile={"image_inputs": True})
        episode = played(tmp_path, load_agent("pilot", model=model, constrained="none"), task)
    asked = retell(episode, PILOT, sees=True)
    assert [each.step.index for each in asked] == [1, 3, 4] and len(requests) == 4
    for each in asked:
        assert each.turns == requests[each.step.index - 1].turns
        assert (each.lead, each.scored) == ("", answers[each.step.index - 1])
    assert [len(turn.pictures) for turn in asked[-1].turns] == [0, 3, 0, 2, 0, 2, 0, 2]


def test_repaired_answers_and_marked_pictures_are_repeated_as_they_came(tmp_path: Path, task: PictureTask) -> None:
    model = ScriptedModel(
        replies=["Hm.", "Look.\nclick 4", "nothing", "still nothing", "Thought: done\nstop [$34]"], sees=True
    )
    agent = load_agent("react", model=model, pictures="marked+page")
    episode = played(tmp_path, agent, task, agent="react", pictures="marked+page", pages={"marks": True, "pictures": 2})
    asked = retell(episode, REACT, sees=True)
    assert [each.step.index for each in asked] == [1, 3]
    assert plain(asked[0].messages) == plain(model.seen[1]) and plain(asked[1].messages) == plain(model.seen[4])
    assert [(each.lead, each.scored) for each in asked] == [("Look.\n", "click 4"), ("Thought: done\n", "stop [$34]")]
    assert sum(block["type"] == "image" for block in asked[0].messages[1].content if isinstance(block, dict)) == 4


def test_a_script_is_told_in_the_pilots_words(tmp_path: Path) -> None:
    agent = FakeAgent(["click [4]", "stop [$34]"], with_usage=False)
    episode = played(tmp_path, agent, FakeTask(), agent="oracle", model=None, pages_of="pilot")
    steps = tuple(replace(step, raw="") for step in episode.steps)  # as of an agent that asks no model
    asked = retell(replace(episode, steps=steps), PILOT, sees=True)
    assert [each.lead + each.scored for each in asked] == [
        "thought 1, 'Red Canvas Backpack' [4]\nclick [4]",
        "thought 2\nstop [$34]",
    ]
    live = ScriptedModel(replies=[each.scored for each in asked], sees=True)
    run_episode(PictureEnv(), load_agent("pilot", model=live, constrained="none"), FakeTask())
    assert [plain(each.messages) for each in asked] == [plain(messages) for messages in live.seen]
    assert all(isinstance(message.content, str) for each in retell(episode, PILOT) for message in each.messages)


@pytest.mark.parametrize(
    ("thought", "action", "target", "expected"),
    [
        ("code 'AB'", "click [1]", ("Red bag", 1), "code 'AB', 'Red bag' [1]\nclick [1]"),
        ("", "type [1] [it's]", ("Red bag", 1), "'Red bag' [1]\ntype [1] [it's]"),
        ("back", "go_back", None, "back\ngo_back"),
        ("", "go_back", None, "go_back"),
        ("plan: a; b\n", "go_back", None, "plan: a; b\ngo_back"),
        ("plan: a\nfirst 'AB'", "click [1]", ("Red bag", 1), "plan: a\nfirst 'AB', 'Red bag' [1]\nclick [1]"),
        ("now: b", "click [1]", ("Red bag", 1), "now: b\n'Red bag' [1]\nclick [1]"),
        ("code 'AB'\nnow: b", "click [1]", ("Red bag", 1), "code 'AB'\nnow: b\n'Red bag' [1]\nclick [1]"),
        ("wrong page, back\nnow: b", "go_back", None, "wrong page, back\nnow: b\ngo_back"),
    ],
)
def test_how_the_pilot_words_a_decision(
    thought: str, action: str, target: tuple[str, int] | None, expected: str
) -> None:
    assert PILOT.write_reply is not None
    assert PILOT.write_reply(thought, action, target) == expected


class PlanningAgent(FakeAgent):
    """Begins with a plan, as the oracle does."""

    def act(self, observation: Any) -> Any:
        decision = super().act(observation)
        return replace(decision, thought=f"plan: a; b\n{decision.thought}") if self.played == 1 else decision


def test_a_recorded_plan_keeps_its_line(tmp_path: Path) -> None:
    player = PlanningAgent(["click [4]", "stop [$34]"])
    episode = played(tmp_path, player, FakeTask(), agent="oracle", model=None, pages_of="pilot")
    steps = tuple(replace(step, raw="") for step in episode.steps)
    first, second = retell(replace(episode, steps=steps), PILOT, sees=True)
    assert first.lead + first.scored == "plan: a; b\nthought 1, 'Red Canvas Backpack' [4]\nclick [4]"
    assert second.lead + second.scored == "thought 2\nstop [$34]"


def test_pages_that_the_agent_would_not_have_been_shown_are_refused(tmp_path: Path) -> None:
    episode = played(tmp_path, FakeAgent(["stop [$34]"]), FakeTask(), pages={"format": "label-first"})
    with pytest.raises(
        RecordError, match="have format = compact, and recorded were pages with label-first; record again"
    ):
        retell(episode, PILOT)
    blind = replace(episode, configuration={"pages": {**PAGES, "pictures": 0}})
    with pytest.raises(RecordError, match="takes pictures, and none were recorded"):
        retell(blind, PILOT, sees=True)
    assert len(retell(blind, PILOT, sees=True, pictures="none")) == len(retell(blind, PILOT)) == 1


def conversation() -> Iterator[tuple[list[BaseMessage], int]]:
    """Three questions with pictures of 16 pages' worth of text; the answers are to be added."""
    messages: list[BaseMessage] = [SystemMessage("Do it.")]
    for number in range(3):
        png = played_picture(number)
        words = f"page {number} " + "the quick brown fox jumps over the lazy dog " * 3
        messages.append(HumanMessage([{"type": "text", "text": words}, png, {"type": "text", "text": "and now?"}]))
        yield messages, number


def played_picture(number: int) -> dict[str, Any]:
    import base64

    data = base64.b64encode(screenshot(f"{number}", (64, 64))).decode()
    return {"type": "image", "base64": data, "mime_type": "image/png"}


class Ending:
    """The forward of a model that ends its answers after five tokens, otherwise as its weights say."""

    def __init__(self, loaded: Any) -> None:
        self._forward, self._end, self._said = loaded.model.forward, min(loaded.eos_ids), 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        inputs = kwargs.get("input_ids", kwargs.get("inputs_embeds"))
        self._said = self._said + 1 if inputs.shape[1] == 1 else 0
        output = self._forward(*args, **kwargs)
        output.logits[..., self._end] = 50.0 if self._said == 5 else -50.0
        return output


@pytest.mark.parametrize("policy", ["full", "window", "h2o", "snapkv", "confkv", "confkv+recall"])
def test_recorded_answers_are_as_likely_as_they_were_in_the_run(policy: str) -> None:
    small = {} if policy == "full" else {"budget": 64, "window": 16, "chunk": 24}
    config = CacheConfig(policy=policy, **small)  # type: ignore[arg-type]
    loaded, asked, live = tiny_pilot(), [], []
    loaded.model.forward = Ending(loaded)
    with Engine(lambda: loaded, "tiny") as engine:
        for messages, number in conversation():
            turns = to_turns(messages)
            result = engine.run(Request(turns, config, max_tokens=9, logprobs=True, session="a"))
            live.append([each.logprob for each in result.logprobs[:5]])
            asked.append(Asked(RecordedStep(number, "", result.text), tuple(messages), "", result.text))
            messages.append(AIMessage(result.text))
    with torch.inference_mode():
        told = replay(loaded, asked, config)
    for each, logprobs in zip(told, live, strict=True):
        assert each.logprobs.gather(1, each.tokens[:, None]).squeeze(1).tolist() == pytest.approx(logprobs, abs=1e-6)
        assert each.greedy == each.action  # greedy decoding wrote it
