"""Where weights lie changes no answer; a map that cannot work is refused before anything is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from confkv_agents import ChatConfKV
from confkv_agents.cache import CacheConfig, ConfKVCache
from confkv_agents.engine import Engine
from confkv_agents.engine.conversation import Turn
from confkv_agents.engine.loading import LoadedModel, load_model
from confkv_agents.engine.placement import canonical, check_device_map, computes_on_cpu, parse_device_map
from confkv_agents.engine.registry import get_engine
from confkv_agents.engine.request import Request
from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.run import RunOptions
from tests.engine.test_loading import saved
from tests.engine.tiny import tiny_llama

DISK_MAP = {
    "model.embed_tokens": "disk",
    "model.layers.0": "cpu",
    "model.layers.1": "disk",
    "model.norm": "cpu",
    "model.rotary_emb": "cpu",
    "lm_head": "disk",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(tiny_llama(), tmp_path_factory.mktemp("tiny"))


def answers(loaded: LoadedModel, cache: CacheConfig) -> Any:
    """Two turns of a conversation: ids, log probabilities, tokens reused, and where the cache's tensors lie."""
    turns: list[Turn] = []
    found = []
    with Engine(lambda: loaded, "tiny") as engine:
        for question in ("what was the first thing that was on the page? " * 8, "and then?"):
            turns.append(Turn("user", (question,)))
            result = engine.run(Request(tuple(turns), cache, max_tokens=5, logprobs=True, session="a"))
            turns.append(Turn("assistant", (result.text,)))
            found.append(([(each.token_id, each.logprob) for each in result.logprobs], result.tokens_reused))
    return found


@pytest.mark.parametrize(
    "cache", [CacheConfig(policy="full"), CacheConfig(policy="confkv", budget=48, window=8, sinks=2, chunk=16)],
    ids=lambda cache: cache.policy,
)  # fmt: skip
def test_weights_on_disk_answer_as_weights_in_memory(folder: str, tmp_path: Path, cache: CacheConfig) -> None:
    expected = answers(load_model(folder), cache)
    assert answers(load_model(folder, device_map={"": "cpu"}), cache) == expected
    loaded = load_model(folder, device_map=DISK_MAP, offload_folder=tmp_path / "weights")
    on_disk = {name for name, weight in loaded.model.named_parameters() if weight.device.type == "meta"}
    assert "model.embed_tokens.weight" in on_disk and "model.layers.1.self_attn.k_proj.weight" in on_disk
    assert not any(name.startswith("model.layers.0.") for name in on_disk)
    assert loaded.device == torch.device("cpu") and loaded.dtype == load_model(folder).dtype
    assert answers(loaded, cache) == expected


def test_keys_lie_where_their_layer_computes(folder: str, tmp_path: Path) -> None:
    loaded = load_model(folder, device_map=DISK_MAP, offload_folder=tmp_path)
    cache = ConfKVCache(loaded.model.config, CacheConfig(policy="full"))
    loaded.model(torch.arange(5)[None], cache=cache, use_cache=True)
    assert cache.get_seq_length() == 5 and {str(bank.device) for bank, _ in cache._banks} == {"cpu"}


