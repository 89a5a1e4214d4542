from __future__ import annotations

import asyncio
import base64
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import langchain_core.exceptions as langchain_errors
import pytest
from langchain.agents import create_agent
from langchain_core.caches import InMemoryCache
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import ConfigurableField
from langgraph.checkpoint.memory import InMemorySaver
from PIL import Image

from confkv_agents.cache import CacheConfig, StepTrace
from confkv_agents.chat_errors import ChatPromptTooLongError
from confkv_agents.chat_models import ChatConfKV
from confkv_agents.engine import Engine
from confkv_agents.errors import (
    ConfigError,
    EngineTimeoutError,
    ImageError,
    ModelNotFoundError,
    PromptError,
    PromptTooLongError,
)
from tests.engine.tiny import script, tiny_llama, tiny_smolvlm

LONG = "the other thing on the line, in the inner one. " * 8


@pytest.fixture
def engine() -> Iterator[Engine]:
    loaded = tiny_llama()
    with Engine(lambda: loaded, "tiny") as made:
        yield made


@pytest.fixture
def model(engine: Engine) -> ChatConfKV:
    return ChatConfKV(model="tiny", engine=engine, policy="full", max_tokens=6)


def scripted(*answers: str, **options: Any) -> ChatConfKV:
    loaded = script(tiny_llama(), list(answers))
    return ChatConfKV(model="tiny", engine=Engine(lambda: loaded, "scripted"), **options)


def picture_block(color: str) -> dict[str, str]:
    buffer = io.BytesIO()
    Image.new("RGB", (60, 40), color).save(buffer, "PNG")
    return {"type": "image", "base64": base64.b64encode(buffer.getvalue()).decode(), "mime_type": "image/png"}


