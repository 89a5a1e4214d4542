"""Predicted bytes against the bytes that caches of tiny models really hold."""

from __future__ import annotations

import pytest
import torch
from tiny import make_config
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, PreTrainedModel

from confkv_agents.cache import POLICIES, CacheConfig, ConfKVCache, attach
from confkv_agents.cache.sizes import CacheSizes, kv_shape
from confkv_agents.errors import UnsupportedModelError

BUDGET, CHUNK = 96, 48
BOUNDED = ("window", "h2o", "snapkv", "confkv", "confkv+recall")
MARGIN = 1.02  # what a prediction may lie above the bytes held


def make(family: str, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    config = make_config(family)
    text = config.get_text_config(decoder=True)
    text.head_dim = 32  # wider than hidden / heads, as in many models
    auto = AutoModelForCausalLM if text is config else AutoModelForImageTextToText
    torch.manual_seed(0)
    return attach(auto.from_config(config).to(dtype).eval())


@pytest.fixture(scope="module", params=["llama", "qwen3", "gemma3_text", "smolvlm"])
def wide_model(request) -> PreTrainedModel:
    return make(request.param)


@pytest.fixture(scope="module")
def llama() -> PreTrainedModel:
    return make("llama")


def new_pair(model: PreTrainedModel, rows: int = 1, **settings) -> tuple[CacheSizes, ConfKVCache]:
    """Return what predicts and what holds, for the same configuration."""
    config = CacheConfig(**{"budget": BUDGET, "chunk": CHUNK, "window": 16, **settings})
    return CacheSizes(model.config, config, dtype=model.dtype, rows=rows), ConfKVCache(model.config, config)


def feed(model: PreTrainedModel, cache: ConfKVCache, read: int, decode: int = 0, rows: int = 1) -> int:
    """Read in chunks, then decode; returns how many tokens."""
    ids = torch.randint(2, 90, (rows, read + decode), generator=torch.Generator().manual_seed(0))
    for start in range(0, read, cache.config.chunk):
        model(ids[:, start : min(start + cache.config.chunk, read)], cache=cache, logits_to_keep=1)
    for step in range(read, read + decode):
        model(ids[:, step : step + 1], cache=cache)
    return read + decode


def near(predicted: int, held: int) -> bool:
    return held <= predicted <= MARGIN * held


@pytest.mark.parametrize("policy", POLICIES)
def test_predicted_bytes_are_those_held_after_ten_budgets(wide_model: PreTrainedModel, policy: str):
    sizes, cache = new_pair(wide_model, policy=policy)
    fed = feed(wide_model, cache, 10 * BUDGET, 24)
    usage = cache.usage()
    assert near(sizes.peak(fed, 24), usage.peak_kv_bytes)
    assert usage.full_kv_bytes == sizes.full(fed)
    cache.compact()
    assert near(sizes.held(fed, 24), cache.nbytes)
    assert near(sizes.cold(fed), usage.cold_bytes)
    assert (sizes.cold(fed) > 0) == (policy == "confkv+recall")


@pytest.mark.parametrize(
    "settings",
    [
        {"pyramid": 0.7},
        {"pyramid": -1.0, "policy": "h2o"},
        {"int8_share": 1.0},
        {"int8_share": 0.0, "probe": 0},
        {"min_budget": BUDGET, "evict_every": 1},
        {"chunk": 100},
        {"policy": "full", "chunk": 100},
    ],
    ids=str,
)
def test_settings_change_predicted_and_held_bytes_alike(llama: PreTrainedModel, settings: dict):
    sizes, cache = new_pair(llama, **settings)
    fed = feed(llama, cache, 10 * BUDGET, 8)
    assert near(sizes.peak(fed, 8), cache.usage().peak_kv_bytes)
    cache.compact()
    assert near(sizes.held(fed, 8), cache.nbytes)


@pytest.mark.parametrize("policy", ["full", "confkv+recall"])
def test_halves_take_half_the_bytes_of_keys_and_rows_add_up(policy: str):
    model = make("llama", torch.bfloat16)
    sizes, cache = new_pair(model, rows=2, policy=policy)
    fed = feed(model, cache, 10 * BUDGET, 8, rows=2)
    assert near(sizes.peak(fed, 8), cache.usage().peak_kv_bytes)
    assert near(sizes.cold(fed), cache.usage().cold_bytes)
    single, _ = new_pair(model, policy=policy)
    assert sizes.token == 2 * single.token == 2 * 2 * (4 * 2 * 32 * 2)


@pytest.mark.parametrize("policy", BOUNDED)
def test_a_bounded_cache_never_holds_more_than_predicted(llama: PreTrainedModel, policy: str):
    sizes, cache = new_pair(llama, policy=policy, chunk=16, shrink=8)
    for confidence in [1.0, 0.0] * 30:  # the budget shrinks and grows all the time
        feed(llama, cache, 16, 2)
        cache.observe_confidence([confidence])
        assert cache.nbytes <= sizes.peak(cache.seen)
        assert cache.nbytes <= sizes.most(cache.seen)
        assert cache.usage().cold_bytes <= sizes.cold(cache.seen)
        cache.compact()
        assert cache.nbytes <= sizes.held(cache.seen)


@pytest.mark.parametrize("chunk", [7, 100])
def test_a_full_cache_never_holds_more_than_its_most(llama: PreTrainedModel, chunk: int):
    sizes, cache = new_pair(llama, policy="full", chunk=chunk)
    for _ in range(6):
        feed(llama, cache, 100)
        assert cache.nbytes <= sizes.most(cache.seen)


def test_a_bound_is_reached_and_then_kept(llama: PreTrainedModel):
    for policy in BOUNDED[:-1]:  # a recall keeps a mark per token beside its hot tiers
        sizes, _ = new_pair(llama, policy=policy, budget=512)
        assert sizes.peak(20) < sizes.peak(5000) == sizes.peak(500_000)
        assert sizes.held(5000) == sizes.held(500_000) < sizes.peak(5000)
    sizes, _ = new_pair(llama, policy="full")
    values = [sizes.peak(tokens) for tokens in range(1, 3000, 7)]
    assert values == sorted(values)


def test_a_head_is_as_wide_as_the_configuration_says():
    from transformers import LlamaConfig, Qwen3Config

    assert kv_shape(LlamaConfig(hidden_size=64, num_attention_heads=8, num_key_value_heads=2)) == (2, 8)
    assert kv_shape(Qwen3Config(hidden_size=64, num_attention_heads=8, num_key_value_heads=4, head_dim=16)) == (4, 16)
    assert kv_shape(make_config("smolvlm")) == (2, 8)  # of the text part


def test_layers_the_cache_cannot_serve_are_refused():
    config = make_config("gemma3_text")
    config.layer_types = ["sliding_attention"] * 4
    with pytest.raises(UnsupportedModelError):
        CacheSizes(config, CacheConfig(), dtype=torch.float32)
