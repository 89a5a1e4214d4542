"""Contract 7, and what a session needs of a cache: forks, files, rollback, references, refusals."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from helpers import POLICIES, TIGHT, WIDE, new_cache
from safetensors.torch import save_file
from tiny import make_model, make_prompt

from confkv_agents.cache import load_cache, save_cache
from confkv_agents.errors import CacheStateError

# ---------------------------------------------------------------- references and refusals


def test_memory_goes_with_the_last_reference(model):
    import gc
    import weakref

    gc.collect()
    gc.disable()
    try:
        cache = new_cache(model, policy="confkv", budget=128)
        model(input_ids=make_prompt("llama", 12).ids, cache=cache)
        gone = weakref.ref(cache._banks[0][0])
        del cache
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("policy", POLICIES)
def test_a_refused_mask_leaves_the_cache_as_it_was(policy, family, model):
    ids = make_prompt("llama", 30).ids
    caches = [new_cache(model, policy=policy, **WIDE) for _ in range(2)]
    with pytest.raises(CacheStateError, match="attention_mask covers 5 tokens"):
        model(input_ids=ids[:, :9], attention_mask=torch.tensor([[0, 1, 1, 1, 1]]), cache=new_cache(model))
    for cache in caches:
        model(input_ids=ids[:, :20], cache=cache)
    for length in (1, 4):
        with pytest.raises(CacheStateError, match="attention_mask covers 7 tokens"):
            mask = torch.tensor([[0, 1, 1, 1, 1, 1, 1]])
            model(input_ids=ids[:, 20 : 20 + length], attention_mask=mask, cache=caches[0])
        if family == "gemma3_text":  # its stock sliding layers have taken the tokens already
            with pytest.raises(CacheStateError, match="reset"):
                model(input_ids=ids[:, 20:22], cache=caches[0])
            return
    a, b = (model(input_ids=ids[:, 20:25], cache=cache).logits for cache in caches)
    assert (a - b).abs().max() < 1e-6


# ---------------------------------------------------------------- rollback and forks


@pytest.mark.parametrize("policy", POLICIES)
def test_a_fork_goes_on_like_the_original(policy, model):
    ids = make_prompt("llama", 90).ids
    cache = new_cache(model, policy=policy, **{**TIGHT, "budget": 24})
    model(input_ids=ids, cache=cache)
    fork = cache.fork()
    model(input_ids=ids[:, :30], cache=fork)
    again = cache.fork()
    first = [model(input_ids=ids[:, i : i + 1], cache=cache).logits for i in range(30)]
    second = [model(input_ids=ids[:, i : i + 1], cache=again).logits for i in range(30)]
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("decoded", [0, 5])
def test_a_saved_and_loaded_cache_goes_on_bit_for_bit(policy, decoded, model, tmp_path):
    ids = make_prompt("llama", 90).ids
    cache = new_cache(model, policy=policy, **{**TIGHT, "budget": 24})
    model(input_ids=ids, cache=cache)
    for index in range(decoded):
        cache.observe(model(input_ids=ids[:, index : index + 1], cache=cache).logits[:, -1])
    save_cache(cache, tmp_path / "cache.safetensors")
    loaded = load_cache(tmp_path / "cache.safetensors", model.config)
    alike = {"kv_bytes": 0, "full_kv_bytes": 0}  # spare room and views of stock layers are not saved
    assert replace(loaded.usage(), **alike) == replace(cache.usage(), **alike)
    assert loaded.nbytes <= cache.nbytes
    assert [path.name for path in tmp_path.iterdir()] == ["cache.safetensors"]
    for step in range(25):
        part = ids[:, step : step + 1] if step % 10 else ids[:, step : step + 9]
        a, b = (model(input_ids=part, cache=c).logits for c in (cache, loaded))
        assert torch.equal(a, b)
        assert cache.observe(a[:, -1]) == loaded.observe(b[:, -1])


def test_a_file_that_is_no_saved_cache_of_this_model_is_refused(model, tmp_path):
    cache = new_cache(model, policy="confkv", budget=128)
    model(input_ids=make_prompt("llama", 30).ids, cache=cache)
    good = tmp_path / "good"
    save_cache(cache, good)
    (tmp_path / "cut").write_bytes(good.read_bytes()[:500])
    (tmp_path / "text").write_text("not a cache")
    save_file({"x": torch.zeros(1)}, tmp_path / "other")
    for name in ("missing", "cut", "text", "other"):
        with pytest.raises(CacheStateError, match=name):
            load_cache(tmp_path / name, model.config)
    config = make_model("llama").config
    config.num_hidden_layers = 2
    with pytest.raises(CacheStateError, match="layers"):
        load_cache(good, config)


@pytest.mark.parametrize("policy", POLICIES)
def test_cropping_before_any_eviction_equals_never_having_read_on(policy, family, model):
    ids = make_prompt("llama", 60).ids
    cache = new_cache(model, policy=policy, **WIDE)
    model(input_ids=ids, cache=cache)
    if family == "gemma3_text":  # a sliding layer has forgotten what position 30 could see
        with pytest.raises(CacheStateError, match="cannot go back to 30 of 60"):
            cache.crop_to(30)
        return
    assert cache.can_crop_to(30)
    cache.crop_to(30)
    straight = new_cache(model, policy=policy, **WIDE)
    model(input_ids=ids[:, :30], cache=straight)
    a, b = (model(input_ids=ids[:, 5:9], cache=c).logits for c in (cache, straight))
    assert cache.get_seq_length() == 34
    assert (a - b).abs().max() < 1e-5