@pytest.mark.parametrize(
    ("device_map", "folder", "words"),
    [
        ("everywhere", None, "device_map cannot be 'everywhere'; give auto, balanced"),
        ("disk", "w", "nothing would be computed there"),
        ("cuda:99", None, "is 'cuda:99', and this machine has"),
        ({"": 99}, None, "module '', is 99, and this machine has"),
        ({"": "gpu"}, None, "module '', cannot be 'gpu'; give cpu, cuda:0 or disk"),
        ({"": True}, None, "cannot be True"),
        ({}, None, "names no module"),
        ({0: "cpu"}, None, "names a module 0"),
        ({"": "disk"}, None, "give an offload_folder"),
        (None, "w", "used with a device_map only"),
        ("cpu", __file__, "is a file"),
        ({"": "mps", "model.layers.1.mlp": "xpu:1"}, None, "splits model.layers.1 over mps and xpu:1; the cache needs"),
        ({"h.0.attn": "mps", "h.0.mlp": "xpu"}, None, "splits h.0 over mps and xpu"),
        ({"lm_head": "mps", "h.0.attn": "cpu", "h.0.mlp": "xpu"}, None, "splits h.0 over mps and xpu"),
    ],
)
def test_a_map_that_cannot_work_is_refused_in_one_line(device_map: Any, folder: str | None, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_device_map(device_map, folder)
    assert words in str(refused.value) and "\n" not in str(refused.value)
    with pytest.raises(ConfigError):
        ChatConfKV(model="embedded", device_map=device_map, offload_folder=folder)
    with pytest.raises(ConfigError):
        RunOptions(task="t", device_map=device_map, offload_folder=folder)


@pytest.mark.parametrize(
    "device_map",
    [
        *(None, "auto", "balanced", "cpu", {"": "cpu"}, {"model": "cpu", "lm_head": "disk"}),
        {"": "cpu", "model.layers.1.mlp": "disk"},  # both compute in the same place
        {"": "mps", "visual.blocks.0.mlp": "xpu"},  # no keys are kept there
    ],
)
def test_maps_that_can_be_meant_pass(device_map: Any) -> None:
    check_device_map(device_map, None if device_map is None else "weights")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model.norm": None}, "gives no device to model.norm; name them"),
        ({"model.rotary_emb": None, "lm_head": None}, "gives no device to lm_head, model.rotary_emb; name them"),
        ({"model.layers.1": None}, "gives no device to model.layers.1; name them"),
        ({"model.layers.1": None, "model.layers.1.mlp": "cpu"}, "gives no device to model.layers.1.self_attn, "),
        ({"model.layer.2": "cpu"}, "names model.layer.2, which the model does not have; its parts are model, lm_head"),
    ],
)
def test_a_map_that_does_not_fit_the_model_is_refused_before_loading(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], words: str
) -> None:
    def load(*_: Any, **__: Any) -> Any:
        raise AssertionError("weights were loaded")

    monkeypatch.setattr("transformers.AutoModelForCausalLM.from_pretrained", load)
    given = {key: place for key, place in {**DISK_MAP, **change}.items() if place is not None}
    with pytest.raises(ConfigError) as refused:
        load_model(folder, device_map=given, offload_folder=tmp_path)
    assert words in str(refused.value) and "\n" not in str(refused.value)


def test_the_rest_of_a_model_goes_where_the_empty_name_says(folder: str) -> None:
    loaded = load_model(folder, device_map={"": "cpu", "model.layers.0.mlp": "cpu"})
    assert {weight.device.type for weight in loaded.model.parameters()} == {"cpu"}


def test_a_map_is_read_from_json_and_is_told_apart_whatever_its_order() -> None:
    assert parse_device_map('{"": "cpu"}') == {"": "cpu"} and parse_device_map("auto") == "auto"
    with pytest.raises(ConfigError, match="is no JSON"):
        parse_device_map("{cpu}")
    assert canonical({"a": "cpu", "b": 0}) == canonical({"b": 0, "a": "cpu"}) != canonical({"a": "cpu", "b": 1})
    assert computes_on_cpu(DISK_MAP) and not computes_on_cpu({"": 0})


def test_there_is_one_engine_per_model_and_map(folder: str) -> None:
    maps: list[Any] = [None, "cpu", {"model": "cpu", "lm_head": "cpu"}]
    engines = [get_engine(folder, device_map=each) for each in maps]
    assert len({id(engine) for engine in engines}) == 3
    assert get_engine(folder, device_map={"lm_head": "cpu", "model": "cpu"}) is engines[2]
    assert get_engine(folder, device_map="cpu", offload_folder="other") is not engines[1]
    for engine in (*engines, get_engine(folder, device_map="cpu", offload_folder="other")):
        engine.close()
