"""Bringing back to the int8 tier what a recall looked at, so that the next steps find it among the hot tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from confkv_agents.cache.cold import put_codes
from confkv_agents.cache.selection import OWN_PART, first_true, lowest, rank_keys
from confkv_agents.cache.stores import ALL
from confkv_agents.cache.tiers import MASKED
from confkv_agents.cache.transfer import on_device

if TYPE_CHECKING:
    from confkv_agents.cache.bounded import BoundedBank


def promote(bank: BoundedBank) -> None:
    """Copy the cold tokens that drew the most back to the int8 tier; the lowest ranked tokens there make room.

    A token counts with the most that any of the `span` tokens around it drew, and comes back only if that is more than
    what the mean hot token drew. Of a layer's int8 tier no more than half changes at a time. This is one transfer
    from the device, beside the codes' way to it.
    """
    cold, stores, policy = bank.cold, bank.stores, bank.policy
    assert cold is not None
    limit = on_device(bank.int8_limit, bank.device)[:, :, None, None]
    most = min(policy.config.promote, cold.counts[0], int(bank.int8_limit.max()) // 2)
    if most <= 0:
        return
    stores.grow(ALL, bank.full_count, bank.int8_count + most, bank.full_limit, bank.int8_limit)
    table = stores.table
    regions, total = table.regions, table.regions.total
    position = table.position[..., :total]
    live = position >= 0
    weight = torch.stack([cold.drawn[layer] for layer in range(bank.layers)])
    kept = torch.stack([cold.kept[layer] for layer in range(bank.layers)])
    mean = kept / live.sum(-1, keepdim=True).clamp_min(1)
    index, real = _choose(weight, _hidden(bank, weight.shape[-1]), mean, policy.span, most)
    real = real & (torch.arange(most, device=bank.device) < limit // 2)

    carried = {name: figure[..., :total] for name, figure in table.carried.items()}
    keys = rank_keys(policy, position, carried, bank.seen, bank.first_real, bank.segments)
    pool = torch.zeros_like(live)
    pool[..., regions.columns("int8")] = True
    pool = pool & live
    out = lowest(keys, pool, real.sum(-1, keepdim=True) + pool.sum(-1, keepdim=True) - limit)
    table.clear(ALL, out)
    slots, room = first_true(stores.free("int8"), most)
    real = real & room
    if bank.tally is not None:
        bank.tally.swapped(out, real, position, bank.segments)

    drawn = weight.gather(-1, index)
    age = (bank.seen - index).clamp_min(1)
    figures = {"mass": drawn if policy.decay < 1.0 else drawn * age, "probe": drawn}
    table.put(slots + regions.columns("int8").start, real, index, figures)
    host = index.cpu()
    for layer in range(bank.layers):
        store = stores.int8[layer]
        put_codes(store, slots[layer].masked_fill(~real[layer], store.slots - 1), cold.fetch(layer, host[layer]))
    bank.int8_count = (bank.int8_count + most).clip(max=bank.int8_limit)
    bank.last_eviction = max(bank.last_eviction, bank.seen)


def _hidden(bank: BoundedBank, count: int) -> torch.Tensor:
    """Return `[L, B, H, n]` bool, True for mirrored tokens that are hot or padding."""
    assert bank.cold is not None
    table = bank.stores.table
    hot = table.position[..., : table.regions.total]
    return torch.stack([bank.cold.bias(layer, hot[layer], None) for layer in range(bank.layers)]) <= MASKED


def _choose(
    weight: torch.Tensor, hidden: torch.Tensor, least: torch.Tensor, span: int, most: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the positions `[L, B, H, most]` of the tokens that drew the most, best first, and which are meant."""
    flat = weight.reshape(-1, 1, weight.shape[-1])
    pooled = torch.nn.functional.max_pool1d(flat, span, stride=1, padding=span // 2).view_as(weight)
    score = torch.lerp(pooled, weight, OWN_PART).masked_fill(hidden, -1.0)
    best = score.topk(most, -1)
    return best.indices, best.values > least.clamp_min(0.0)
