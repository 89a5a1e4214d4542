"""Fields and call options of `ChatConfKV`: what is refused, and which model they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import langchain_core.exceptions as langchain_errors
import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.messages import HumanMessage

from confkv_agents.amounts import parse_bytes
from confkv_agents.chat_models import ChatConfKV
from confkv_agents.engine import Engine, close_engines, get_engine
from confkv_agents.engine.loading import load_model
from confkv_agents.errors import (
    ConfigError,
)
from tests.engine.tiny import tiny_llama, tiny_smolvlm
from tests.test_chat_models import picture_block

IMPOSSIBLE: list[tuple[str, Any]] = [
    ("max_tokens", "abc"),
    ("max_tokens", 1.5),
    ("max_tokens", True),
    ("max_tokens", 0),
    ("timeout", "x"),
    ("timeout", float("nan")),
    ("timeout", -1),
    ("temperature", "hot"),
    ("temperature", float("inf")),
    ("temperature", -1.0),
    ("top_k", 1.5),
    ("top_p", 2),
    ("seed", "x"),
    ("seed", 1.5),
    ("seed", 2**70),
    ("stop", [1]),
    ("stop", 5),
    ("stop", [None]),
    ("chat_template_kwargs", 5),
    ("top_logprobs", -1),
    ("top_logprobs", "3"),
    ("logprobs", "x"),
    ("trace", "x"),
    ("keep_thoughts", 5),
    ("reasoning", "x"),
]


IMPOSSIBLE_CALLS: list[tuple[str, Any]] = [
    ("tools", 5),
    ("tools", [5]),
    ("tools", "x"),
    ("tool_choice", ["x"]),
    ("parallel_tool_calls", "x"),
    ("strict", "x"),
    ("grammar", 5),
    ("response_format", 5),
    ("response_format", {"type": "json_object", "schema": "x"}),
    ("response_format", {"type": "json_schema", "json_schema": 5}),
]


@pytest.mark.parametrize(("name", "value"), IMPOSSIBLE + IMPOSSIBLE_CALLS)
def test_an_impossible_call_option_is_named_with_its_value_before_anything_is_read(name: str, value: Any) -> None:
    def load() -> Any:
        raise AssertionError("the model was loaded")

    with Engine(load, "never") as engine:
        model = ChatConfKV(model="never", engine=engine)
        with pytest.raises(ConfigError, match=name) as refused:
            model.invoke("Hi", **{name: value})
        with pytest.raises(ConfigError, match=name):
            next(model.stream("Hi", **{name: value}))
    shown = next(iter(value)) if isinstance(value, list) else value["type"] if isinstance(value, dict) else value
    assert repr(shown) in str(refused.value)
    assert isinstance(refused.value, langchain_errors.ModelInvalidRequestError)


@pytest.mark.parametrize(("name", "value"), [*IMPOSSIBLE, ("kv_memory", 0), ("kv_memory", -5), ("kv_memory", True)])
def test_the_constructor_refuses_what_a_call_refuses(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        ChatConfKV(**{name: value})


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"kv": {"foo": 3}}, "kv has no field foo"),
        ({"kv": {"budget": 0}}, "budget"),
        ({"kv": 5}, "kv must be a CacheConfig"),
        ({"engine": 5}, "engine must be an Engine"),
        ({"revision": "main"}, "no revisions"),
        ({"model": "embedded", "revision": "main"}, "no revisions"),
    ],
)
def test_fields_of_the_wrong_kind_are_refused_at_construction(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        ChatConfKV(**fields)


def test_a_model_of_the_hub_may_have_a_revision() -> None:
    assert ChatConfKV(model_name="some/model", revision="main").revision == "main"  # type: ignore[call-arg]


def test_a_misspelled_field_is_refused() -> None:
    with pytest.raises(ValueError, match="tempature"):
        ChatConfKV(tempature=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("text", "expected"), [("1.5GiB", 3 * 2**29), ("200 MB", 200_000_000), ("64kib", 65536), ("1024", 1024)]
)
def test_amounts_of_memory_are_read(text: str, expected: int) -> None:
    assert parse_bytes(text) == expected


def test_a_wrong_amount_of_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="no amount of memory"):
        ChatConfKV(kv_memory="plenty")  # type: ignore[arg-type]


def test_a_loaded_model_can_be_used() -> None:
    loaded = tiny_llama()
    model = ChatConfKV.from_model(loaded.model, loaded.tokenizer, max_tokens=3)
    assert model.invoke("Hi").usage_metadata["output_tokens"] == 3  # type: ignore[index]
    model.close()


def saved(loaded: Any, folder: Path) -> str:
    loaded.model.save_pretrained(folder)
    (loaded.processor or loaded.tokenizer).save_pretrained(folder)
    return str(folder)


def test_the_same_folder_is_loaded_once(tmp_path: Path) -> None:
    path = saved(tiny_llama(), tmp_path)
    one = ChatConfKV(model=path, max_tokens=2, dtype="float32")
    two = ChatConfKV(model=f"{path}/../{tmp_path.name}", policy="window", dtype="torch.float32", max_tokens=2)
    assert one.invoke("Hi").text and two.invoke("Hi").text
    assert get_engine(path, dtype="float32") is one._engine() is two._engine()
    assert one.profile is not None and one.profile["max_input_tokens"] == 4095
    one.close()
    assert get_engine(path, dtype="float32").closed is False
    close_engines()


def test_a_folder_with_a_vision_model_takes_pictures(tmp_path: Path) -> None:
    path = saved(tiny_smolvlm(), tmp_path)
    model = ChatConfKV(model=path, max_tokens=2)
    assert model.profile is not None and model.profile["image_inputs"] is True
    loaded = load_model(path, dtype="float32")
    assert loaded.takes_pictures
    assert model.invoke([HumanMessage([picture_block("red")])]).text  # type: ignore[list-item]
    model.close()


def test_two_models_of_one_name_share_no_cached_answer() -> None:
    cache, one, other = InMemoryCache(), tiny_llama(seed=1), tiny_llama(seed=2)
    models = [ChatConfKV.from_model(each.model, each.tokenizer, cache=cache, max_tokens=5) for each in (one, other)]
    assert models[0].model == models[1].model
    answers = [model.invoke("Hi").content for model in models]
    assert answers[0] != answers[1]
    assert [model.invoke("Hi").content for model in models] == answers
