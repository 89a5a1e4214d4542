"""The bank that keeps to a budget: reads into a buffer, keeps the best, codes the next best, forgets the rest."""

from __future__ import annotations

import numpy as np
import torch

from confkv_agents.cache.attention import attend
from confkv_agents.cache.bank import Bank, Heads
from confkv_agents.cache.budget import Slots
from confkv_agents.cache.policies import Policy
from confkv_agents.cache.quantize import pair_amplitude
from confkv_agents.cache.selection import first_true, lowest, rank_keys
from confkv_agents.cache.slots import Regions, SlotTable
from confkv_agents.cache.tiers import (
    BLOCK,
    MASKED,
    DenseStore,
    DenseTier,
    Int8Store,
    Int8Tier,
    Tier,
    blocks_of,
)

ALL = slice(None)
LONGEST_FREE_LIST = 256


class BoundedBank(Bank):
    """Full-precision tier, int8 tier and reading buffer for all layers on one device.

    While a prompt is read, each chunk lies in the buffer until the next one comes; then the best of buffer and
    full tier stay in full precision, the next best go to int8, the rest are forgotten. While decoding, a new token
    takes a free slot, and an eviction frees `policy.slack` slots ahead.

    Row counts kept on the host are upper bounds where rows are padded; every choice is made on the device, per row,
    from exact counts, so that a row alone and the same row in a padded batch choose alike.
    """

    def __init__(self, like: torch.Tensor, layers: int, policy: Policy) -> None:
        super().__init__(like, layers)
        self.policy = policy
        self.full: list[DenseStore] = [DenseStore(like, 0) for _ in range(layers)]
        self.int8: list[Int8Store] = [Int8Store(like, 0) for _ in range(layers)] if policy.int8_share else []
        self.buffer: list[DenseStore] = []
        self.table = SlotTable(layers, self.rows, self.heads, Regions(0, 0, 0), self.device, policy.needs_mass)
        self.first_real: torch.Tensor | None = None
        self.full_limit = self.int8_limit = np.zeros((layers, self.rows), dtype=np.int64)
        self.full_count = np.zeros((layers, self.rows), dtype=np.int64)
        self.int8_count = np.zeros((layers, self.rows), dtype=np.int64)
        self.staged = 0
        self.free: torch.Tensor | None = None
        self.cursor = 0
        self.amplitude_known = torch.zeros(layers, self.rows, 1, 1, dtype=torch.bool, device=self.device)
        self.last_eviction = 0
        self._columns: torch.Tensor | None = None
        self._calibrated = False
        self._folded = True

    # ------------------------------------------------------------------ sizes

    @property
    def int8_cost(self) -> float:
        """Slots of full precision that one int8 token costs, by bytes."""
        return (2 * self.width + 12) / (2 * self.width * self.dtype.itemsize)

    def split(self, slots: Slots) -> tuple[Slots, Slots]:
        """Split budgets into full-precision slots and int8 slots of the same total bytes."""
        if not self.policy.int8_share:
            return slots, np.zeros_like(slots)
        floor = self.policy.floor
        full = floor + np.floor((slots - floor) * (1.0 - self.policy.int8_share)).astype(np.int64)
        return full, np.floor((slots - full) / self.int8_cost).astype(np.int64)

    def stored(self) -> Slots:
        """Full tier and buffer, plus the int8 tier at its cost."""
        return self.full_count + self.staged + np.ceil(self.int8_count * self.int8_cost).astype(np.int64)

    def tensors(self) -> list[torch.Tensor]:
        """Stores of all layers, the slot table and the list of free slots."""
        stores = [*self.full, *self.int8, *self.buffer]
        held = [tensor for store in stores for tensor in store.tensors()] + self.table.tensors()
        held += [self.amplitude_known]
        return held if self.free is None else [*held, self.free]

    # ------------------------------------------------------------------ one forward

    def begin(self, length: int, slots: Slots) -> None:
        """Fold in the last step's mass, follow the budget, and make sure the new tokens have a place."""
        self._fold_mass()
        self.full_limit, self.int8_limit = self.split(slots)
        if length > 1:
            if self.staged:
                self.settle(ALL, self.seen, spare=0)
            self._columns = self.free = None
            return
        over = (self.full_count + 1 > self.full_limit) | (self.int8_count > self.int8_limit)
        if self.staged or self.free is None or self.cursor >= self.free.shape[-1] or over.any():
            self.settle(ALL, self.seen, spare=self.policy.slack)
            self._list_free()
        assert self.free is not None
        self._columns = self.free[..., self.cursor : self.cursor + 1]
        self.cursor += 1
        self.full_count = self.full_count + 1
        self.table.add(self._columns, self.seen)

    def attend(
        self,
        layer: int,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        padding: torch.Tensor | None,
        heads: Heads,
    ) -> torch.Tensor:
        """Store the new tokens of one layer, attend, and note what mass each stored token drew."""
        if padding is not None and self.first_real is None:
            self.first_real = padding.to(self.device).int().argmax(-1)
        if self._columns is not None:
            return self._decode(layer, query, keys, values, padding, heads)
        length, chunk = keys.shape[-2], self.policy.config.chunk
        start = self.seen - length
        outputs = []
        for begin in range(0, length, chunk):
            piece = slice(begin, min(begin + chunk, length))
            if begin:
                self.settle(slice(layer, layer + 1), start + begin, spare=0)
            outputs.append(
                self._read(
                    layer,
                    query[:, :, piece],
                    keys[:, :, piece],
                    values[:, :, piece],
                    padding,
                    heads,
                    start + begin,
                )
            )
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs, 2)

    def _decode(
        self,
        layer: int,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        padding: torch.Tensor | None,
        heads: Heads,
    ) -> torch.Tensor:
        assert self._columns is not None
        weight = None
        if padding is not None:
            real = padding[:, self.seen - 1].to(self.device)
            weight = real.float()[:, None]
            if layer == 0:
                self.table.hide(self._columns, real)
        elif self.policy.needs_mass:
            weight = torch.ones(self.rows, 1, device=self.device)
        self.full[layer].write(self._columns[layer], keys, values)
        tiers = self._tiers(layer)
        result = attend(
            query,
            tiers,
            scaling=heads.scaling,
            groups=heads.groups,
            softcap=heads.softcap,
            query_weight=weight if self.policy.needs_mass else None,
        )
        if self.table.step_mass is not None:
            for region, mass in zip(("full", "int8"), result.mass, strict=False):
                start = self.table.regions.columns(region).start
                self.table.step_mass[layer, ..., start : start + mass.shape[-1]] = mass
            self._folded = False
        return result.output

    def _read(
        self,
        layer: int,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        padding: torch.Tensor | None,
        heads: Heads,
        start: int,
    ) -> torch.Tensor:
        stop = start + keys.shape[-2]
        real = None if padding is None else padding[:, start:stop].to(self.device)
        weight = self._query_weights(stop - start, real) if self.policy.needs_mass else None
        tiers = [*self._tiers(layer), DenseTier(keys, values, None)]
        result = attend(
            query,
            tiers,
            scaling=heads.scaling,
            groups=heads.groups,
            softcap=heads.softcap,
            own_bias=self.own_bias(start, stop, padding),
            query_weight=weight,
        )
        self._stage(layer, keys, values, real, start)
        mass = self.table.mass
        if mass is not None:
            count = torch.full((self.rows,), stop - start) if real is None else real.sum(-1)
            fade = torch.pow(self.policy.decay, count.to(self.device)).view(-1, 1, 1).float()
            mass[layer].mul_(fade)
            regions = ("full", "int8", "buffer") if self.int8 else ("full", "buffer")
            for region, drawn in zip(regions, result.mass, strict=True):
                begin = self.table.regions.columns(region).start
                mass[layer, ..., begin : begin + drawn.shape[-1]] += drawn
        return result.output

    def _tiers(self, layer: int) -> list[Tier]:
        full, columns = self.full[layer], self.table.regions.columns("full").start
        bias = self.table.bias[layer, ..., columns : columns + full.slots]
        tiers: list[Tier] = [DenseTier(full.keys[:, :, : full.slots], full.values[:, :, : full.slots], bias)]
        if self.int8:
            store, columns = self.int8[layer], self.table.regions.columns("int8").start
            tiers.append(Int8Tier(store, store.slots, self.table.bias[layer, ..., columns : columns + store.slots]))
        return tiers

    # ------------------------------------------------------------------ mass

    def _query_weights(self, length: int, real: torch.Tensor | None) -> torch.Tensor:
        """Return `[B, Q]` weights that make a chunk equal to its queries coming one by one."""
        policy = self.policy
        if real is None:
            after = torch.arange(length - 1, -1, -1, device=self.device).expand(self.rows, -1).float()
        else:
            after = (real.sum(-1, keepdim=True) - real.cumsum(-1)).float()
        weight = torch.pow(policy.decay, after)
        if policy.normalized_mass and policy.decay < 1.0:
            weight = weight * (1.0 - policy.decay)
        return weight if real is None else weight * real

    def _fold_mass(self) -> None:
        """Add the last decoding step's mass for all layers at once."""
        table, policy = self.table, self.policy
        if self._folded or table.mass is None or table.step_mass is None:
            return
        weight = 1.0 - policy.decay if policy.normalized_mass and policy.decay < 1.0 else 1.0
        drawn = table.step_mass
        if policy.decay < 1.0:
            # A padded row drew no mass: its step does not fade what it has either.
            if self.first_real is not None:
                active = (drawn.sum(-1, keepdim=True) > 0).float()
                table.mass.mul_(1.0 - active * (1.0 - policy.decay))
            else:
                table.mass.mul_(policy.decay)
        table.mass.add_(drawn, alpha=weight)
        self._folded = True

    # ------------------------------------------------------------------ reading buffer

    def _stage(
        self, layer: int, keys: torch.Tensor, values: torch.Tensor, real: torch.Tensor | None, start: int
    ) -> None:
        """Put a chunk's tokens into the buffer of one layer."""
        length = keys.shape[-2]
        if not self.buffer or self.buffer[0].slots < length:
            self._resize(buffer=blocks_of(length))
        store, table = self.buffer[layer], self.table
        store.keys[:, :, :length], store.values[:, :, :length] = keys, values
        columns = table.regions.columns("buffer")
        span = slice(columns.start, columns.start + length)
        position = torch.arange(start, start + length, dtype=torch.int32, device=self.device).view(1, 1, -1)
        table.position[layer, ..., span] = position
        table.bias[layer, ..., span] = 0.0
        if real is not None:
            padding = ~real[:, None, :]
            table.position[layer, ..., span].masked_fill_(padding, -1)
            table.bias[layer, ..., span].masked_fill_(padding, MASKED)
        self.staged = length

    def release_buffers(self) -> None:
        """Settle what lies in the reading buffer and give its memory back."""
        if self.staged:
            self._fold_mass()
            self.settle(ALL, self.seen, spare=0)
        if self.buffer:
            self._resize(buffer=0)

    # ------------------------------------------------------------------ eviction

    def settle(self, part: slice, seen: int, *, spare: int) -> None:
        """Bring the layers `part` within their limits and empty their buffers.

        Args:
            part: Layers of this bank.
            seen: Tokens fed so far, for ages and the protected window.
            spare: 0 while reading: trim to the limits. Else, while decoding: rows without room for one more token
                are trimmed to `spare` slots below their limit.
        """
        front_bound = self.full_count[part] + self.staged
        leaves = max(0, int((front_bound - self.full_limit[part]).max()) + spare)
        self._grow(part, front_bound, leaves)
        table, regions = self.table, self.table.regions
        full_limit, int8_limit = self._limits(part)
        position = table.position[part, ..., : regions.total]
        mass = None if table.mass is None else table.mass[part, ..., : regions.total]
        keys = rank_keys(self.policy, position, mass, seen, self.first_real)
        live = position >= 0
        coded = torch.zeros_like(live)
        coded[..., regions.columns("int8")] = True
        in_front, in_pool = live & ~coded, live & coded
        front, pool = in_front.sum(-1, keepdim=True), in_pool.sum(-1, keepdim=True)
        if spare:
            due = (front + 1 > full_limit) | (pool > int8_limit)
            full_limit = torch.where(due, full_limit - spare, full_limit)
        leaving = lowest(keys, in_front, front - full_limit)
        in_pool = in_pool | leaving
        pool = in_pool.sum(-1, keepdim=True)
        evicted = lowest(keys, in_pool, pool - int8_limit) if self.int8 else leaving
        coding = leaving & ~evicted
        table.clear(part, evicted)
        if self.int8 and leaves:
            self._calibrate(part, seen, coding)
            self._move(part, "full", "int8", coding, min(leaves, int(self.full_count[part].max())))
            self._move(part, "buffer", "int8", coding, min(leaves, self.staged))
        staying = torch.zeros_like(coding)
        staying[..., regions.columns("buffer")] = table.position[part][..., regions.columns("buffer")] >= 0
        self._move(part, "buffer", "full", staying, min(self.staged, regions.full))
        self._count(part, front_bound, spare)
        if leaves:
            self.last_eviction = max(self.last_eviction, seen)
        if part == ALL:
            self.staged, self.free = 0, None
            self._shrink()

    def _limits(self, part: slice) -> tuple[torch.Tensor, torch.Tensor]:
        full = torch.as_tensor(self.full_limit[part], device=self.device)[:, :, None, None]
        return full, torch.as_tensor(self.int8_limit[part], device=self.device)[:, :, None, None]

    def _count(self, part: slice, front_bound: Slots, spare: int) -> None:
        """Follow on the host what `settle` did on the device; with padding the host has to ask."""
        self.full_count, self.int8_count = self.full_count.copy(), self.int8_count.copy()
        if self.first_real is not None:
            self.full_count[part], self.int8_count[part] = (
                self._exact("full", part),
                self._exact("int8", part),
            )
            return
        full_limit, int8_limit = self.full_limit[part], self.int8_limit[part]
        if spare:
            due = (front_bound + 1 > full_limit) | (self.int8_count[part] > int8_limit)
            full_limit = np.where(due, full_limit - spare, full_limit)
        leaves = np.maximum(front_bound - full_limit, 0)
        self.full_count[part] = front_bound - leaves
        self.int8_count[part] = np.minimum(self.int8_count[part] + leaves, int8_limit)

    def _exact(self, region: str, part: slice) -> Slots:
        """Return the slots in use, `[l, rows]`, from the device."""
        live = self.table.position[part][..., self.table.regions.columns(region)] >= 0
        counts: Slots = live.sum(-1).amax(-1).cpu().numpy()
        return counts

    def _move(self, part: slice, source: str, target: str, chosen: torch.Tensor, most: int) -> None:
        """Move the chosen slots of one region to free slots of another, at most `most` per row."""
        if most <= 0:
            return
        table, regions = self.table, self.table.regions
        span, room = regions.columns(source), regions.columns(target)
        here, real = first_true(chosen[..., span], most)
        free = table.position[part][..., room] < 0
        stores = {"full": self.full, "int8": self.int8, "buffer": self.buffer}
        caps = torch.tensor([store.slots for store in stores[target][part]], device=self.device)
        free &= torch.arange(free.shape[-1], device=self.device) < caps.view(-1, 1, 1, 1)
        there, _ = first_true(free, most)
        gone = torch.zeros_like(chosen)
        gone[..., span] = chosen[..., span]
        table.move(part, here + span.start, there + room.start, real, gone)
        spilled = torch.where(real, there, caps.view(-1, 1, 1, 1))
        for index, (origin, store) in enumerate(zip(stores[source][part], stores[target][part], strict=True)):
            assert isinstance(origin, DenseStore)
            store.write(spilled[index], *origin.read(here[index]))

    def _calibrate(self, part: slice, seen: int, coding: torch.Tensor) -> None:
        """Set the int8 keys' channel amplitudes of rows that code tokens for the first time."""
        if self._calibrated:
            return
        first = coding.any(-1, keepdim=True).any(-2, keepdim=True) & ~self.amplitude_known[part]
        sinks = 0 if self.first_real is None else self.first_real.view(-1, 1, 1)
        regions = self.table.regions
        for index in range(self.layers)[part]:
            position = self.table.position[index, ..., : regions.total]
            counts = (position >= 0) & (position - sinks >= self.policy.config.sinks)
            largest = None
            for store, region in ((self.full, "full"), (self.buffer, "buffer")):
                columns = regions.columns(region)
                if store and columns.start < columns.stop:
                    slots = store[index].slots
                    weight = counts[..., columns.start : columns.start + slots]
                    found = pair_amplitude(store[index].keys[:, :, :slots], weight)
                    largest = found if largest is None else torch.maximum(largest, found)
            assert largest is not None
            old = self.int8[index].amplitude
            old.copy_(torch.where(first[index - (part.start or 0)], largest, old))
        self.amplitude_known[part] |= first
        if self.first_real is None and part == ALL:
            self._calibrated = True

    # ------------------------------------------------------------------ stores that follow the budget

    def _list_free(self) -> None:
        """List the free full-precision slots that the next decoding steps will take."""
        caps = np.array([store.slots for store in self.full])
        room = int((np.minimum(self.full_limit, caps[:, None]) - self.full_count).min())
        regions = self.table.regions
        free = self.table.position[..., regions.columns("full")] < 0
        cap = torch.as_tensor(caps, device=self.device).view(-1, 1, 1, 1)
        free &= torch.arange(free.shape[-1], device=self.device) < cap
        self.free, _ = first_true(free, min(room, LONGEST_FREE_LIST))
        self.cursor = 0

    def _grow(self, part: slice, front_bound: Slots, leaves: int) -> None:
        """Give the layers `part` whole blocks for what they are about to hold, within their limits."""
        full = [store.slots for store in self.full]
        int8 = [store.slots for store in self.int8]
        most_full, most_int8 = self.full_limit.max(1), self.int8_limit.max(1)
        for index, layer in enumerate(range(self.layers)[part]):
            need = min(int(front_bound[index].max()) + BLOCK, int(most_full[layer]))
            if need > full[layer]:
                full[layer] = blocks_of(min(max(need, full[layer] * 5 // 4), int(most_full[layer])))
            if int8:
                need = min(int(self.int8_count[layer].max()) + leaves, int(most_int8[layer]))
                if need > int8[layer]:
                    int8[layer] = blocks_of(min(max(need, int8[layer] * 5 // 4), int(most_int8[layer])))
        self._resize(full=full, int8=int8)

    def _shrink(self) -> None:
        """Give back blocks that a smaller budget no longer needs, two or more at a time."""
        full = [store.slots for store in self.full]
        int8 = [store.slots for store in self.int8]
        for sizes, limits, counts in (
            (full, self.full_limit, self.full_count),
            (int8, self.int8_limit, self.int8_count),
        ):
            for layer, slots in enumerate(sizes):
                need = blocks_of(int(np.maximum(limits[layer], counts[layer]).max()))
                if slots - need >= 2 * BLOCK:
                    sizes[layer] = need
        self._resize(full=full, int8=int8)

    def _resize(
        self,
        *,
        full: list[int] | None = None,
        int8: list[int] | None = None,
        buffer: int | None = None,
    ) -> None:
        """Give stores other sizes; where one shrinks, what is live moves to the front of its region first."""
        old = self.table.regions
        sizes = {"full": full, "int8": int8}
        stores: dict[str, list[DenseStore] | list[Int8Store]] = {"full": self.full, "int8": self.int8}
        changed = {
            name: wanted
            for name, wanted in sizes.items()
            if wanted and wanted != [store.slots for store in stores[name]]
        }
        if not changed and buffer is None:
            return
        regions = Regions(
            max(changed.get("full", [old.full])),
            max(changed.get("int8", [old.int8])),
            old.buffer if buffer is None else buffer,
        )
        kept = {}
        for name in ("full", "int8"):
            columns = old.columns(name)
            width = min(getattr(old, name), getattr(regions, name))
            shrinks = any(new < store.slots for new, store in zip(changed.get(name, []), stores[name], strict=False))
            if shrinks:
                order, real = first_true(self.table.position[..., columns] >= 0, width)
            else:
                order = torch.arange(width, device=self.device).expand(self.layers, self.rows, self.heads, -1)
                real = torch.ones_like(order, dtype=torch.bool)
            kept[name] = (order + columns.start, real)
            for layer, slots in enumerate(changed.get(name, [])):
                store = stores[name][layer]
                if shrinks or slots != store.slots:
                    stores[name][layer] = store.resized(slots, order[layer, ..., : min(slots, store.slots)])  # type: ignore[assignment]
        if buffer is None and self.staged:
            columns = old.columns("buffer")
            order = torch.arange(columns.start, columns.stop, device=self.device)
            order = order.expand(self.layers, self.rows, self.heads, -1)
            kept["buffer"] = (order, torch.ones_like(order, dtype=torch.bool))
        self.table = self.table.resized(regions, kept)
        if buffer is not None:
            like = self.full[0].keys
            self.buffer = [DenseStore(like, buffer) for _ in range(self.layers)] if buffer else []

    # ------------------------------------------------------------------ rows and rollback

    def can_crop_to(self, length: int) -> bool:
        """While nothing left the full tier after `length` tokens had been fed."""
        return self.last_eviction <= length <= self.seen

    def crop_to(self, length: int) -> None:
        """Empty the slots of later tokens; the mass they gave to earlier ones stays."""
        self._fold_mass()
        total = self.table.regions.total
        self.table.clear(ALL, self.table.position[..., :total] >= length)
        self.seen, self.free = length, None
        self.full_count, self.int8_count = self._exact("full", ALL), self._exact("int8", ALL)

    def select_rows(self, rows: torch.Tensor) -> None:
        """Keep the rows given, in that order."""
        self._fold_mass()
        for store in (*self.full, *self.int8, *self.buffer):
            store.select_rows(rows)
        self.table.select_rows(rows)
        here = rows.to(self.device)
        self.amplitude_known = self.amplitude_known.index_select(1, here)
        self.free = None if self.free is None else self.free.index_select(1, here)
        self.first_real = None if self.first_real is None else self.first_real.index_select(0, here)
        chosen = rows.tolist()
        for name in ("full_limit", "int8_limit", "full_count", "int8_count"):
            setattr(self, name, getattr(self, name)[:, chosen])
        self.rows = len(chosen)

    def truncate(self, layers: int) -> None:
        """Give up the layers from `layers` on."""
        self.full, self.int8, self.buffer = self.full[:layers], self.int8[:layers], self.buffer[:layers]
        self.table.truncate(layers)
        for name in ("full_limit", "int8_limit", "full_count", "int8_count", "amplitude_known"):
            setattr(self, name, getattr(self, name)[:layers])
        self.free = None if self.free is None else self.free[:layers]
        self.layers = layers
