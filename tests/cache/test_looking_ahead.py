"""Looking ahead: what the end of a prompt attends to is kept."""

from __future__ import annotations

import pytest
import torch
from helpers import WIDE, new_cache
from tiny import left_padded, make_prompt

from confkv_agents.cache import Trace
from confkv_agents.errors import CacheStateError


@pytest.mark.parametrize("policy", ["snapkv", "confkv"])
def test_a_probe_is_the_tails_mean_attention_and_changes_nothing_else(policy, stock, family, model):
    ids = make_prompt("llama", 30).ids
    stock.set_attn_implementation("eager")
    weights = torch.stack(stock(input_ids=ids, output_attentions=True).attentions)  # [L, B, Hq, Q, K]
    stock.set_attn_implementation("sdpa")
    caches = [new_cache(model, policy=policy, **{**WIDE, "chunk": 11}) for _ in range(2)]
    for cache in caches:
        model(input_ids=ids[:, :20], cache=cache)
    with caches[0].looking_ahead():
        model(input_ids=ids[:, 20:], cache=caches[0])
    expected = weights[caches[0]._full][..., 20:, :20].mean(3).unflatten(2, (2, 4)).mean(3)
    table = caches[0]._banks[0][0].stores.table
    position, order = table.position[..., : table.regions.total].sort(-1)
    probe = table.probe[..., : table.regions.total].gather(-1, order)[position >= 0].view(-1, 1, 2, 20)
    assert torch.allclose(probe, expected, atol=1e-5)
    assert caches[0].get_seq_length() == 20
    after = [model(input_ids=ids[:, 20:25], cache=cache).logits for cache in caches]
    assert torch.equal(*after)


def test_looking_ahead_saves_what_the_tail_asks_for(model):
    """Tokens that the tail attends to most survive, though nothing read before them looked at them."""
    ids = make_prompt("llama", 120).ids
    cache = new_cache(model, policy="snapkv", budget=24, window=4, sinks=2, chunk=30, span=1, probe=6)
    for start in (0, 30, 60):
        model(input_ids=ids[:, start : start + 30], cache=cache)
        with cache.looking_ahead():
            model(input_ids=ids[:, -6:], cache=cache)
    table = cache._banks[0][0].stores.table
    position = table.position[..., : table.regions.total]
    unprotected = (position >= 2) & (position < 90 - 4)
    best = table.probe[..., : table.regions.total].masked_fill(~unprotected, -1.0).argmax(-1, keepdim=True)
    wanted = position.gather(-1, best)
    model(input_ids=ids[:, 90:92], cache=cache)  # the next tokens make room for themselves first
    assert (cache._banks[0][0].stores.table.position == wanted).any(-1).all()


@pytest.mark.parametrize("policy", ["full", "window"])
def test_looking_ahead_is_refused_where_it_has_no_use(policy, model):
    cache = new_cache(model, policy=policy, **WIDE)
    model(input_ids=make_prompt("llama", 8).ids, cache=cache)
    assert not cache.wants_probe
    with pytest.raises(CacheStateError, match="needs a policy with a probe"), cache.looking_ahead():
        pass


@pytest.mark.parametrize("policy", ["snapkv", "confkv"])
def test_reading_ahead_is_feeding_the_chunk_and_then_looking_ahead(policy, family, model):
    padded, mask = left_padded(make_prompt("llama", 65, seed=2).ids, 70)
    ids = torch.cat((padded, make_prompt("llama", 70).ids))
    mask = torch.cat((mask, torch.ones_like(ids[1:])))
    apart, joined = (new_cache(model, policy=policy, budget=24, window=4, sinks=2, chunk=20, probe=6) for _ in range(2))
    for cache in (apart, joined):
        cache.trace = Trace()
    assert joined.reads_ahead == (family != "gemma3_text")  # whose sliding layers would store what only looks
    if not joined.reads_ahead:
        return
    for start in (0, 20, 40):
        end = start + 20
        model(input_ids=ids[:, start:end], attention_mask=mask[:, :end], cache=apart)
        looks = torch.cat((mask[:, :end], mask[:, -6:]), 1)
        with apart.looking_ahead():
            model(input_ids=ids[:, -6:], attention_mask=looks, cache=apart)
        with joined.reading_ahead(6):
            both = torch.cat((ids[:, start:end], ids[:, -6:]), 1)
            model(input_ids=both, attention_mask=looks, cache=joined)
        assert joined.get_seq_length() == end
    for cache in (apart, joined):
        cache.last = model(input_ids=ids[:, 60:], attention_mask=mask, cache=cache).logits
    assert torch.allclose(apart.last, joined.last, atol=1e-5)
    (left, _), (right, _) = apart.state(), joined.state()
    assert left.keys() == right.keys()
    for name, tensor in left.items():
        assert torch.allclose(tensor.float(), right[name].float(), atol=1e-5), name
    assert [(each.kind, each.tokens, each.position) for each in apart.trace.records] == [
        (each.kind, each.tokens, each.position) for each in joined.trace.records
    ]


def test_reading_ahead_needs_a_chunk_before_the_tokens_that_look(family, model):
    cache = new_cache(model, policy="confkv", **WIDE)
    if family == "gemma3_text":
        with pytest.raises(CacheStateError, match="without sliding layers"), cache.reading_ahead(6):
            pass
        return
    with pytest.raises(CacheStateError, match="6 tokens were to look ahead"), cache.reading_ahead(6):
        model(input_ids=make_prompt("llama", 6).ids, cache=cache)
    model(input_ids=make_prompt("llama", 6).ids, cache=cache)  # nothing is broken
    assert cache.get_seq_length() == 6
    other = new_cache(model, policy="h2o", **WIDE)
    with pytest.raises(CacheStateError, match="needs a policy with a probe"), other.reading_ahead(3):
        pass
