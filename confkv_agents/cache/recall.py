"""Recall: mirroring what is fed, letting queries look at it, and bringing back what they used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from confkv_agents.cache.calibration import calibrate
from confkv_agents.cache.cold import put_codes
from confkv_agents.cache.selection import first_true, lowest, rank_keys
from confkv_agents.cache.stores import ALL
from confkv_agents.cache.tiers import MASKED, Tier
from confkv_agents.cache.transfer import on_device

if TYPE_CHECKING:
    from confkv_agents.cache.bounded import BoundedBank


def with_cold(bank: BoundedBank, layer: int, tiers: list[Tier]) -> list[Tier]:
    """Return a layer's tiers, and its cold tier after them while that is open."""
    if not bank.recalling or bank.cold is None:
        return tiers
    if bank.tally is not None:
        bank.tally.recalled = True
    table = bank.stores.table
    hot = table.position[layer, ..., : table.regions.total]
    rows = None if all(bank.recalling) else on_device(bank.recalling, bank.device)
    bias = bank.cold.bias(layer, hot, rows)
    return [*tiers, bank.cold.tier(layer, bank.stores.int8[layer].amplitude, bias)]


def note_drawn(bank: BoundedBank, layer: int, mass: Sequence[torch.Tensor], share: float | torch.Tensor) -> None:
    """Keep what the cold tier drew, the last of `mass`, as weight per query; `share` is all queries' weight."""
    if bank.recalling and bank.cold is not None:
        bank.cold.drawn[layer] = mass[-1] / share
        bank.cold.kept[layer] = torch.stack([hot.sum(-1, keepdim=True) for hot in mass[:-1]]).sum(0) / share


def mirror(bank: BoundedBank, part: slice, seen: int) -> None:
    """Code the tokens that came since the last time into the cold tier; they are all hot still."""
    cold, table = bank.cold, bank.stores.table
    assert cold is not None
    missing = {layer: seen - cold.counts[layer] for layer in range(bank.layers)[part]}
    if max(missing.values()) <= 0:
        return
    calibrate(bank, part, table.position[part, ..., : table.regions.total] >= 0)
    for layer, count in missing.items():
        if bank.staged:  # the buffer begins with the first of them
            columns = table.regions.columns("buffer")
            buffer = bank.stores.buffer[layer]
            keys, values = buffer.keys[:, :, :count], buffer.values[:, :, :count]
            real = table.position[layer, :, 0, columns.start : columns.start + count] >= 0
        else:
            position = table.position[layer, ..., table.regions.columns("full")]
            first = cold.counts[layer]
            place = torch.where(position >= first, position - first, count).long()
            number = torch.arange(position.shape[-1], device=bank.device).expand_as(place)
            slots = torch.zeros(*place.shape[:2], count + 1, dtype=torch.int64, device=bank.device)
            slots.scatter_(-1, place, number)
            found = torch.zeros(bank.rows, count + 1, dtype=torch.bool, device=bank.device)
            real = found.scatter_(-1, place[:, 0], True)[:, :count]
            keys, values = bank.stores.full[layer].read(slots[..., :count])
        cold.append(layer, keys, values, bank.stores.int8[layer].amplitude, real)


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
    keys = rank_keys(policy, position, carried, bank.seen, bank.first_real, bank.segments, bank.decoded)
    pool = torch.zeros_like(live)
    pool[..., regions.columns("int8")] = True
    pool = pool & live
    out = lowest(keys, pool, real.sum(-1, keepdim=True) + pool.sum(-1, keepdim=True) - limit)
    if bank.tally is not None:
        bank.tally.left(out, torch.zeros_like(out), position, bank.segments)
    table.clear(ALL, out)
    slots, room = first_true(stores.free("int8"), most)
    real = real & room
    if bank.tally is not None:
        bank.tally.promoted += int(real.sum())

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
    score = torch.lerp(pooled, weight, 1e-3).masked_fill(hidden, -1.0)
    best = score.topk(most, -1)
    return best.indices, best.values > least.clamp_min(0.0)
