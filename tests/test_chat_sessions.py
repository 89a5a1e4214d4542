"""Sessions of the chat model: names, files, thoughts, and what is said when a prefix breaks."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver

from confkv_agents.chat_models import ChatConfKV
from confkv_agents.engine import Engine
from confkv_agents.errors import PromptError, SessionFileError
from tests.engine.thought_templates import OPENED, QWEN3, tiny_thinker
from tests.engine.tiny import script, tiny_llama

LONG = "the other thing on the line, in the inner one. " * 8
THOUGHT = "<think>\nI see.\n</think>\n\nYes, so."
THREAD = {"configurable": {"thread_id": "thread"}}


@pytest.fixture
def model() -> Iterator[ChatConfKV]:
    with Engine(tiny_llama, "tiny") as engine:
        yield ChatConfKV(model="tiny", engine=engine, policy="full", max_tokens=4)


@pytest.fixture
def thinker() -> Iterator[Callable[..., ChatConfKV]]:
    engines: list[Engine] = []

    def make(template: str = QWEN3, answer: str = THOUGHT, **options: Any) -> ChatConfKV:
        loaded = script(tiny_thinker(template), [answer])
        engines.append(Engine(lambda: loaded, "thinker"))
        return ChatConfKV(model="thinker", engine=engines[-1], policy="full", max_tokens=60, **options)

    yield make
    for engine in engines:
        engine.close()


def figures(answer: BaseMessage) -> dict[str, Any]:
    return dict(answer.response_metadata["confkv"])


def name_of(answer: BaseMessage) -> str:
    return str(figures(answer)["session"])


# ---- names


def test_the_nearest_name_counts(model: ChatConfKV) -> None:
    own = model.model_copy(update={"session_id": "field"})
    assert name_of(model.invoke("a", THREAD)) == "thread"
    assert name_of(own.invoke("b", THREAD)) == "field"
    with own.session("block"):
        assert name_of(own.invoke("c", THREAD)) == "block"
        assert name_of(own.invoke("d", THREAD, session_id="call")) == "call"
        with own.session("inner"):
            assert name_of(own.bind(stop=["~"]).invoke("e")) == "inner"
        assert name_of(own.invoke("f")) == "block"
    assert name_of(own.invoke("g")) == "field"
    assert name_of(model.invoke("h")).startswith("session-")


def test_a_block_ends_with_an_error_too_and_is_for_its_own_model_only(model: ChatConfKV) -> None:
    with Engine(tiny_llama, "other") as engine:
        other = ChatConfKV(model="tiny", engine=engine, policy="full", max_tokens=2)
        with pytest.raises(KeyError), model.session("block"):
            assert name_of(other.invoke("a")) != "block"
            raise KeyError
    assert name_of(model.invoke("a")) != "block"


def test_a_block_holds_in_streams_batches_chains_and_agents(model: ChatConfKV) -> None:
    agent = create_agent(model, [], checkpointer=InMemorySaver())
    configurable = model.configurable_fields(max_tokens=ConfigurableField(id="max_tokens"))
    with model.session("block"):
        chunks = [chunk for chunk in model.stream("a") if "confkv" in chunk.response_metadata]
        answers: list[Any] = [chunks[-1], *model.batch(["b", "c"]), (RunnableLambda(str) | model).invoke("d")]
        answers.append(agent.invoke({"messages": [HumanMessage("e")]}, THREAD)["messages"][-1])
        answers.append(configurable.with_config(configurable={"max_tokens": 2}).invoke("f"))
    assert [name_of(answer) for answer in answers] == ["block"] * 6


async def test_tasks_and_threads_do_not_see_each_others_blocks(model: ChatConfKV) -> None:
    inside = asyncio.Event()

    async def call(name: str) -> list[str]:
        with model.session(name):
            inside.set()
            answers = [await model.ainvoke(f"{name} says a thing")]
            async for chunk in model.astream(f"{name} says more"):
                answers += [chunk] if "confkv" in chunk.response_metadata else []
        return [name_of(answer) for answer in answers]

    async def outside() -> list[str]:
        await inside.wait()
        return [name_of(await model.ainvoke("Hm"))]

    seen: list[str] = []
    thread = threading.Thread(target=lambda: seen.append(name_of(model.invoke("from a thread"))))
    with model.session("here"):
        thread.start()  # a bare thread starts from nothing; LangChain's own take over where they are started
        (one, other), plain = await asyncio.gather(asyncio.gather(call("one"), call("two")), outside())
        await asyncio.to_thread(thread.join)
    assert (one, other, plain) == (["one", "one"], ["two", "two"], ["here"])
    assert seen[0].startswith("session-")


def test_a_generator_that_is_closed_elsewhere_leaks_no_block(model: ChatConfKV) -> None:
    async def named() -> Any:
        with model.session("block"):
            yield 1

    async def use() -> str:
        generator = named()
        await asyncio.create_task(anext(generator))
        await generator.aclose()  # in another context than the one that entered
        return name_of(await model.ainvoke("Hm"))

    assert asyncio.run(use()) != "block"


# ---- files


def test_a_conversation_goes_on_from_a_file(model: ChatConfKV, tmp_path: Path) -> None:
    messages: list[BaseMessage] = [HumanMessage(LONG)]
    messages += [model.invoke(messages, session_id="work"), HumanMessage("and?")]
    model.save_session("work", tmp_path / "work.session")
    expected = model.invoke(messages)
    with Engine(tiny_llama, "again") as engine:
        again = ChatConfKV(model="tiny", engine=engine, policy="full", max_tokens=4)
        assert again.load_session(tmp_path / "work.session").name == "work"
        answer = again.invoke(messages)
        assert (answer.text, name_of(answer)) == (expected.text, "work")
        assert figures(answer)["tokens_read"] == figures(expected)["tokens_read"]
        bounded = ChatConfKV(model="tiny", engine=engine, policy="window", budget=128)
        with pytest.raises(SessionFileError, match="policy='full', here 'window'"):
            bounded.load_session(tmp_path / "work.session")
        with pytest.raises(SessionFileError, match="cannot be read"):
            again.load_session(tmp_path / "nothing")


# ---- explaining a miss


def conversation(model: ChatConfKV, system: str, texts: list[str]) -> list[BaseMessage]:
    messages: list[BaseMessage] = [SystemMessage(system)]
    for text in texts:
        messages.append(HumanMessage(text))
        messages.append(model.invoke(messages))
    return messages


def test_an_edited_message_is_named_with_what_it_cost(model: ChatConfKV) -> None:
    messages = conversation(model, "Be brief.", ["one", LONG, "three"])
    assert all(figures(messages[at])["tokens_recomputed"] == 0 for at in (2, 4, 6))
    edited = [*messages[:3], HumanMessage("Not " + LONG), *messages[4:], HumanMessage("four")]
    answer = figures(model.invoke(edited))
    plain = figures(model.invoke([*messages, HumanMessage("four")]))
    assert (answer["miss_message"], answer["miss_reason"]) == (3, "message 3 was edited")
    assert 300 < answer["tokens_recomputed"] < answer["tokens_read"]
    assert (plain["miss_message"], plain["miss_reason"], plain["tokens_recomputed"]) == (None, None, 0)


CHANGES: dict[str, tuple[Callable[[list[BaseMessage]], Any], dict[str, Any], int, str]] = {
    "time": (lambda old: [SystemMessage("It is 10:02. " + LONG), *old[1:]], {}, 0, "a dynamic system prompt"),
    "tools": (lambda old: old, {"tools": [{"title": "other", "type": "object", "properties": {}}]}, 0, "other tools"),
    "cut": (lambda old: [old[0], *old[3:]], {}, 1, "were removed"),
    "form": (lambda old: old, {"response_format": {"type": "json_object"}}, 0, "another form of the answer"),
}


@pytest.mark.parametrize("session", ["named", None])
@pytest.mark.parametrize("change", CHANGES)
def test_one_warning_per_session_names_the_message_and_a_likely_reason(
    change: str, session: str | None, model: ChatConfKV, caplog: pytest.LogCaptureFixture
) -> None:
    edit, options, message, reason = CHANGES[change]
    bound = model.model_copy(update={"session_id": session})
    old = conversation(bound, "It is 10:01. " + LONG if change == "time" else "Be brief.", ["one", LONG, "three"])
    with caplog.at_level(logging.WARNING, "confkv_agents"):
        answers = [bound.invoke([*edit(old), HumanMessage("four")], **options)]
        answers.append(bound.invoke([SystemMessage("Else. " + LONG), *edit(old)[1:], HumanMessage("five")], **options))
    assert figures(answers[0])["miss_message"] == message and reason in figures(answers[0])["miss_reason"]
    assert figures(answers[1])["miss_message"] == 0
    assert len(caplog.messages) == 1
    assert reason in caplog.messages[0] and f"from message {message} on" in caplog.messages[0]


def test_another_conversation_and_an_appended_one_are_warned_of_by_nobody(
    model: ChatConfKV, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "confkv_agents"):
        old = conversation(model, "Be brief.", ["one", "two"])
        model.invoke([*old, HumanMessage(LONG * 3)])  # little of it is reused, but nothing is read twice
        model.invoke([SystemMessage("Summarize."), HumanMessage("one")])
    assert caplog.messages == []


# ---- thoughts


@pytest.mark.parametrize("output_version", [None, "v1"])
def test_thoughts_are_no_text(thinker: Callable[..., ChatConfKV], output_version: Any) -> None:
    model = thinker(output_version=output_version)
    messages: list[BaseMessage] = [HumanMessage("Hm?")]
    answer = model.invoke(messages)
    assert answer.text == "Yes, so." and answer.additional_kwargs["reasoning_content"] == "I see."
    assert [block["type"] for block in answer.content_blocks] == ["reasoning", "text"]
    assert answer.content_blocks[0]["reasoning"] == "I see."  # type: ignore[typeddict-item]
    usage = answer.usage_metadata
    assert usage is not None and usage["output_tokens"] > usage["output_token_details"]["reasoning"] > 5
    again = model.invoke([*messages, answer, HumanMessage("And?")])
    assert figures(again)["tokens_reused"] == usage["total_tokens"] - 1
    bare = AIMessage("Yes, so.")  # as many frameworks hand it back
    assert figures(model.invoke([*messages, bare, HumanMessage("And?")]))["tokens_read"] < 3


@pytest.mark.parametrize("output_version", [None, "v1"])
async def test_thoughts_are_streamed_before_the_text(thinker: Callable[..., ChatConfKV], output_version: Any) -> None:
    model = thinker(OPENED, THOUGHT.removeprefix("<think>\n"), output_version=output_version)
    kinds: list[str] = []
    total: AIMessageChunk | None = None
    async for chunk in model.astream("Hm?"):
        assert isinstance(chunk, AIMessageChunk)
        kinds += [block["type"] for block in chunk.content_blocks]
        total = chunk if total is None else total + chunk
    assert total is not None and total.text == "Yes, so."
    assert kinds == sorted(kinds) and kinds.count("reasoning") > 1  # thoughts first
    assert [(block["type"], block.get("reasoning")) for block in total.content_blocks] == [
        ("reasoning", "I see."),
        ("text", None),
    ]
    assert total.usage_metadata is not None and total.usage_metadata["output_token_details"]["reasoning"] > 5
    again = await model.ainvoke([HumanMessage("Hm?"), total, HumanMessage("And?")])
    assert figures(again)["tokens_reused"] == total.usage_metadata["total_tokens"] - 1


def test_thoughts_are_switched_by_name_or_through_the_template(thinker: Callable[..., ChatConfKV]) -> None:
    model = thinker(answer="Yes.")
    counts = [
        model.get_num_tokens_from_messages([HumanMessage("Hm?")]),
        model.model_copy(update={"reasoning": False}).get_num_tokens_from_messages([HumanMessage("Hm?")]),
    ]
    for options in ({"reasoning": False}, {"chat_template_kwargs": {"enable_thinking": False}}):
        answer = model.invoke("Hm?", **options)
        assert answer.text == "Yes." and answer.usage_metadata is not None
        assert answer.usage_metadata["input_tokens"] == counts[1] > counts[0]
        assert "reasoning_content" not in answer.additional_kwargs
    assert model.invoke("Hm?", reasoning=True).usage_metadata["input_tokens"] == counts[0]  # type: ignore[index]
    with pytest.raises(ValueError, match="reasoning cannot be"):
        model.invoke("Hm?", reasoning="high")


def test_the_profile_says_whether_a_model_thinks(model: ChatConfKV) -> None:
    loaded = tiny_thinker()
    made = ChatConfKV.from_model(loaded.model, loaded.tokenizer)
    assert made.profile is not None and made.profile["reasoning_output"] is True
    plain = tiny_llama()
    assert ChatConfKV.from_model(plain.model, plain.tokenizer).profile["reasoning_output"] is False  # type: ignore[index]
    with pytest.raises(PromptError, match="no thoughts"):
        model.invoke("Hm?", reasoning=True)


def test_thoughts_of_other_models_are_shown_where_the_template_shows_them(thinker: Callable[..., ChatConfKV]) -> None:
    model = thinker()
    told: list[BaseMessage] = [
        AIMessage("Yes.", additional_kwargs={"reasoning_content": "because it is so"}),
        AIMessage([{"type": "reasoning", "reasoning": "because it is so"}, {"type": "text", "text": "Yes."}]),
        AIMessage([{"type": "thinking", "thinking": "because it is so"}, {"type": "text", "text": "Yes."}]),
    ]
    counts = [model.get_num_tokens_from_messages([HumanMessage("Hm?"), message]) for message in told]
    plain = model.get_num_tokens_from_messages([HumanMessage("Hm?"), AIMessage("Yes.")])
    assert counts[0] == counts[1] == counts[2] > plain
