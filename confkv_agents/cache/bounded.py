"""The bank that keeps to a budget: reads into a buffer, keeps the best, codes the next best, forgets the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from confkv_agents.cache.attention import attend
from confkv_agents.cache.bank import Bank, Heads
from confkv_agents.cache.budget import Slots
from confkv_agents.cache.cold import Cold
from confkv_agents.cache.eviction import settle
from confkv_agents.cache.mass import fold_mass, query_weights, step_share
from confkv_agents.cache.policies import Policy
from confkv_agents.cache.recall import mirror, note_drawn, promote, with_cold
from confkv_agents.cache.segments import Segments
from confkv_agents.cache.selection import first_true
from confkv_agents.cache.stores import ALL, Stores
from confkv_agents.cache.tiers import MASKED, DenseTier, blocks_of

if TYPE_CHECKING:
    from confkv_agents.cache.tracing import Tally

LONGEST_FREE_LIST = 256


class BoundedBank(Bank):
    """Full-precision tier, int8 tier and reading buffer for all layers on one device.

    While a prompt is read, each chunk lies in the buffer until the next one comes; then the best of buffer and
    full tier stay in full precision, the next best go to int8, the rest are forgotten. While decoding, a new token
    takes a free slot, and an eviction frees `policy.slack` slots ahead.

    Which tokens stay is decided on the device, per row and from exact counts, so that a row alone and the same row in
    a padded batch choose alike. Counts on the host say when to look, so that a decoding step needs no answer from the
    device: padding is counted while a prompt is read, and a token masked out later only makes them upper bounds.
    """

    def __init__(self, like: torch.Tensor, layers: int, policy: Policy, segments: Segments | None = None) -> None:
        super().__init__(like, layers)
        self.policy, self.segments = policy, segments
        carried = [name for name, used in (("mass", policy.needs_mass), ("probe", policy.probe > 0)) if used]
        self.stores = Stores(like, layers, with_int8=policy.int8_share > 0, carried=carried)
        self.cold = Cold(like, layers) if policy.recall != "off" else None
        self.recalling: list[bool] = []
        self.tally: Tally | None = None
        self.first_real: torch.Tensor | None = None
        none = np.zeros((layers, self.rows), dtype=np.int64)
        self.full_limit, self.int8_limit = none, none
        self.full_most, self.int8_most = none, none
        self.full_count, self.int8_count = none.copy(), none.copy()
        self.staged = 0
        self.arrived: Slots = np.zeros(self.rows, dtype=np.int64)
        self._real_counts: dict[int, Slots] = {}
        self.free: torch.Tensor | None = None
        self.cursor = 0
        self.amplitude_known = torch.zeros(layers, self.rows, 1, 1, dtype=torch.bool, device=self.device)
        self.last_eviction = self.decoded = 0
        self._columns: torch.Tensor | None = None
        self.calibrated = self.policy.int8_share == 0
        self.folded = True
        self.one_query: torch.Tensor | None = None

    # ------------------------------------------------------------------ sizes

    @property
    def int8_cost(self) -> float:
        """Slots of full precision that one int8 token costs, by bytes."""
        return (2 * self.width + 12) / (2 * self.width * self.dtype.itemsize)

    def split(self, slots: Slots) -> tuple[Slots, Slots]:
        """Split budgets into full-precision slots and int8 slots of the same total bytes."""
        if not self.stores.int8:
            return slots, np.zeros_like(slots)
        floor = self.policy.floor
        full = floor + np.floor((slots - floor) * (1.0 - self.policy.int8_share)).astype(np.int64)
        return full, np.floor((slots - full) / self.int8_cost).astype(np.int64)

    def stored(self) -> Slots:
        """Full tier and buffer, plus the int8 tier at its cost."""
        return self.full_count + self.arrived + np.ceil(self.int8_count * self.int8_cost).astype(np.int64)

    def tensors(self) -> list[torch.Tensor]:
        """Stores of all layers, the slot table and the list of free slots."""
        others = (self.amplitude_known, self.free, self.one_query, self.cold.real if self.cold else None)
        return self.stores.tensors() + [tensor for tensor in others if tensor is not None]

    def cold_tensors(self) -> list[torch.Tensor]:
        """The cold tier's codes."""
        return self.cold.tensors() if self.cold is not None else []

    # ------------------------------------------------------------------ one forward

    def begin(self, length: int, slots: Slots) -> None:
        """Fold in the last step's mass, follow the budget, and make sure the new tokens have a place."""
        fold_mass(self)
        self.full_limit, self.int8_limit = self.split(slots)
        self.full_most = np.maximum(self.full_most, self.full_limit)
        self.int8_most = np.maximum(self.int8_most, self.int8_limit)
        if length > 1:
            if self.staged:
                self.settle(ALL, self.seen, spare=0)
            elif self.cold is not None:
                mirror(self, ALL, self.seen)
            self._columns = self.free = None
            return
        late = self.overdue(ALL, self.full_count).any()
        if self.staged or self.free is None or self.cursor >= self.free.shape[-1] or late:
            self.settle(ALL, self.seen, spare=self.policy.slack)
            self._list_free()
        assert self.free is not None
        self._columns = self.free[..., self.cursor : self.cursor + 1]
        self.cursor += 1
        self.decoded += 1
        self.full_count = self.full_count + 1
        self.stores.table.add(self._columns, self.seen)

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
        first = self.seen - length
        outputs = []
        for begin in range(0, length, chunk):
            piece = slice(begin, begin + chunk)
            if begin:
                self.settle(slice(layer, layer + 1), first + begin, spare=0)
            parts = (query[:, :, piece], keys[:, :, piece], values[:, :, piece])
            outputs.append(self._read(layer, *parts, padding, heads, first + begin))
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
        table, columns = self.stores.table, self._columns
        assert columns is not None
        if padding is not None and layer == 0:
            table.hide(columns, padding[:, -1].to(self.device))
        weight = query_weights(self, 1, None if padding is None else padding[:, -1:].to(self.device))
        self.stores.full[layer].write(columns[layer], keys, values)
        result = attend(query, with_cold(self, layer, self.stores.tiers(layer)), heads, query_weight=weight)
        note_drawn(self, layer, result.mass, 1.0 if weight is None else step_share(self))
        if table.step_mass is not None:
            for region, mass in zip(("full", "int8"), result.mass, strict=False):
                start = table.regions.columns(region).start
                table.step_mass[layer, ..., start : start + mass.shape[-1]] = mass
            self.folded = False
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
        tiers = [*with_cold(self, layer, self.stores.tiers(layer)), DenseTier(keys, values, None)]
        bias = self.own_bias(start, stop, padding)
        weight = query_weights(self, stop - start, real)
        result = attend(query, tiers, heads, own_bias=bias, query_weight=weight)
        drawn = list(result.mass)
        if self.recalling and weight is not None:
            note_drawn(self, layer, drawn[:-1], weight.sum(-1).clamp_min(1e-6)[:, None, None])
            del drawn[-2]
        self._stage(layer, keys, values, real, start)
        table = self.stores.table
        if table.mass is not None:
            if real is None:
                table.mass[layer].mul_(self.policy.decay ** (stop - start))
            else:
                table.mass[layer].mul_(torch.pow(self.policy.decay, real.sum(-1)).view(-1, 1, 1))
            regions = ("full", "int8", "buffer") if self.stores.int8 else ("full", "buffer")
            for region, each in zip(regions, drawn, strict=True):
                begin = table.regions.columns(region).start
                table.mass[layer, ..., begin : begin + each.shape[-1]] += each
        return result.output

    def _stage(
        self, layer: int, keys: torch.Tensor, values: torch.Tensor, real: torch.Tensor | None, start: int
    ) -> None:
        """Put a chunk's tokens into the reading buffer of one layer."""
        length, stores = keys.shape[-2], self.stores
        if not stores.buffer or stores.buffer[0].slots < length:
            stores.resize(stores.caps("full"), stores.caps("int8"), blocks_of(length))
        store, table = stores.buffer[layer], stores.table
        store.keys[:, :, :length].copy_(keys)
        store.values[:, :, :length].copy_(values)
        begin = table.regions.columns("buffer").start
        span = slice(begin, begin + length)
        position = torch.arange(start, start + length, dtype=torch.int32, device=self.device)
        table.position[layer, ..., span] = position
        table.bias[layer, ..., span] = 0.0
        if real is not None:
            table.position[layer, ..., span].masked_fill_(~real[:, None, :], -1)
            table.bias[layer, ..., span].masked_fill_(~real[:, None, :], MASKED)
        self.staged, self.arrived = length, self._count_real(real, start, length)

    def _count_real(self, real: torch.Tensor | None, start: int, length: int) -> Slots:
        """Return how many tokens of a chunk are no padding, by row; asked once per chunk, while reading only."""
        if real is None:
            return np.full(self.rows, length, dtype=np.int64)
        if start not in self._real_counts:
            self._real_counts[start] = np.array(real.sum(-1).tolist(), dtype=np.int64)
        return self._real_counts[start]

    def look(
        self, layer: int, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, heads: Heads
    ) -> torch.Tensor:
        """Attend as if the tokens followed what is stored, note the mass they give it, and store nothing."""
        stores, table = self.stores, self.stores.table
        tiers, regions = stores.tiers(layer), ["full", "int8"] if stores.int8 else ["full"]
        if self.staged:
            tiers, regions = [*tiers, stores.buffer_tier(layer)], [*regions, "buffer"]
        length = keys.shape[-2]
        if -length not in self.weights:
            self.weights[-length] = torch.full((self.rows, length), 1.0 / length, device=self.device)
        weight = self.weights[-length]
        bias = self.own_bias(self.seen, self.seen + length, None)
        tiers = [*with_cold(self, layer, tiers), DenseTier(keys, values, None)]
        result = attend(query, tiers, heads, own_bias=bias, query_weight=weight)
        note_drawn(self, layer, result.mass[:-1], 1.0)
        if table.probe is not None:
            self.decoded = 0
            for region, drawn in zip(regions, result.mass, strict=False):
                start = table.regions.columns(region).start
                table.probe[layer, ..., start : start + drawn.shape[-1]] = drawn
        return result.output

    def release_buffers(self) -> None:
        """Settle what lies in the reading buffer and give its memory back."""
        fold_mass(self)
        if self.staged:
            self.settle(ALL, self.seen, spare=0)
        if self.stores.buffer:
            self.stores.resize(self.stores.caps("full"), self.stores.caps("int8"), 0)

    # ------------------------------------------------------------------ cold tier

    @property
    def mirrored(self) -> int:
        """Tokens that a recall can reach, the hot ones included."""
        return min(self.cold.counts) if self.cold is not None else 0

    def open_cold(self, rows: Sequence[bool]) -> bool:
        """Let the rows marked attend to the cold tier in the next forward or look, and bring back what they use."""
        self.recalling = list(rows) if self.mirrored and any(rows) else []
        return bool(self.recalling)

    def end(self) -> None:
        """Bring back to the hot tiers what a recall looked at, and close the cold tier."""
        super().end()
        self._real_counts.clear()
        if self.recalling and self.cold is not None and len(self.cold.drawn) == self.layers:
            promote(self)
        self.recalling = []
        if self.cold is not None:
            self.cold.drawn.clear()
            self.cold.kept.clear()

    # ------------------------------------------------------------------ eviction

    def settle(self, part: slice, seen: int, *, spare: int) -> None:
        """Bring layers within their limits and empty their buffers; see `eviction.settle`."""
        settle(self, part, seen, spare=spare)

    def tolerated(self, part: slice = ALL) -> tuple[Slots, Slots]:
        """Return the slots of full precision and int8, `[l, rows]`, above which an eviction is due while decoding.

        A budget that shrinks is followed `policy.slack` slots at a time, never beyond the largest budget so far: with
        an eviction for each slot that it loses, ranking would cost more than the slots are worth.
        """
        full = np.minimum(self.full_limit[part] + self.policy.slack, self.full_most[part])
        return full, np.minimum(self.int8_limit[part] + self.policy.slack, self.int8_most[part])

    def overdue(self, part: slice, stored: Slots) -> npt.NDArray[np.bool_]:
        """Return which layers and rows, `[l, rows]`, have no room for one more token beside `stored`."""
        full, int8 = self.tolerated(part)
        return (stored + 1 > full) | (self.int8_count[part] > int8)

    def _list_free(self) -> None:
        """List the free full-precision slots that the next decoding steps will take."""
        caps = np.array(self.stores.caps("full"))[:, None] - 1
        room = int((np.minimum(self.tolerated()[0], caps) - self.full_count).min())
        self.free, _ = first_true(self.stores.free("full"), min(room, LONGEST_FREE_LIST))
        self.cursor = 0

    # ------------------------------------------------------------------ rows and rollback

    def can_crop_to(self, length: int) -> bool:
        """While nothing left the full tier after `length` tokens had been fed."""
        return self.last_eviction <= length <= self.seen

    def crop_to(self, length: int) -> None:
        """Empty the slots of later tokens; the mass they gave to earlier ones stays."""
        fold_mass(self)
        if self.cold is not None:
            mirror(self, ALL, self.seen)
            self.cold.crop_to(length)
        table = self.stores.table
        table.clear(ALL, table.position[..., : table.regions.total] >= length)
        self.seen, self.free = length, None
        self.full_count, self.int8_count = self.stores.live("full"), self.stores.live("int8")

    def retract(self) -> None:
        """Forget the last token and the mass it gave."""
        if self._columns is None:
            super().retract()
            return
        self.folded = True
        self.stores.table.take_back(self._columns)
        self.cursor -= 1
        self.decoded -= 1
        self.full_count = self.full_count - 1
        self.seen -= 1

    def select_rows(self, rows: torch.Tensor) -> None:
        """Keep the rows given, in that order."""
        fold_mass(self)
        if self.cold is not None:
            self.cold.select_rows(rows)
        self.stores.select_rows(rows)
        here = rows.to(self.device)
        self.amplitude_known = self.amplitude_known.index_select(1, here)
        self.free = None if self.free is None else self.free.index_select(1, here)
        self.first_real = None if self.first_real is None else self.first_real.index_select(0, here)
        chosen = rows.tolist()
        for name in self._ARRAYS:
            setattr(self, name, getattr(self, name)[:, chosen])
        self.arrived = self.arrived[chosen]
        self.rows = len(chosen)

    def truncate(self, layers: int) -> None:
        """Give up the layers from `layers` on."""
        self.stores.truncate(layers)
        for name in (*self._ARRAYS, "amplitude_known"):
            setattr(self, name, getattr(self, name)[:layers])
        self.free = None if self.free is None else self.free[:layers]
        self._columns = None if self._columns is None else self._columns[:layers]
        if self.cold is not None:
            self.cold.truncate(layers)
        self.layers = layers

    # ------------------------------------------------------------------ to and from a file

    _ARRAYS = ("full_limit", "int8_limit", "full_most", "int8_most", "full_count", "int8_count")
    _VALUES = ("seen", "last_eviction", "decoded", "cursor", "calibrated")

    def state(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        """Everything but the reading buffer, which must be empty."""
        fold_mass(self)
        tensors = {**self.stores.state(), "amplitude_known": self.amplitude_known}
        if self.cold is not None:
            mirror(self, ALL, self.seen)
            tensors |= self.cold.state()
        for name in ("free", "first_real"):
            if getattr(self, name) is not None:
                tensors[name] = getattr(self, name)
        values = {name: getattr(self, name) for name in self._VALUES}
        return tensors, values | {name: getattr(self, name).tolist() for name in self._ARRAYS}

    def restore(self, tensors: Mapping[str, torch.Tensor], values: Mapping[str, Any]) -> None:
        """Take everything back."""
        self.stores.restore(tensors)
        if self.cold is not None:
            self.cold.restore(tensors)
        self.amplitude_known.copy_(tensors["amplitude_known"])
        for name in ("free", "first_real"):
            setattr(self, name, tensors[name].to(self.device) if name in tensors else None)
        for name in self._VALUES:
            setattr(self, name, values[name])
        for name in self._ARRAYS:
            setattr(self, name, np.array(values[name], dtype=np.int64).reshape(self.layers, self.rows))
