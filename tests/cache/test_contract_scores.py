"""Contracts 4 and 5: scores do not depend on chunks, and the protected survive any score."""

from __future__ import annotations

import pytest
import torch
from helpers import BOUNDED, WIDE, new_cache
from tiny import left_padded, make_model, make_prompt

from confkv_agents.cache import CacheConfig, ConfKVCache, attach
from confkv_agents.cache.mass import fold_mass

# ---------------------------------------------------------------- contract 4: scores do not depend on the chunks


@pytest.mark.parametrize("policy", ["h2o", "confkv"])
def test_scores_do_not_depend_on_the_chunks(policy, model):
    ids = make_prompt("llama", 40).ids
    masses = []
    for chunk in (1, 7, 16, 40):
        cache = new_cache(model, policy=policy, **{**WIDE, "chunk": 16})
        for part in ids.split(chunk, 1):
            model(input_ids=part, cache=cache)
        cache.compact()
        bank = cache._banks[0][0]
        fold_mass(bank)
        table = bank.stores.table
        position, order = table.position[..., : table.regions.full].sort(-1)
        mass = table.mass[..., : table.regions.full].gather(-1, order)
        masses.append(mass[position >= 0].view(-1, 1, 2, 40))
    for mass in masses[1:]:
        assert torch.allclose(mass, masses[0], atol=1e-6)


def test_mass_is_the_column_sum_of_the_attention_weights(stock, family, model):
    ids = make_prompt("llama", 30).ids
    full = ConfKVCache(model.config)._full
    stock.set_attn_implementation("eager")
    weights = torch.stack(stock(input_ids=ids, output_attentions=True).attentions)  # [L, B, Hq, Q, K]
    stock.set_attn_implementation("sdpa")
    expected = weights[full].sum(3).unflatten(2, (2, 4)).mean(3)
    cache = new_cache(model, policy="h2o", budget=256, window=8, chunk=11)
    model(input_ids=ids, cache=cache)
    cache.compact()
    table = cache._banks[0][0].stores.table
    position, order = table.position[..., : table.regions.full].sort(-1)
    mass = table.mass[..., : table.regions.full].gather(-1, order)[position >= 0].view(-1, 1, 2, 30)
    assert torch.allclose(mass, expected, atol=1e-5)


# ---------------------------------------------------------------- contract 5: the protected survive


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("policy", BOUNDED)
def test_window_and_sinks_survive_ties_without_nan(dtype, policy, family):
    model = attach(make_model(family)).to(dtype)
    for parameter in model.parameters():  # equal scores everywhere: every rank is a tie
        parameter.zero_()
    ids, mask = left_padded(torch.full((2, 50), 5), 60)
    mask[0, :10] = 1
    config = CacheConfig(policy=policy, budget=16, window=6, sinks=3, chunk=8, evict_every=4)
    cache = ConfKVCache(model.config, config)
    output = model(input_ids=ids, attention_mask=mask, cache=cache)
    assert torch.isfinite(output.logits).all()
    for step in range(20):
        mask = torch.cat([mask, torch.ones(2, 1, dtype=mask.dtype)], 1)
        output = model(input_ids=ids[:, -1:], attention_mask=mask, cache=cache)
        assert torch.isfinite(output.logits).all()
        cache.observe(output.logits[:, -1])
        table = cache._banks[0][0].stores.table
        position = table.position[..., : table.regions.total]
        for row, first in ((0, 0), (1, 10)):
            kept = [set(heads.tolist()) for layer in position[:, row] for heads in layer]
            must = {first, first + 1, first + 2, *range(60 + step - config.window + 1, 60 + step + 1)}
            assert all(must <= slots for slots in kept)
            assert all(min(slots - {-1}) >= first for slots in kept), "padding is never stored"