def test_importing_and_constructing_loads_nothing_heavy() -> None:
    code = (
        "import sys; from confkv_agents import ChatConfKV; ChatConfKV(); "
        "sys.exit(any(name in sys.modules for name in ('torch', 'transformers')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_invoke_says_what_was_read_and_held(model: ChatConfKV) -> None:
    answer = model.invoke([SystemMessage("Be brief."), HumanMessage("Hi")])
    usage = answer.usage_metadata
    assert usage is not None and len(str(answer.content)) == 6
    assert usage["output_tokens"] == 6 and usage["total_tokens"] == usage["input_tokens"] + 6
    assert usage["input_token_details"] == {"cache_creation": usage["input_tokens"], "cache_read": 0}
    metadata = answer.response_metadata
    assert {key: metadata[key] for key in ("model_name", "model_provider", "finish_reason")} == {
        "model_name": "tiny",
        "model_provider": "confkv",
        "finish_reason": "length",
    }
    confkv = metadata["confkv"]
    assert set(confkv) == {
        "session",
        "tokens_read",
        "tokens_reused",
        "tokens_probed",
        "miss_at",
        "miss_message",
        "miss_reason",
        "tokens_recomputed",
        "kv_bytes",
        "peak_kv_bytes",
        "full_kv_bytes",
        "budget",
        "confidence",
        "read_ms",
        "decode_ms",
        "tokens_generated",
    }
    assert confkv["tokens_read"] == usage["input_tokens"] and confkv["tokens_reused"] == 0
    assert set(confkv["budget"]) == set(confkv["confidence"]) == {"min", "mean", "max"}


def test_a_growing_conversation_reads_only_new_tokens(model: ChatConfKV) -> None:
    messages: list[BaseMessage] = [HumanMessage(LONG)]
    held = 0
    for _ in range(3):
        answer = model.invoke(messages)
        usage = answer.usage_metadata
        assert usage is not None and usage["input_token_details"]["cache_read"] == held
        held = usage["total_tokens"] - 1
        messages += [answer, HumanMessage("more")]


def test_a_trace_has_one_entry_per_token(model: ChatConfKV) -> None:
    confkv = model.invoke("Hi", trace=True).response_metadata["confkv"]
    assert len(confkv["steps"]) == 6 and all(len(step) == 3 for step in confkv["steps"])


def test_a_trace_of_the_cache_has_one_entry_per_step(model: ChatConfKV) -> None:
    confkv = model.invoke("Hi", trace="cache").response_metadata["confkv"]
    steps = [StepTrace(**entry) for entry in confkv["cache_trace"]]
    assert len(confkv["steps"]) == 6
    assert [step.kind for step in steps if step.kind == "decode"] == ["decode"] * 5  # the sixth is never fed
    assert sum(step.tokens for step in steps if step.kind == "read") == confkv["tokens_read"]
    assert "cache_trace" not in model.invoke("Hi", trace=True).response_metadata["confkv"]


def test_streaming_and_invoking_give_the_same_text(model: ChatConfKV) -> None:
    for options in ({}, {"temperature": 1.0, "seed": 4}):
        chunks = list(model.stream("Hi", max_tokens=20, **options))
        whole = model.invoke("Hi", max_tokens=20, **options)
        assert "".join(chunk.text for chunk in chunks) == whole.text


def test_only_the_last_chunk_carries_usage_and_metadata(model: ChatConfKV) -> None:
    chunks = [chunk for chunk in model.stream("Hi") if isinstance(chunk, AIMessageChunk)]
    assert [chunk.usage_metadata is not None for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert chunks[-1].chunk_position == "last"
    total = chunks[0]
    for chunk in chunks[1:]:
        total += chunk
    assert total.response_metadata["confkv"]["tokens_generated"] == 6


def test_streams_have_one_text_block_in_the_v1_form(engine: Engine) -> None:
    model = ChatConfKV(model="tiny", engine=engine, max_tokens=6, output_version="v1")
    total: AIMessageChunk | None = None
    for chunk in model.stream("Hi"):
        assert isinstance(chunk, AIMessageChunk)
        total = chunk if total is None else total + chunk
    assert total is not None and [block["type"] for block in total.content_blocks] == ["text"]
    again = model.invoke([HumanMessage("Hi"), total, HumanMessage("more")])
    assert again.response_metadata["confkv"]["tokens_reused"] > 0


def test_stop_strings_of_the_model_and_of_the_call_both_count() -> None:
    model = scripted("abcdef", stop=["ef"])
    assert model.invoke("one").text == "abcd"
    assert model.invoke("two", stop=["cd"]).text == "ab"
    assert "".join(chunk.text for chunk in model.stream("three", stop=["cd"])) == "ab"
    model.close()


def test_call_options_override_fields_and_unknown_ones_are_refused(model: ChatConfKV) -> None:
    assert model.invoke("Hi", max_tokens=2).usage_metadata["output_tokens"] == 2  # type: ignore[index]
    assert model.bind(max_tokens=3).invoke("Hi").usage_metadata["output_tokens"] == 3
    with pytest.raises(TypeError, match="frequency_penalty"):
        model.invoke("Hi", frequency_penalty=1.0)
    with pytest.raises(ValueError, match="n must be 1"):
        model.invoke("Hi", n=2)
    with pytest.raises(ValueError, match="max_tokens"):
        model.invoke("Hi", max_tokens=0)
    with pytest.raises(ValueError, match="weights"):
        model.invoke("Hi", model="another")
    with pytest.raises(ConfigError):
        model.invoke("Hi", temperature=-1.0)


def test_a_timeout_that_runs_out_at_once_blames_nobody(model: ChatConfKV) -> None:
    with pytest.raises(EngineTimeoutError, match="ran out before") as late:
        model.invoke("Hi", timeout=1e-9)
    assert "busy" not in str(late.value)


def test_call_arguments_that_are_no_json_are_refused(model: ChatConfKV) -> None:
    called = AIMessage("", tool_calls=[{"name": "add", "args": {"a": {1, 2}}, "id": "1"}])
    with pytest.raises(PromptError, match=r"'add' whose arguments are no JSON.*set"):
        model.invoke([HumanMessage("Hi"), called, ToolMessage("3", tool_call_id="1")])


def test_options_that_say_nothing_are_as_if_not_given(model: ChatConfKV) -> None:
    nothing = dict.fromkeys(["temperature", "logprobs", "top_logprobs", "trace", "chat_template_kwargs", "timeout"])
    assert model.invoke("Hi", stop=None, **nothing).text == model.invoke("Hi").text


def test_logprobs_come_in_openais_form(model: ChatConfKV) -> None:
    answer = model.invoke("Hi", logprobs=True, top_logprobs=2)
    content = answer.response_metadata["logprobs"]["content"]
    assert "".join(entry["token"] for entry in content) == answer.text
    assert all(len(entry["top_logprobs"]) == 2 and entry["logprob"] <= 0 for entry in content)
    streamed = [
        entry
        for chunk in model.stream("Hi", logprobs=True, top_logprobs=2)
        for entry in chunk.response_metadata.get("logprobs", {}).get("content", [])
    ]
    assert [entry["token"] for entry in streamed] == [entry["token"] for entry in content]
    for one, other in zip(streamed, content, strict=True):
        assert one["logprob"] == pytest.approx(other["logprob"], abs=1e-4)


async def test_async_calls_stream_and_batch(model: ChatConfKV) -> None:
    whole = await model.ainvoke("Hi")
    text = ""
    async for chunk in model.astream("Hi"):
        text += chunk.text
    assert text == whole.text == model.invoke("Hi").text
    answers = await model.abatch(["Hi", "Ho", "Hi"])
    assert answers[0].text == answers[2].text == whole.text


async def test_one_astream_and_twelve_ainvokes_finish(model: ChatConfKV) -> None:
    async def stream() -> str:
        text = ""
        async for chunk in model.astream("stream", max_tokens=20):
            text += chunk.text
        return text

    calls = [model.ainvoke(f"call {number}") for number in range(12)]
    streamed, *answers = await asyncio.wait_for(asyncio.gather(stream(), *calls), 120)
    assert streamed and len(answers) == 12


async def test_breaking_out_of_streams_frees_the_engine(model: ChatConfKV) -> None:
    for _ in model.stream("Hi", max_tokens=3000):
        break
    stream = model.astream("Hi", max_tokens=3000)
    async for _ in stream:
        break
    await stream.aclose()  # type: ignore[attr-defined]
    answer = await asyncio.wait_for(model.ainvoke("Ho"), 60)
    assert answer.response_metadata["confkv"]["tokens_generated"] == 6


def test_a_thread_id_names_the_session(model: ChatConfKV) -> None:
    chain = ChatPromptTemplate.from_messages([("human", "{text}")]) | model
    answer = chain.invoke({"text": "Hi"}, {"configurable": {"thread_id": "run-1"}})
    assert answer.response_metadata["confkv"]["session"] == "run-1"
    direct = model.invoke("Hm", {"configurable": {"thread_id": "run-2"}})
    assert direct.response_metadata["confkv"]["session"] == "run-2"
    assert model.invoke("Ho", session_id="own").response_metadata["confkv"]["session"] == "own"
    assert {info.name for info in model.sessions()} == {"run-1", "run-2", "own"}
    assert model.kv_bytes == sum(info.nbytes for info in model.sessions()) > 0
    assert model.drop_session("own") == 1


def test_an_agent_without_tools_reuses_its_thread(model: ChatConfKV) -> None:
    agent = create_agent(model, [], system_prompt="You are brief.", checkpointer=InMemorySaver())
    for text in ("Hi", "more", "and more"):
        out = agent.invoke({"messages": text}, {"configurable": {"thread_id": "t"}})  # type: ignore[arg-type]
    answers = [message for message in out["messages"] if isinstance(message, AIMessage)]
    reused = [answer.response_metadata["confkv"]["tokens_reused"] for answer in answers]
    assert reused[0] == 0 < reused[1] < reused[2]
    assert {answer.response_metadata["confkv"]["session"] for answer in answers} == {"t"}


def test_pictures_per_turn_are_read_once() -> None:
    loaded = tiny_smolvlm()
    with Engine(lambda: loaded, "tiny-vlm") as engine:
        model = ChatConfKV(model="tiny-vlm", engine=engine, policy="full", max_tokens=4)
        messages: list[BaseMessage] = [HumanMessage(["see ", picture_block("red")])]  # type: ignore[list-item]
        first = model.invoke(messages)
        messages += [first, HumanMessage(["and ", picture_block("blue")])]  # type: ignore[list-item]
        second = model.invoke(messages)
        other = model.invoke([HumanMessage(["see ", picture_block("green")])])  # type: ignore[list-item]
        counted = model.get_num_tokens_from_messages(messages)
    usages = [answer.usage_metadata for answer in (first, second, other)]
    assert usages[0] is not None and usages[1] is not None and usages[2] is not None
    assert usages[1]["input_token_details"]["cache_read"] == usages[0]["total_tokens"] - 1
    assert usages[1]["input_tokens"] == counted
    assert usages[2]["input_token_details"]["cache_read"] < 20


async def test_pictures_are_decoded_outside_the_event_loops_own_threads() -> None:
    loaded = tiny_smolvlm()
    with Engine(lambda: loaded, "tiny-vlm") as engine:
        model = ChatConfKV(model="tiny-vlm", engine=engine, max_tokens=4)
        loop = asyncio.get_running_loop()
        answer = await model.ainvoke([HumanMessage([picture_block("red")])])  # type: ignore[list-item]
        assert answer.usage_metadata is not None
        assert getattr(loop, "_default_executor", None) is None


def test_errors_are_langchains_too(model: ChatConfKV, tmp_path: Path) -> None:
    with pytest.raises(ImageError) as image:
        model.invoke([HumanMessage([picture_block("red")])])  # type: ignore[list-item]
    assert isinstance(image.value, langchain_errors.ModelInvalidRequestError)
    with pytest.raises(PromptTooLongError) as long:
        model.invoke("x" * 5000)
    assert isinstance(long.value, langchain_errors.ContextOverflowError)
    assert isinstance(long.value, ChatPromptTooLongError) and long.value.n_limit == 4095
    with pytest.raises(EngineTimeoutError) as late:
        model.invoke(LONG, max_tokens=3000, timeout=0.02)
    assert isinstance(late.value, langchain_errors.ModelTimeoutError) and late.value.is_retryable
    with pytest.raises(ModelNotFoundError) as missing:
        ChatConfKV(model=str(tmp_path / "nothing")).invoke("Hi")
    assert isinstance(missing.value, langchain_errors.ModelNotFoundError)


def test_a_memory_bound_is_held_and_refuses_what_cannot_fit(engine: Engine) -> None:
    model = ChatConfKV(model="tiny", engine=engine, policy="full", max_tokens=6, kv_memory="200 KiB")  # type: ignore[arg-type]
    for number in range(6):
        model.invoke(f"{number} {LONG[:100]}")
        assert model.kv_bytes <= 200 * 1024
    with pytest.raises(PromptTooLongError, match="kv_memory"):
        model.invoke(LONG * 2)


def test_a_whole_cache_configuration_can_be_given(engine: Engine) -> None:
    config = CacheConfig(policy="window", budget=128)
    for kv in (config, {"policy": "window", "budget": 128}):
        answer = ChatConfKV(model="tiny", engine=engine, kv=kv, max_tokens=2).invoke("Hi")
        assert answer.response_metadata["confkv"]["budget"]["max"] == 128
    with pytest.raises(ConfigError, match="CacheConfig"):
        ChatConfKV(model="tiny", engine=engine, kv=3).invoke("Hi")


def test_the_engine_survives_configurable_fields(model: ChatConfKV) -> None:
    configurable = model.configurable_fields(max_tokens=ConfigurableField(id="max_tokens"))
    answer = configurable.with_config(configurable={"max_tokens": 3}).invoke("Hi")
    assert answer.usage_metadata["output_tokens"] == 3
    assert len(model.sessions()) == 1


def test_another_configuration_is_another_model_for_langchains_answer_cache(engine: Engine) -> None:
    store = InMemoryCache()
    options: dict[str, Any] = {"engine": engine, "cache": store, "max_tokens": 6}
    first = ChatConfKV(model="tiny", **options)
    assert first.invoke("Hi").id != ChatConfKV(model="tiny", policy="window", **options).invoke("Hi").id
    assert len(store._cache) == 2
    first.invoke("Hi", {"configurable": {"thread_id": "any"}})
    assert len(store._cache) == 2


def test_tokens_are_counted_exactly(model: ChatConfKV) -> None:
    messages: list[BaseMessage] = [SystemMessage("Be brief."), HumanMessage("Hi")]
    usage = model.invoke(messages).usage_metadata
    assert usage is not None and model.get_num_tokens_from_messages(messages) == usage["input_tokens"]
    assert model.get_num_tokens("abc") == len(model.get_token_ids("abc")) == 3


def test_tracing_parameters(model: ChatConfKV) -> None:
    assert model._get_ls_params(stop=["x"], temperature=0.5) == {
        "ls_provider": "confkv",
        "ls_model_name": "tiny",
        "ls_model_type": "chat",
        "ls_temperature": 0.5,
        "ls_max_tokens": 6,
        "ls_stop": ["x"],
    }
    assert model._llm_type == "chat-confkv"
    assert model.metadata is not None and "confkv-agents" in model.metadata["lc_versions"]
    assert "engine" not in repr(model)
