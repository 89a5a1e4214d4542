"""Contracts 3 and 10: memory stays within its bound, is reported truly, and decoding does not grow it."""

from __future__ import annotations

import pytest
import torch
from helpers import BOUNDED, POLICIES, new_cache
from tiny import make_prompt

from confkv_agents.cache import CacheConfig, ConfKVCache

# ---------------------------------------------------------------- contract 3: the bound holds, bytes are true


@pytest.mark.parametrize("policy", BOUNDED)
@pytest.mark.parametrize(("int8_share", "fed_in"), [(0.0, 8), (0.6, 8), (0.6, 1000), (0.0, 1)])
def test_stored_slots_never_exceed_budget_and_chunk(policy, int8_share, fed_in, family, model):
    if fed_in == 1 and family not in ("llama", "gemma3_text"):
        fed_in = 7  # one by one is slow, and the same code for every family
    config = CacheConfig(policy=policy, budget=32, window=8, sinks=2, chunk=16, pyramid=0.4, int8_share=int8_share)
    cache = ConfKVCache(model.config, config)
    prompt = make_prompt("llama", 160 if fed_in == 1 else 208).ids
    limits = cache._schedule._share(config.budget)
    for part in prompt.split(fed_in, 1):
        cache.observe(model(input_ids=part, cache=cache).logits[:, -1])
        for stored, limit in zip(cache.stored_slots(), limits, strict=True):
            assert stored[0] <= limit + config.chunk
    token = prompt[:, -1:]
    for _ in range(24):
        cache.observe(model(input_ids=token, cache=cache).logits[:, -1])
        allowed = cache._schedule.slots()[:, 0] + 1
        stored = [row[0] for row in cache.stored_slots()]
        live = (cache._banks[0][0].stores.table.position[..., :-1] >= 0).sum(-1).amax(-1)[:, 0]
        # A budget that shrinks takes effect when the next token comes, so the last one's limit counts too.
        assert all(s <= a + config.shrink for s, a in zip(stored, allowed, strict=True))
        if not int8_share:
            assert live.tolist() == stored
    assert cache.get_seq_length() == prompt.shape[1] + 24


@pytest.mark.parametrize("policy", POLICIES)
def test_reported_bytes_are_the_bytes_held(policy, model):
    import gc

    cache = new_cache(model, policy=policy, budget=64, window=8, chunk=32)
    ids = make_prompt("llama", 200).ids
    for part in ids.split(32, 1):
        model(input_ids=part, cache=cache)
    gc.collect()
    held, seen, queue = {}, set(), [*cache._banks, *cache._sliding_tensors()]
    while queue:  # walk everything the banks reach, whatever it is called
        thing = queue.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, torch.Tensor):
            held[thing.untyped_storage().data_ptr()] = thing.untyped_storage().nbytes()
        elif isinstance(thing, dict):
            queue += thing.values()
        elif isinstance(thing, list | tuple | set):
            queue += thing
        elif type(thing).__module__.startswith("confkv_agents"):
            queue += vars(thing).values()
    assert cache.nbytes == sum(held.values())
    assert cache.usage().kv_bytes <= cache.usage().peak_kv_bytes


def test_an_int8_token_costs_its_bytes(model):
    cache = new_cache(model, policy="confkv", budget=256, window=8, int8_share=0.5)
    model(input_ids=make_prompt("llama", 16).ids, cache=cache)
    bank = cache._banks[0][0]
    full, int8 = bank.split(cache._schedule.slots())
    store = bank.stores.int8[0]
    store = type(store)(bank.stores.full[0].keys, 64)
    per_token = sum(t.nbytes for t in store.tensors() if t.shape[2] == 64) / 64 / (bank.heads * bank.rows)
    full_token = 2 * bank.width * bank.dtype.itemsize
    assert per_token == full_token * bank.int8_cost
    spent = full * full_token + int8 * per_token
    assert (abs(spent - 256 * full_token) <= full_token).all()


# ---------------------------------------------------------------- contract 10: decoding does not grow the cache


@pytest.mark.parametrize("int8_share", [0.0, 0.5])
def test_storage_after_ten_budgets_of_decoding_is_what_it_was_after_one(int8_share, model):
    cache = new_cache(model, policy="confkv", budget=24, min_budget=24, window=8, int8_share=int8_share)
    token = make_prompt("llama", 2).ids[:, :1]
    model(input_ids=token, cache=cache)
    sizes = {}
    for step in range(1, 241):
        cache.observe(model(input_ids=token, cache=cache).logits[:, -1])
        sizes[step] = cache.nbytes
    early, late = [[n for step, n in sizes.items() if test(step)] for test in (lambda s: s <= 48, lambda s: s > 48)]
    assert max(late) <= max(early)
    assert len(set(late)) == 1
