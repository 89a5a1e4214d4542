"""`ChatConfKV` on the embedded weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from confkv_agents.cache import CacheConfig
from confkv_agents.chat_models import ChatConfKV
from confkv_agents.engine import Engine, close_engines
from confkv_agents.engine.loading import load_model

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def model() -> Iterator[ChatConfKV]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # more of them than free cores wait for each other
    yield ChatConfKV(dtype="float32", policy="full", max_tokens=16)
    close_engines()
    torch.set_num_threads(threads)


def ask(text: str) -> list[BaseMessage]:
    return [SystemMessage("Answer in one short sentence."), HumanMessage(text)]


def test_the_answer_is_sensible_and_ends_by_itself(model: ChatConfKV) -> None:
    answer = model.invoke(ask("What is the capital of France?"))
    assert "Paris" in answer.text
    assert answer.response_metadata["finish_reason"] == "stop"
    confidence = answer.response_metadata["confkv"]["confidence"]
    assert 0 < confidence["min"] < confidence["max"] < 1


@pytest.mark.parametrize("policy", ["full", "confkv"])
def test_a_warm_answer_equals_a_cold_one_and_reads_only_what_is_new(model: ChatConfKV, policy: str) -> None:
    warm_model = model.model_copy(update={"policy": policy})
    messages = ask("What is the capital of France?")
    first = warm_model.invoke(messages)
    messages += [first, HumanMessage("And what is the capital of Italy?")]
    warm = warm_model.invoke(messages)
    loaded = model._engine().load()
    with Engine(lambda: loaded, "cold") as cold_engine:
        cold = ChatConfKV(engine=cold_engine, policy=policy, max_tokens=16).invoke(messages)
    assert warm.text == cold.text
    usage, earlier = warm.usage_metadata, first.usage_metadata
    assert usage is not None and earlier is not None
    assert usage["input_token_details"]["cache_read"] == earlier["total_tokens"] - 1
    assert usage["input_token_details"]["cache_creation"] < 20


def test_a_long_prompt_stays_within_the_bound(model: ChatConfKV) -> None:
    kv = CacheConfig(policy="confkv", budget=160, chunk=64)
    bounded = model.model_copy(update={"kv": kv, "max_tokens": 4})
    answer = bounded.invoke("The quick brown fox jumps over the lazy dog. " * 70)
    confkv = answer.response_metadata["confkv"]
    assert confkv["tokens_read"] > 4 * 160
    assert confkv["peak_kv_bytes"] < confkv["full_kv_bytes"]
    assert confkv["kv_bytes"] < confkv["full_kv_bytes"] / 2


class Person(BaseModel):
    """A person."""

    name: str
    age: int = Field(description="years")
    likes: list[str]


@pytest.mark.parametrize("method", ["json_schema", "json_mode"])
def test_an_object_is_read_out_of_a_text(model: ChatConfKV, method: Any) -> None:
    structured = model.model_copy(update={"max_tokens": 40}).with_structured_output(Person, method=method)
    person = structured.invoke("Anna is 31 and likes tea and chess. Who is she?")
    assert person == Person(name="Anna", age=31, likes=["tea", "chess"])


def test_a_demanded_tool_is_called_with_what_was_said(model: ChatConfKV) -> None:
    def get_weather(location: str) -> str:
        """Get the weather at a location."""
        return location

    bound = model.model_copy(update={"max_tokens": 40}).bind_tools([get_weather], tool_choice="any")
    (call,) = bound.invoke("What is the weather in San Francisco, CA?").tool_calls
    assert (call["name"], call["args"]) == ("get_weather", {"location": "San Francisco, CA"})


def test_the_automatic_number_format_loads() -> None:
    loaded = load_model("embedded")
    assert loaded.position_limit == 8192 and not loaded.takes_pictures
