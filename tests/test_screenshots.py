"""Old screenshots go in batches: what the model is shown, how often its prompt changes, what it reads again."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from torch import set_num_threads

from confkv_agents import ChatConfKV, ScreenshotWindowMiddleware
from confkv_agents.engine import Engine, Request
from confkv_agents.engine.tools import call_text
from confkv_agents.errors import ConfigError
from confkv_agents.screenshots import REMOVED, screenshot_window
from tests.engine.tiny import tiny_smolvlm
from tests.scripted import install
from tests.test_chat_models import picture_block

set_num_threads(1)
COLOURS = ("red", "green", "blue", "white", "black", "gray", "pink", "gold")


def conversation(steps: int) -> list[AnyMessage]:
    """A user's picture, then steps whose results have a picture each."""
    said: list[AnyMessage] = [HumanMessage([{"type": "text", "text": "Look."}, picture_block("red")])]
    for step in range(steps):
        said.append(AIMessage("", tool_calls=[{"name": "look", "args": {"n": step}, "id": f"{step}"}]))
        blocks: list[Any] = [{"type": "text", "text": f"page {step}"}, picture_block(COLOURS[step % 8])]
        said.append(ToolMessage(blocks, tool_call_id=f"{step}"))
    return said


def shown(messages: list[AnyMessage]) -> list[int]:
    """Steps whose picture is there."""
    results = [message for message in messages if isinstance(message, ToolMessage)]
    return [
        at
        for at, message in enumerate(results)
        if isinstance(message.content, list) and len(message.content) == 2 and message.content[1]["type"] == "image"
    ]  # type: ignore[index]


def test_the_newest_stay_words_stay_and_the_place_of_a_picture_is_marked() -> None:
    messages = conversation(7)
    seen = screenshot_window(messages, keep=2, every=3)
    assert shown(seen) == [3, 4, 5, 6]
    first = seen[2]
    assert first.content == [{"type": "text", "text": "page 0"}, {"type": "text", "text": REMOVED}]
    assert isinstance(first, ToolMessage) and first.tool_call_id == "0"
    assert seen[0] is messages[0] and seen[-1] is messages[-1]
    assert shown(messages) == list(range(7))
    assert seen == screenshot_window(messages, keep=2, every=3)


def test_results_without_pictures_or_with_several_count_as_they_should() -> None:
    plain = ToolMessage("nothing to see", tool_call_id="x")
    double = ToolMessage([picture_block("red"), picture_block("blue")], tool_call_id="y")
    seen = screenshot_window([plain, double, *conversation(1)], keep=1, every=1)
    assert seen[0] is plain
    assert [block["text"] for block in seen[1].content] == [REMOVED, REMOVED]  # type: ignore[index]
    assert shown(seen[2:]) == [0]


@pytest.mark.parametrize(("keep", "every", "breaks"), [(2, 5, 3), (2, 1, 18), (0, 4, 5), (3, 20, 0)])
def test_over_twenty_steps_the_beginning_changes_once_in_so_many(keep: int, every: int, breaks: int) -> None:
    whole = conversation(20)
    prompts = [screenshot_window(whole[: 1 + 2 * step], keep, every) for step in range(21)]
    changed = [before != after[: len(before)] for before, after in pairwise(prompts)]
    assert sum(changed) == breaks
    for step, prompt in enumerate(prompts):
        assert min(step, keep) <= len(shown(prompt)) <= keep + every - 1
        assert shown(prompt) == list(range(step))[step - len(shown(prompt)) :]


NO_COUNTS = [1.5, float("inf"), float("nan"), "2", True, None]


@pytest.mark.parametrize(
    ("keep", "every"), [(-1, 5), (2, 0), *[(count, 5) for count in NO_COUNTS], *[(2, count) for count in NO_COUNTS]]
)
def test_impossible_windows_are_refused(keep: Any, every: Any) -> None:
    with pytest.raises(ConfigError, match="keep is"):
        ScreenshotWindowMiddleware(keep=keep, every=every)


@pytest.fixture
def looking(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatConfKV]:
    """A model that takes pictures and looks as often as it is told."""

    def reply(request: Request) -> str:
        done = sum(turn.role == "tool" for turn in request.turns)
        (told,) = [turn.text for turn in request.turns if turn.role == "user"]
        return "Seen." if done == int(told.split()[1]) else call_text("hermes", "look", {"n": done})

    install(monkeypatch, reply)
    loaded = tiny_smolvlm()
    with Engine(lambda: loaded, "scripted") as engine:
        yield ChatConfKV(model="tiny", engine=engine, policy="full", max_tokens=80)


def look(n: int) -> list[Any]:
    """Look."""
    return [{"type": "text", "text": f"page {n}"}, picture_block(COLOURS[n])]


async def test_between_batches_nothing_is_read_again(looking: ChatConfKV) -> None:
    """Three pictures go after the fifth look, and what was read since the first of them is read again, once."""
    agent = create_agent(looking, [look], middleware=[ScreenshotWindowMiddleware(keep=2, every=3)])
    state = await agent.ainvoke({"messages": [HumanMessage("Look 6 times.")]})
    assert shown(state["messages"]) == list(range(6))  # the state keeps them all
    usages = [message.usage_metadata for message in state["messages"] if isinstance(message, AIMessage)]
    pairs = list(pairwise(usages))
    again = [old["total_tokens"] - 1 - new["input_token_details"]["cache_read"] for old, new in pairs]
    look_tokens = usages[1]["input_tokens"] - usages[0]["input_tokens"]
    assert len(usages) == 7 and again[:4] + again[5:] == [0] * 5
    assert 3.5 * look_tokens < again[4] < 4.5 * look_tokens


def test_a_system_prompt_that_changes_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    middleware = ScreenshotWindowMiddleware(keep=1, every=1)
    seen: list[ModelRequest[Any]] = []

    def call(prompt: str, messages: list[AnyMessage]) -> None:
        middleware.wrap_model_call(
            ModelRequest(model=FakeListChatModel(responses=[]), messages=messages, system_prompt=prompt), keeping
        )

    def keeping(request: ModelRequest[Any]) -> Any:
        seen.append(request)

    with caplog.at_level(logging.WARNING, "confkv_agents.screenshots"):
        for hour in range(4):
            call(f"It is {hour} o'clock.", conversation(hour))
            call("You look.", [HumanMessage("Another conversation.")])
    (warning,) = [record.getMessage() for record in caplog.records]
    assert 'at character 6 ("0 o\'clock." became "1 o\'clock.")' in warning
    assert [shown(request.messages) for request in seen[::2]] == [[], [0], [1], [2]]
    assert seen[-2].system_prompt == "It is 3 o'clock."
