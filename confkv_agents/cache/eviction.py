"""Eviction: who stays in full precision, who is coded, who is forgotten, for all layers of a bank at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from confkv_agents.cache.budget import Slots
from confkv_agents.cache.calibration import calibrate
from confkv_agents.cache.recall import mirror
from confkv_agents.cache.selection import lowest, rank_keys
from confkv_agents.cache.stores import ALL
from confkv_agents.cache.transfer import on_device

if TYPE_CHECKING:
    from confkv_agents.cache.bounded import BoundedBank


def settle(bank: BoundedBank, part: slice, seen: int, *, spare: int) -> None:
    """Bring the layers `part` within their limits and empty their buffers.

    Args:
        bank: The bank.
        part: Layers of it.
        seen: Tokens fed so far, for ages and the protected window.
        spare: 0 while reading: trim to the limits. Else, while decoding: rows without room for one more token
            are trimmed to `spare` slots below their limit.
    """
    stores = bank.stores
    if bank.cold is not None:
        mirror(bank, part, seen)
    arrived = bank.full_count[part] + bank.arrived
    limits = target, coded = bank.full_limit[part], bank.int8_limit[part]
    if spare:
        due, limits = bank.overdue(part, arrived), bank.tolerated(part)
        target, coded = np.where(due, target - spare, limits[0]), np.where(due, coded, limits[1])
    leaves = max(0, int((arrived - target).max()))
    loses = leaves > 0 or bool((bank.int8_count[part] > coded).any())
    stores.grow(part, arrived, bank.int8_count[part] + leaves, *limits)
    leaving, evicted = _choose(bank, part, seen, target, coded)
    if bank.tally is not None:
        bank.tally.left(evicted, leaving & ~evicted, stores.table.position[part, ..., :-1], bank.segments)
    stores.table.clear(part, evicted)
    if stores.int8 and leaves:
        coding = leaving & ~evicted
        calibrate(bank, part, coding)
        stores.move(part, "full", "int8", coding, min(leaves, int(bank.full_count[part].max())))
        stores.move(part, "buffer", "int8", coding, min(leaves, bank.staged))
    staying = stores.table.position[part][..., : stores.table.regions.total] >= 0
    stores.move(part, "buffer", "full", staying, min(bank.staged, stores.table.regions.full))
    _count(bank, part, arrived, target, coded)
    if not bank.calibrated:  # a row that has coded tokens has its amplitudes
        bank.calibrated = bool((bank.int8_count > 0).all())
    if loses:
        bank.last_eviction = max(bank.last_eviction, seen)
    if part == ALL:
        bank.staged, bank.free = 0, None
        bank.arrived = np.zeros(bank.rows, dtype=np.int64)
        need_full = np.maximum(bank.full_limit, bank.full_count)
        stores.shrink(need_full, np.maximum(bank.int8_limit, bank.int8_count))


def _choose(
    bank: BoundedBank, part: slice, seen: int, target: Slots, coded: Slots
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return who leaves full precision and who leaves altogether, both `[l, B, H, S]` bool.

    Args:
        bank: The bank.
        part: Layers of it.
        seen: Tokens fed so far.
        target: `[l, rows]` slots of full precision to come down to.
        coded: `[l, rows]` slots of int8 to come down to.
    """
    table, regions = bank.stores.table, bank.stores.table.regions
    position = table.position[part, ..., : regions.total]
    carried = {name: figure[part, ..., : regions.total] for name, figure in table.carried.items()}
    keys = rank_keys(bank.policy, position, carried, seen, bank.first_real, bank.segments, bank.decoded)
    live = position >= 0
    inside = torch.zeros_like(live)
    inside[..., regions.columns("int8")] = True
    front, pool = live & ~inside, live & inside
    full_limit = on_device(target, bank.device)[:, :, None, None]
    int8_limit = on_device(coded, bank.device)[:, :, None, None]
    leaving = lowest(keys, front, front.sum(-1, keepdim=True) - full_limit)
    if not bank.stores.int8:
        return leaving, leaving
    pool = pool | leaving
    return leaving, lowest(keys, pool, pool.sum(-1, keepdim=True) - int8_limit)


def _count(bank: BoundedBank, part: slice, arrived: Slots, target: Slots, coded: Slots) -> None:
    """Follow on the host what `settle` did on the device."""
    full, int8 = bank.full_count.copy(), bank.int8_count.copy()
    full[part] = np.minimum(arrived, target)
    int8[part] = np.minimum(int8[part] + arrived - full[part], coded)
    bank.full_count, bank.int8_count = full, int8
