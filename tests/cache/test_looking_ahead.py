"""Looking ahead: what the end of a prompt attends to is kept."""

from __future__ import annotations

import pytest
import torch
from helpers import WIDE, new_cache
from tiny import make_prompt

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
