"""`create_agent` with `ChatConfKV`: tools, structured answers, and LangChain's middleware, against a scripted engine.

The reuse figures are those of research on what each middleware leaves of the prompt: append-only ones keep all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    ContextEditingMiddleware,
    LLMToolSelectorMiddleware,
    ModelCallLimitMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
    dynamic_prompt,
)
from langchain.agents.middleware.context_editing import ClearToolUsesEdit
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel
from torch import set_num_threads

from confkv_agents.chat_models import ChatConfKV
from confkv_agents.engine import Engine, Request
from confkv_agents.engine.tools import call_text
from tests.engine.tiny import tiny_smolvlm
from tests.engine.tool_templates import tiny_with_tools
from tests.scripted import Reply, as_json, install
from tests.test_chat_models import picture_block

set_num_threads(1)  # more of them than free cores wait for each other

Make = Callable[..., ChatConfKV]
RUN: Any = {"configurable": {"thread_id": "run"}}


class Report(BaseModel):
    """A report."""

    seen: str
    count: int


def look(n: int) -> str:
    """Look at a thing."""
    return f"thing {n}: a blue lamp on a table, and a letter from ada@example.com"


def ring(bell: str) -> str:
    """Ring a bell."""
    raise ValueError(f"there is no bell {bell}")


def looked(request: Request) -> int:
    """Tool results since the last user turn; the template shows them as turns of their own."""
    roles = [turn.role for turn in request.turns]
    return roles[::-1][: roles[::-1].index("user")].count("tool")


def looking(request: Request) -> str:
    """Looks three times, then answers; asked for another form, gives that."""
    use, done = request.tools, looked(request)
    if request.schema is not None and (use is None or not use.tools or done == 3):
        return as_json(request.schema, "")
    if use is None or not use.tools or not any(tool.name == "look" for tool in use.tools):
        return "They looked at things."
    if done >= 3:
        if use.choice == "any":
            return call_text("hermes", "Report", {"seen": "lamps", "count": done})
        return "I saw blue lamps."
    return call_text("hermes", "look", {"n": done})


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes chat models that answer by a function."""
    engines: list[Engine] = []

    def made(reply: Reply = looking, vision: bool = False, **options: Any) -> ChatConfKV:
        install(monkeypatch, reply)
        loaded = tiny_smolvlm() if vision else tiny_with_tools("hermes", positions=32768)
        engines.append(Engine(lambda: loaded, "scripted"))
        return ChatConfKV(model="tiny", engine=engines[-1], policy="full", max_tokens=120, **options)

    yield made
    for engine in engines:
        engine.close()


def answers(state: dict[str, Any]) -> list[AIMessage]:
    return [message for message in state["messages"] if isinstance(message, AIMessage)]


def reread(state: dict[str, Any]) -> list[int]:
    """Per answer after the first, tokens of the previous prompt and answer that were read again."""
    found = []
    for before, after in zip(answers(state), answers(state)[1:], strict=False):
        assert before.usage_metadata is not None and after.usage_metadata is not None
        found.append(
            before.usage_metadata["total_tokens"] - 1 - after.usage_metadata["input_token_details"]["cache_read"]
        )
    return found


APPENDING: list[tuple[str, list[Any]]] = [
    ("plain", []),
    ("todo", [TodoListMiddleware(system_prompt="Plan.", tool_description="Write the plan down.")]),
    ("limits", [ToolCallLimitMiddleware(run_limit=9), ModelCallLimitMiddleware(run_limit=9)]),
    ("retries", [ModelRetryMiddleware(), ToolRetryMiddleware()]),
]


@pytest.mark.parametrize(("name", "middleware"), APPENDING, ids=[name for name, _ in APPENDING])
def test_an_agent_reads_only_what_is_new(make: Make, name: str, middleware: list[Any]) -> None:
    agent = create_agent(make(), [look], system_prompt="You look.", middleware=middleware, checkpointer=InMemorySaver())
    agent.invoke({"messages": [HumanMessage("Look at three things.")]}, RUN)
    state = agent.invoke({"messages": [HumanMessage("And at three more.")]}, RUN)
    assert [len(answer.tool_calls) for answer in answers(state)] == [1, 1, 1, 0, 1, 1, 1, 0]
    assert answers(state)[-1].text == "I saw blue lamps."
    assert reread(state) == [0] * 7
    assert {answer.response_metadata["confkv"]["session"] for answer in answers(state)} == {"run"}


async def test_an_agent_works_from_asyncio_and_streams_pieces_of_calls(make: Make) -> None:
    agent = create_agent(make(), [look])
    state = await agent.ainvoke({"messages": [HumanMessage("Look.")]})
    assert len(answers(state)) == 4 and reread(state) == [0, 0, 0]
    pieces = []
    async for chunk, _ in agent.astream({"messages": [HumanMessage("Look here.")]}, stream_mode="messages"):
        if isinstance(chunk, AIMessageChunk):
            pieces += [piece["args"] for piece in chunk.tool_call_chunks]
    assert len(pieces) > 6 and "".join(map(str, pieces)) == '{"n": 0}{"n": 1}{"n": 2}'


