"""The stores of all layers on one device and their slot table: they grow, shrink and move tokens together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import torch

from confkv_agents.cache.budget import Slots
from confkv_agents.cache.selection import first_true
from confkv_agents.cache.slots import Regions, SlotTable
from confkv_agents.cache.tiers import BLOCK, DenseStore, DenseTier, Int8Store, Int8Tier, Tier, blocks_of
from confkv_agents.cache.transfer import on_device

ALL = slice(None)


class Stores:
    """Full-precision tier, int8 tier and reading buffer of `layers` layers.

    Stores have whole blocks for what they hold, within a budget's limits, and follow it: they grow by a quarter when
    needed and shrink when two blocks or more are saved.

    Args:
        like: `[B, Hkv, Q, D]` keys that give shape, dtype and device.
        layers: Number of layers.
        with_int8: Whether there is an int8 tier.
        carried: Figures kept per token, see `SlotTable`.
    """

    def __init__(self, like: torch.Tensor, layers: int, *, with_int8: bool, carried: Collection[str]) -> None:
        self.like = like.new_empty(*like.shape[:2], 0, like.shape[3])  # a view would pin what it is a view of
        self.layers, self.device = layers, like.device
        self.rows, self.heads = like.shape[:2]
        self.full = [DenseStore(like, 0) for _ in range(layers)]
        self.int8 = [Int8Store(like, 0) for _ in range(layers)] if with_int8 else []
        self.buffer: list[DenseStore] = []
        self.table = SlotTable(layers, self.rows, self.heads, Regions(0, 0, 0), self.device, carried)

    def tensors(self) -> list[torch.Tensor]:
        """Return every tensor held."""
        dense = [tensor for store in (*self.full, *self.buffer) for tensor in store.tensors()]
        return dense + [tensor for store in self.int8 for tensor in store.tensors()] + self.table.tensors()

    def tiers(self, layer: int) -> list[Tier]:
        """Return what a layer's queries may look at, the reading buffer apart."""
        full, columns = self.full[layer], self.table.regions.columns("full")
        bias = self.table.bias[layer, ..., columns.start : columns.start + full.slots]
        tiers: list[Tier] = [DenseTier(full.keys[:, :, : full.slots], full.values[:, :, : full.slots], bias)]
        if self.int8:
            store, columns = self.int8[layer], self.table.regions.columns("int8")
            bias = self.table.bias[layer, ..., columns.start : columns.start + store.slots]
            tiers.append(Int8Tier(store, store.slots, bias))
        return tiers

    def buffer_tier(self, layer: int) -> Tier:
        """Return what lies in a layer's reading buffer."""
        store, columns = self.buffer[layer], self.table.regions.columns("buffer")
        return DenseTier(store.keys, store.values, self.table.bias[layer, ..., columns])

    def caps(self, region: str, part: slice = ALL) -> list[int]:
        """Return the slots of each layer's store of a region."""
        stores: dict[str, Sequence[DenseStore | Int8Store]] = {"full": self.full, "int8": self.int8}
        return [store.slots for store in stores.get(region, self.buffer)[part]]

    def live(self, region: str, part: slice = ALL) -> Slots:
        """Return the slots in use, `[l, rows]`, asked from the device (one transfer)."""
        taken = self.table.position[part][..., self.table.regions.columns(region)] >= 0
        counts: Slots = taken.sum(-1).amax(-1).cpu().numpy()
        return counts

    def free(self, region: str, part: slice = ALL) -> torch.Tensor:
        """Return `[l, B, H, width]` marks of the free slots of a region; a store's last slot is never free."""
        empty = self.table.position[part][..., self.table.regions.columns(region)] < 0
        caps = on_device(self.caps(region, part), self.device).view(-1, 1, 1, 1)
        return empty & (torch.arange(empty.shape[-1], device=self.device) < caps - 1)

    def move(self, part: slice, source: str, target: str, chosen: torch.Tensor, most: int) -> None:
        """Move chosen tokens between regions.

        Args:
            part: Layers.
            source: "full" or "buffer".
            target: "full" or "int8", with enough free slots.
            chosen: `[l, B, H, S]` bool over all columns; only those of `source` count.
            most: No row has more tokens to move.
        """
        if most <= 0:
            return
        regions = self.table.regions
        span, room = regions.columns(source), regions.columns(target)
        here, real = first_true(chosen[..., span], most)
        there, _ = first_true(self.free(target, part), most)
        gone = torch.zeros_like(chosen)
        gone[..., span] = chosen[..., span]
        self.table.move(part, here + span.start, there + room.start, real, gone)
        origins = (self.full if source == "full" else self.buffer)[part]
        targets: Sequence[DenseStore | Int8Store] = (self.full if target == "full" else self.int8)[part]
        for index, (origin, store) in enumerate(zip(origins, targets, strict=True)):
            store.write(there[index].masked_fill(~real[index], store.slots - 1), *origin.read(here[index]))

    # ------------------------------------------------------------------ sizes

    def grow(self, part: slice, full: Slots, int8: Slots, full_limit: Slots, int8_limit: Slots) -> None:
        """Give the layers `part` blocks for the tokens to come, within limits; all `[l, rows]`."""
        sizes = {"full": self.caps("full"), "int8": self.caps("int8")}
        for name, need, limit in (("full", full + BLOCK, full_limit), ("int8", int8, int8_limit)):
            for index, layer in enumerate(range(self.layers)[part] if sizes[name] else ()):
                most = int(limit[index].max())
                needed, has = min(int(need[index].max()), most), sizes[name][layer]
                if needed + 1 > has:
                    sizes[name][layer] = blocks_of(min(max(needed, has * 5 // 4), most) + 1)
        self.resize(sizes["full"], sizes["int8"])

    def shrink(self, full: Slots, int8: Slots) -> None:
        """Give back blocks beyond `full` and `int8` tokens, `[layers, rows]`, two or more at a time."""
        sizes = {"full": self.caps("full"), "int8": self.caps("int8")}
        for name, need in (("full", full), ("int8", int8)):
            for layer, has in enumerate(sizes[name]):
                needed = blocks_of(int(need[layer].max()) + 1)
                if has - needed >= 2 * BLOCK:
                    sizes[name][layer] = needed
        self.resize(sizes["full"], sizes["int8"])

    def resize(self, full: list[int], int8: list[int], buffer: int | None = None) -> None:
        """Give the layers stores of these sizes; where any shrinks, tokens move to the front of its region first.

        The reading buffer starts empty where `buffer` is given and stays as it is otherwise.
        """
        if full == self.caps("full") and int8 == self.caps("int8") and buffer is None:
            return
        old = self.table.regions
        regions = Regions(max(full), max(int8, default=0), old.buffer if buffer is None else buffer)
        kept = {}
        order, kept["full"] = self._kept("full", full, regions.full)
        for layer, slots in enumerate(full):
            if slots != self.full[layer].slots or self._shrinks("full", full):
                self.full[layer] = self.full[layer].resized(slots, self._fitting(order[layer], slots, self.full[layer]))
        order, kept["int8"] = self._kept("int8", int8, regions.int8)
        for layer, slots in enumerate(int8):
            if slots != self.int8[layer].slots or self._shrinks("int8", int8):
                self.int8[layer] = self.int8[layer].resized(slots, self._fitting(order[layer], slots, self.int8[layer]))
        if buffer is None:
            _, kept["buffer"] = self._kept("buffer", [], regions.buffer)
        else:
            self.buffer = [DenseStore(self.like, buffer) for _ in range(self.layers)] if buffer else []
        self.table = self.table.resized(regions, kept)

    def _shrinks(self, region: str, sizes: list[int]) -> bool:
        return any(new < has for new, has in zip(sizes, self.caps(region), strict=False))

    def _kept(
        self, region: str, sizes: list[int], width: int
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """Return the order in which a region's slots are kept, and the same as the table's columns with marks."""
        columns = self.table.regions.columns(region)
        width = min(columns.stop - columns.start, width)
        if self._shrinks(region, sizes):
            order, real = first_true(self.table.position[..., columns] >= 0, width)
        else:
            order = torch.arange(width, device=self.device).expand(self.layers, self.rows, self.heads, -1)
            real = torch.ones_like(order, dtype=torch.bool)
        return order, (order + columns.start, real)

    @staticmethod
    def _fitting(order: torch.Tensor, slots: int, store: DenseStore | Int8Store) -> torch.Tensor:
        return order[..., : min(slots, store.slots)]

    # ------------------------------------------------------------------ to and from a file

    def state(self) -> dict[str, torch.Tensor]:
        """Return what full and int8 tier and the slot table hold, by name; the reading buffer must be empty."""
        named = {"position": self.table.position, "bias": self.table.bias, **self.table.carried}
        for layer, store in enumerate(self.full):
            named |= {f"full.{layer}.keys": store.keys, f"full.{layer}.values": store.values}
        for layer, coded in enumerate(self.int8):
            named |= {f"int8.{layer}.{name}": getattr(coded, name) for name in coded.FIELDS}
        return named

    def restore(self, named: Mapping[str, torch.Tensor]) -> None:
        """Take over what `state` returned, into stores that were just made."""
        full = [named[f"full.{layer}.keys"].shape[2] for layer in range(self.layers)]
        int8 = [named[f"int8.{layer}.key_codes"].shape[2] for layer in range(self.layers if self.int8 else 0)]
        self.resize(full, int8)
        for name, tensor in self.state().items():
            tensor.copy_(named[name])

    # ------------------------------------------------------------------ rows and layers

    def select_rows(self, rows: torch.Tensor) -> None:
        """Keep the rows given, in that order."""
        for store in (*self.full, *self.buffer):
            store.select_rows(rows)
        for coded in self.int8:
            coded.select_rows(rows)
        self.table.select_rows(rows)
        self.like = self.like.index_select(0, rows.to(self.device))
        self.rows = len(rows)

    def truncate(self, layers: int) -> None:
        """Keep the first `layers` layers."""
        self.full, self.int8, self.buffer = self.full[:layers], self.int8[:layers], self.buffer[:layers]
        self.table.truncate(layers)
        self.layers = layers
