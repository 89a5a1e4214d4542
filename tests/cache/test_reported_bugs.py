"""Bugs that users of other caches reported, held against this one.

Numbers are those of the list that was gone through. Each has a test, here or in the file named, or a reason.

 1  positions mixed after pruning            test_what_is_stored_keeps_its_own_position
 2  positions beyond the trained length      documented in `ConfKVCache`; the engine refuses: tests/engine/test_engine
 3  figures from the stored length           test_lengths_are_logical_whatever_is_stored
 4  state of the first sample stays          test_a_reset_cache_is_a_new_one
 5  sink caches: multi-turn, no length       test_a_second_turn_on_an_evicted_cache_feeds_only_what_is_new
 6  mask length mismatch goes unseen         test_contract_sessions (a refused mask)
 7  positions of chunks, stale rope_deltas   test_generation (chunks), test_contract_pictures
 8  no shifts, tuples of positions           test_contract_pictures (M-RoPE)
 9  one counter for rows and positions       test_lengths_are_logical_whatever_is_stored
10  mask q x q on a warm cache               test_contract_stock (reading in chunks)
11  scores summed over the batch             test_contract_rows
12  query heads stored, not KV heads         test_one_score_and_one_key_per_kv_head
13  padding scored and kept                  test_contract_rows, test_contract_scores (protected)
14  counters not condensed with the batch    test_generation (rows reordered), test_contract_rows (codes per row)
15  reorder misses tensors, config mutated   test_generation (rows reordered),
                                             test_nobody_changes_the_callers_configuration
16  protected tokens lose ties               test_contract_scores (window and sinks)
17  a ratio empties short contexts           test_contexts_around_the_limits_keep_what_they_should
18  wrong at about the window's length       test_contexts_around_the_limits_keep_what_they_should
19  a fake key overflows fp16                test_contract_scores (window and sinks, fp16)
20  the kept set freezes                     test_the_kept_set_does_not_freeze
21  garbage once a prompt exceeds the cache  test_contract_bounds, test_parts (floors)
22  state leaks across samples and errors    test_an_interrupted_forward_spoils_one_cache_and_says_so
23  private interfaces of transformers       test_only_public_names_of_transformers_are_imported; a job on its
                                             main branch needs a network: `attach` refuses other versions
24  the peak is that of the whole prompt     test_the_peak_of_a_long_prompt_read_at_once_is_bounded
25  all weights at once                      test_reading_never_makes_a_tensor_of_all_weights
26  bytes claimed, not saved                 test_contract_bounds (reported bytes, an int8 token's cost)
27  the whole cache is dequantized           test_decoding_never_dequantizes_the_whole_cache,
                                             test_the_protected_are_never_coded
28  the residual grows for ever              test_contract_bounds (ten budgets)
29  synchronizations, lists on the host      test_contract_syncs, tests/engine/test_syncs
30  memory held by forgotten references      test_contract_sessions (the last reference)
31  a slice pins the whole                   test_contract_bounds (reported bytes are those of whole storages)
32  key outliers                             test_parts (Qwen2-like outliers)
33  zero range, small chunks                 test_parts (equal and zero tokens), test_contract_bounds (fed one by one)
34  a scale frozen at the first tokens       test_codes_follow_tokens_much_larger_than_the_first
35  sliding layers                           every contract runs on Gemma 3; test_contract_sessions (cropping)
36  layers on several devices                test_layers_on_two_devices_are_kept_on_each
37  pictures of equal placeholders           tests/engine/test_engine, tests/engine/test_pictures (other shape)
38  grids misaligned over turns              test_contract_pictures, tests/engine/test_pictures

Also: a cache that has read all of `generate`'s input, which transformers then feeds again (second half of
test_a_second_turn...). Asked for elsewhere and out of scope: KV of other programs, vLLM's and SGLang's schedulers.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
from pathlib import Path

import pytest
import torch
from helpers import BOUNDED, POLICIES, TIGHT, generate, new_cache, stored_positions
from tiny import make_config, make_prompt
from transformers import DynamicCache

import confkv_agents.cache
from confkv_agents.cache import CacheConfig, ConfKVCache
from confkv_agents.cache.layer import ConfKVLayer
from confkv_agents.cache.quantize import decode_keys, encode_keys, pair_amplitude
from confkv_agents.errors import CacheStateError

SMALL = {**TIGHT, "budget": 20}


@pytest.fixture(params=["llama"], scope="session")
def family(request) -> str:
    return request.param


def logits_of(model, cache, ids: torch.Tensor, chunk: int = 8) -> torch.Tensor:
    return torch.cat([model(input_ids=part, cache=cache).logits for part in ids.split(chunk, 1)], 1)


# ---------------------------------------------------------------- positions and lengths


@pytest.mark.parametrize("family", ["llama", "qwen3_vl"], indirect=True)
def test_what_is_stored_keeps_its_own_position(family, stock, model):
    """Every query sees what is stored at the places where it was read: the stock model under the same mask agrees."""
    ids = make_prompt("llama", 50).ids
    cache = new_cache(model, policy="window", **{**SMALL, "evict_every": 1})
    seen, ours = torch.zeros(50, 50, dtype=torch.bool), []
    for index in range(50):
        ours.append(model(input_ids=ids[:, index : index + 1], cache=cache).logits[:, -1])
        kept = stored_positions(cache)[:, 0]
        rows = {tuple(sorted(set(heads.tolist()) - {-1})) for layer in kept for heads in layer}
        assert len(rows) == 1, "a window is the same in every layer and head"
        seen[index, list(rows.pop())] = True
    assert seen[-1].sum() < 25
    reference = stock(input_ids=ids, attention_mask=seen[None, None], use_cache=False).logits
    assert (torch.stack(ours, 1) - reference).abs().max() < 1e-5


@pytest.mark.parametrize("policy", POLICIES)
def test_lengths_are_logical_whatever_is_stored(policy, model):
    cache = new_cache(model, policy=policy, **SMALL)
    logits_of(model, cache, make_prompt("llama", 90).ids)
    assert cache.get_seq_length() == cache.seen == cache.usage().seen == 90
    assert {layer.get_seq_length() for layer in cache.layers} == {90}
    assert {layer.get_mask_sizes(3) for layer in cache.layers} == {(93, 0)}
    assert cache.usage().stored_slots <= 20 + TIGHT["chunk"] or policy == "full"


@pytest.mark.parametrize("policy", POLICIES)
def test_a_second_turn_on_an_evicted_cache_feeds_only_what_is_new(policy, model):
    first, second = make_prompt("llama", 40).ids, make_prompt("llama", 9, seed=3).ids
    cache, by_hand = (new_cache(model, policy=policy, **{**SMALL, "min_budget": 20}) for _ in range(2))
    said = generate(model, cache, first, tokens=6).sequences
    whole = torch.cat([said, second], 1)
    ours = generate(model, cache, whole, tokens=1)
    assert cache.get_seq_length() == whole.shape[1]
    for step in range(6):
        fed = first if step == 0 else said[:, 39 + step : 40 + step]
        by_hand.observe(model(input_ids=fed, cache=by_hand).logits[:, -1])
    reference = model(input_ids=whole[:, 45:], cache=by_hand).logits[:, -1]
    assert (ours.logits[0] - reference).abs().max() < 1e-5
    with pytest.raises(CacheStateError, match=r"fed before: `generate` does that .* add at least one new token"):
        generate(model, cache, whole, tokens=1)
    assert cache.get_seq_length() == whole.shape[1]
    generate(model, cache, torch.cat([whole, second[:, :1]], 1), tokens=1)
    assert cache.get_seq_length() == whole.shape[1] + 1


# ---------------------------------------------------------------- state


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("family", ["llama", "gemma3_text"], indirect=True)
def test_a_reset_cache_is_a_new_one(policy, family, model):
    ids = make_prompt("llama", 60).ids
    used, fresh = new_cache(model, policy=policy, **SMALL), new_cache(model, policy=policy, **SMALL)
    for index in range(50):
        used.observe(model(input_ids=ids[:, index : index + 1], cache=used).logits[:, -1])
    used.reset()
    assert used.nbytes == 0 and used.get_seq_length() == 0
    assert used.usage() == fresh.usage()
    for start, stop in ((0, 30), (30, 31), (31, 32), (32, 55)):
        a, b = (model(input_ids=ids[:, start:stop], cache=cache).logits for cache in (used, fresh))
        assert torch.equal(a, b)
        assert used.observe(a[:, -1]) == fresh.observe(b[:, -1])
    assert used.usage() == fresh.usage()


@pytest.mark.parametrize("policy", POLICIES)
def test_an_interrupted_forward_spoils_one_cache_and_says_so(policy, model):
    ids = make_prompt("llama", 40).ids
    broken, other = new_cache(model, policy=policy, **SMALL), new_cache(model, policy=policy, **SMALL)
    for cache in (broken, other):
        model(input_ids=ids[:, :20], cache=cache)

    def interrupt(*args):
        raise KeyboardInterrupt

    hook = model.base_model.layers[2].register_forward_pre_hook(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            model(input_ids=ids[:, 20:24], cache=broken)
    finally:
        hook.remove()
    with pytest.raises(CacheStateError, match=r"did not reach 2 of 4 layers .* reset the cache"):
        model(input_ids=ids[:, 20:24], cache=broken)
    broken.reset()
    straight = new_cache(model, policy=policy, **SMALL)
    model(input_ids=ids[:, :20], cache=straight)
    model(input_ids=ids[:, :20], cache=broken)
    results = [model(input_ids=ids[:, 20:24], cache=cache).logits for cache in (straight, other, broken)]
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])


@pytest.mark.parametrize("policy", POLICIES)
def test_nobody_changes_the_callers_configuration(policy, model):
    config = CacheConfig(policy=policy, **SMALL)
    theirs, before = copy.deepcopy(model.config.to_dict()), dataclasses.asdict(config)
    cache = ConfKVCache(model.config, config)
    cache.observe(logits_of(model, cache, make_prompt("llama", 60).ids)[:, -1])
    assert model.config.to_dict() == theirs and dataclasses.asdict(config) == before
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.budget = 3


def test_only_public_names_of_transformers_are_imported():
    for path in Path(confkv_agents.cache.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "transformers":
                private = [alias.name for alias in node.names if alias.name.startswith("_")]
                assert not private and "._" not in str(node.module), f"{path.name}: {private}"


# ---------------------------------------------------------------- selection


def test_one_score_and_one_key_per_kv_head(model):
    cache = new_cache(model, policy="h2o", **SMALL)
    logits_of(model, cache, make_prompt("llama", 60).ids)
    bank = cache._banks[0][0]
    assert bank.heads == model.config.num_key_value_heads < model.config.num_attention_heads
    assert bank.stores.full[0].keys.shape[1] == bank.stores.table.mass.shape[2] == bank.heads
    width = model.config.hidden_size // model.config.num_attention_heads
    assert cache.usage().full_kv_bytes == 60 * 4 * 2 * bank.heads * width * 4


@pytest.mark.parametrize("policy", BOUNDED)
@pytest.mark.parametrize("length", [1, 2, 3, 6, 7, 19, 20, 21, 28, 29])
def test_contexts_around_the_limits_keep_what_they_should(policy, length, stock, model):
    """Below the budget nothing goes and nothing changes; at it and beyond, sinks, window and budget hold."""
    config = {**SMALL, "int8_share": 0.0, "min_budget": 20, "window": 6}
    ids = make_prompt("llama", length).ids
    cache = new_cache(model, policy=policy, **config)
    ours = model(input_ids=ids, cache=cache).logits
    cache.compact()
    kept = [set(heads.tolist()) - {-1} for layer in stored_positions(cache)[:, 0] for heads in layer]
    must = {position for position in range(length) if position < 2 or position >= length - 6}
    assert all(must <= slots and len(slots) == min(length, 20) for slots in kept)
    if length <= 20:
        assert (ours - stock(input_ids=ids, cache=DynamicCache(config=stock.config)).logits).abs().max() < 1e-5


def test_the_kept_set_does_not_freeze(model):
    """Tokens that came after the prompt and left the window take part: age correction, fading and a fair start."""
    config = {"budget": 48, "min_budget": 48, "window": 8, "sinks": 2, "int8_share": 0.0, "decay": 0.9}
    cache = new_cache(model, policy="confkv", **config)
    logits_of(model, cache, make_prompt("llama", 40).ids)
    fed = make_prompt("llama", 300, seed=7).ids
    for index in range(300):
        model(input_ids=fed[:, index : index + 1], cache=cache)
    position = stored_positions(cache)
    later = ((position >= 40) & (position < 340 - 8)).sum(-1)
    assert (later >= 5).all(), "in every layer and head"


# ---------------------------------------------------------------- codes


@pytest.mark.parametrize("policy", ["confkv"])
def test_the_protected_are_never_coded(policy, model):
    cache = new_cache(model, policy=policy, budget=64, window=8, sinks=3, chunk=16, int8_share=0.7)
    ids = make_prompt("llama", 150).ids
    logits_of(model, cache, ids, 16)
    for index in range(30):
        model(input_ids=ids[:, index : index + 1], cache=cache)
        table = cache._banks[0][0].stores.table
        coded = table.position[..., table.regions.columns("int8")]
        assert (coded >= 0).any()
        coded = coded[coded >= 0]
        assert coded.min() >= 3 and coded.max() < cache.seen - 8


def test_codes_follow_tokens_much_larger_than_the_first():
    random = torch.Generator().manual_seed(0)
    first = torch.randn(1, 2, 64, 16, generator=random)
    amplitude = pair_amplitude(first, torch.ones(1, 2, 64, dtype=torch.bool))
    for factor in (1e-3, 1.0, 100.0, 1e4):
        later = factor * torch.randn(1, 2, 64, 16, generator=random)
        back = decode_keys(*encode_keys(later, amplitude), amplitude)
        assert ((back - later).norm() / later.norm()).item() < 0.01


# ---------------------------------------------------------------- devices


def test_layers_on_two_devices_are_kept_on_each():
    """As with a device map; the second device is one without values, so that nothing can be mixed unseen."""
    from confkv_agents.cache.attention import Heads

    config = make_config("llama")
    for policy in POLICIES:
        cache = ConfKVCache(config, CacheConfig(policy=policy, **SMALL))
        for length in (30, 1, 1, 4):
            for index, layer in enumerate(cache.layers):
                assert isinstance(layer, ConfKVLayer)
                device = torch.device("cpu" if index < 2 else "meta")
                keys, query = torch.ones(1, 2, length, 8, device=device), torch.ones(1, 8, length, 8, device=device)
                layer.update(keys, keys, kwargs={})
                output = layer.attend(query, keys, keys, None, Heads(scaling=1.0, groups=4))
                assert output.device.type == device.type and output.shape == query.shape
        assert [(bank.layers, bank.device.type) for bank, _ in cache._banks] == [(2, "cpu"), (2, "meta")]
        for bank, _ in cache._banks:
            assert {tensor.device.type for tensor in bank.tensors()} == {bank.device.type}
        assert cache.get_seq_length() == 36


# ---------------------------------------------------------------- the size of things while they happen


class Largest(torch.utils._python_dispatch.TorchDispatchMode):
    """The most elements of any floating-point tensor that an operation makes, or of those with `width` columns."""

    def __init__(self, width: int | None = None) -> None:
        super().__init__()
        self.elements, self.width = 0, width

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point() or tensor._is_view():
                continue
            if tensor.dim() and self.width in (None, tensor.shape[-1]):
                self.elements = max(self.elements, tensor.numel())
        return result


@pytest.mark.parametrize("policy", ["h2o", "confkv"])
def test_the_peak_of_a_long_prompt_read_at_once_is_bounded(policy, model):
    peaks = []
    for length in (200, 800):
        cache = new_cache(model, policy=policy, budget=64, window=8, chunk=32)
        model(input_ids=make_prompt("llama", length).ids, cache=cache, logits_to_keep=1)
        peaks.append(cache.usage().peak_kv_bytes)
    assert peaks[1] <= 1.02 * peaks[0]


def test_reading_never_makes_a_tensor_of_all_weights(model):
    cache = new_cache(model, policy="h2o", budget=64, window=8, chunk=32)
    with Largest() as largest:
        model(input_ids=make_prompt("llama", 1500).ids, cache=cache, logits_to_keep=1)
    hidden = 1500 * model.config.intermediate_size
    assert largest.elements <= hidden < 1500 * 1500  # of one head; the model has eight


def test_decoding_never_dequantizes_the_whole_cache(model):
    cache = new_cache(model, policy="confkv", budget=1500, window=8, chunk=512, int8_share=0.95)
    ids = make_prompt("llama", 5000).ids
    model(input_ids=ids, cache=cache, logits_to_keep=1)
    model(input_ids=ids[:, :1], cache=cache)
    bank = cache._banks[0][0]
    coded = int(bank.int8_count.min())
    assert coded > 1500
    with Largest(bank.width) as largest:
        model(input_ids=ids[:, :1], cache=cache)
    assert largest.elements < coded * bank.heads * bank.width / 2