@pytest.mark.parametrize("strategy", [Report, ToolStrategy(Report), ProviderStrategy(Report)], ids=str)
def test_an_agent_gives_a_structured_answer(make: Make, strategy: Any) -> None:
    model = make(profile={"structured_output": True})
    state = create_agent(model, [look], response_format=strategy).invoke({"messages": [HumanMessage("Look.")]})
    assert isinstance(state["structured_response"], Report)
    assert len(answers(state)) == 4
    if not isinstance(strategy, ToolStrategy):
        assert all(gone == 0 for gone in reread(state))


def test_a_malformed_call_is_answered_and_the_agent_goes_on(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confkv_agents.engine.answer.guidance_installed", lambda: False)

    def stumbling(request: Request) -> str:
        tries = sum(turn.role == "assistant" for turn in request.turns)
        return ["<tool_call>\n{look}\n</tool_call>", call_text("hermes", "look", {"n": 1}), "Done."][min(tries, 2)]

    agent = create_agent(make(stumbling), [look], checkpointer=InMemorySaver())
    state = agent.invoke({"messages": [HumanMessage("Look.")]}, RUN)
    if answers(state)[-1].invalid_tool_calls:  # the loop ended there; the next turn begins with the patched history
        state = agent.invoke({"messages": [HumanMessage("Again.")]}, RUN)
    assert answers(state)[-1].text == "Done."
    assert len(answers(state)[0].invalid_tool_calls) == 1


def test_a_failing_tool_is_told_to_the_model(make: Make) -> None:
    def ringing(request: Request) -> str:
        return "No bell." if request.turns[-1].role == "tool" else call_text("hermes", "ring", {"bell": "door"})

    agent = create_agent(make(ringing), [ring], middleware=[ToolRetryMiddleware(max_retries=0)])
    state = agent.invoke({"messages": [HumanMessage("Ring.")]})
    results = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    assert results[0].status == "error" and answers(state)[-1].text == "No bell."


def test_pictures_that_a_tool_returns_are_read_once(make: Make) -> None:
    def screenshot(n: int) -> list[Any]:
        """Show the screen."""
        return [{"type": "text", "text": "screen"}, picture_block(["red", "green", "blue"][n])]

    def shooting(request: Request) -> str:
        done = sum(turn.role == "tool" for turn in request.turns)
        return "Seen." if done == 3 else call_text("hermes", "screenshot", {"n": done})

    state = create_agent(make(shooting, vision=True), [screenshot]).invoke({"messages": [HumanMessage("Look.")]})
    assert answers(state)[-1].text == "Seen." and reread(state) == [0, 0, 0]


def test_a_system_prompt_that_changes_is_said_to_break_the_prefix(make: Make) -> None:
    turns = iter(range(99))

    @dynamic_prompt
    def clock(request: Any) -> str:
        return f"It is {next(turns)} o'clock. You look at things when you are asked to."

    state = create_agent(make(), [look], middleware=[clock]).invoke({"messages": [HumanMessage("Look.")]}, RUN)
    misses = [answer.response_metadata["confkv"]["miss_at"] for answer in answers(state)]
    assert misses[0] is None and all(miss is not None for miss in misses[1:])
    assert all(gone > 0 for gone in reread(state))


def test_a_summary_does_not_destroy_the_conversation_it_tells_of(make: Make) -> None:
    asked = count()

    def looking_on(request: Request) -> str:
        """Looks three times per question; what it has looked at may be gone from the conversation."""
        if request.tools is None or not request.tools.tools:
            return "They looked at things."
        number = next(asked) % 4
        return "I saw blue lamps." if number == 3 else call_text("hermes", "look", {"n": number})

    model = make(looking_on)
    summing = SummarizationMiddleware(model, trigger=("messages", 7), keep=("messages", 3))
    agent = create_agent(model, [look], middleware=[summing], checkpointer=InMemorySaver())
    agent.invoke({"messages": [HumanMessage("Look at three things.")]}, RUN)
    state = agent.invoke({"messages": [HumanMessage("And at three more.")]}, RUN)
    assert any("They looked at things." in message.text for message in state["messages"])
    assert answers(state)[-1].text == "I saw blue lamps."


def test_old_results_that_are_cleared_cost_only_what_comes_after_them(make: Make) -> None:
    editing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=60, keep=1)])
    agent = create_agent(make(), [look], system_prompt="You look at things. " * 9, middleware=[editing])
    state = agent.invoke({"messages": [HumanMessage("Look.")]})
    assert answers(state)[-1].text == "I saw blue lamps."
    for answer in answers(state)[1:]:
        usage = answer.usage_metadata
        assert usage is not None and usage["input_token_details"]["cache_read"] > 0.4 * usage["input_tokens"]


def test_a_tool_selector_asks_the_same_model_for_a_structured_answer(make: Make) -> None:
    def selecting(request: Request) -> str:
        if request.schema is not None:
            return '{"tools": ["look"]}'
        return looking(request)

    selector = LLMToolSelectorMiddleware(max_tools=1)
    state = create_agent(make(selecting), [look, ring], middleware=[selector]).invoke(
        {"messages": [HumanMessage("Look.")]}
    )
    assert answers(state)[-1].text == "I saw blue lamps." and len(answers(state)) == 4


def test_redacted_results_only_change_what_follows(make: Make) -> None:
    redacting = PIIMiddleware("email", apply_to_tool_results=True)
    state = create_agent(make(), [look], middleware=[redacting]).invoke({"messages": [HumanMessage("Look.")]})
    results = [message.text for message in state["messages"] if isinstance(message, ToolMessage)]
    assert all("ada@" not in text for text in results) and reread(state) == [0, 0, 0]
