"""What is known of each slot of a bank: position, attention mass and visibility, for all layers in one tensor each.

One tensor over all layers makes ranking, eviction and bookkeeping a few batched operations per step instead of a
few per layer. The columns are three regions: full precision, int8, and the reading buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import torch

from confkv_agents.cache.tiers import MASKED, allocate

UNPROBED = -1.0
EMPTY = {"mass": 0.0, "probe": UNPROBED}


@dataclass(frozen=True)
class Regions:
    """Columns of each region, the same for all layers; a layer may use fewer (`caps`)."""

    full: int
    int8: int
    buffer: int

    @property
    def total(self) -> int:
        """Columns in all."""
        return self.full + self.int8 + self.buffer

    def columns(self, region: str) -> slice:
        """Return the columns of "full", "int8" or "buffer"."""
        starts = {"full": 0, "int8": self.full, "buffer": self.full + self.int8}
        return slice(starts[region], starts[region] + getattr(self, region))


class SlotTable:
    """`[L, B, H, S + 1]` tensors; the last column takes writes that belong nowhere and is never read.

    Attributes:
        position: int32, logical position of the stored token, -1 for an empty slot.
        bias: fp32, 0 for a stored token, `MASKED` for an empty slot: added to the scores.
        carried: fp32 figures that move with a token: "mass", its attention mass, and "probe", what the last
            lookahead probe gave it (`UNPROBED` if it came later); only those that the policy needs.
        step_mass: fp32 mass of the last decoding step, folded into the mass of all layers at once.
    """

    def __init__(
        self,
        layers: int,
        rows: int,
        heads: int,
        regions: Regions,
        device: torch.device,
        carried: Collection[str],
    ) -> None:
        shape = (layers, rows, heads, regions.total + 1)
        self.regions = regions
        self.position = allocate(*shape, dtype=torch.int32, device=device, fill=-1)
        self.bias = allocate(*shape, dtype=torch.float32, device=device, fill=MASKED)
        self.carried = {
            name: allocate(*shape, dtype=torch.float32, device=device, fill=EMPTY[name]) for name in carried
        }
        self.step_mass = torch.zeros_like(self.bias) if "mass" in carried else None

    @property
    def mass(self) -> torch.Tensor | None:
        """Attention mass, or None if the policy needs none."""
        return self.carried.get("mass")

    @property
    def probe(self) -> torch.Tensor | None:
        """Mass from the last lookahead probe, or None if the policy needs none."""
        return self.carried.get("probe")

    def clear(self, part: slice, gone: torch.Tensor) -> None:
        """Empty the slots marked in `gone [l, B, H, S]` of the layers `part`."""
        width = gone.shape[-1]
        self.position[part, ..., :width].masked_fill_(gone, -1)
        self.bias[part, ..., :width].masked_fill_(gone, MASKED)
        for name, figure in self.carried.items():
            figure[part, ..., :width].masked_fill_(gone, EMPTY[name])

    def move(
        self, part: slice, source: torch.Tensor, target: torch.Tensor, real: torch.Tensor, gone: torch.Tensor
    ) -> None:
        """Move what the slots `source` say to the slots `target`, both `[l, B, H, n]` columns, where `real`.

        Args:
            part: Layers.
            source: Columns to move from.
            target: Columns to move to.
            real: `[l, B, H, n]` bool, which entries are meant.
            gone: `[l, B, H, S]` bool, marks of all sources that are meant; they are emptied.
        """
        target = target.masked_fill(~real, self.regions.total)
        position = self.position[part].gather(-1, source)
        carried = {name: figure[part].gather(-1, source) for name, figure in self.carried.items()}
        self.clear(part, gone)
        self.position[part].scatter_(-1, target, position)
        self.bias[part].scatter_(-1, target, torch.zeros_like(target, dtype=torch.float32))
        for name, figure in carried.items():
            self.carried[name][part].scatter_(-1, target, figure)

    def add(self, columns: torch.Tensor, position: int) -> None:
        """Note one new token per row in the columns `[L, B, H, 1]`."""
        self.position.scatter_(-1, columns, position)
        self.bias.scatter_(-1, columns, 0.0)
        for name, figure in self.carried.items():
            figure.scatter_(-1, columns, EMPTY[name])

    def put(
        self, columns: torch.Tensor, real: torch.Tensor, position: torch.Tensor, carried: Mapping[str, torch.Tensor]
    ) -> None:
        """Note tokens in free columns.

        Args:
            columns: `[L, B, H, n]`.
            real: `[L, B, H, n]` bool, which entries are meant.
            position: `[L, B, H, n]` their positions.
            carried: `[L, B, H, n]` figures by name; those left out start empty.
        """
        columns = columns.masked_fill(~real, self.regions.total)
        self.position.scatter_(-1, columns, position.to(torch.int32).masked_fill(~real, -1))
        self.bias.scatter_(-1, columns, torch.where(real, 0.0, MASKED))
        for name, figure in self.carried.items():
            value = carried.get(name)
            figure.scatter_(
                -1, columns, torch.full_like(columns, EMPTY[name], dtype=torch.float32) if value is None else value
            )

    def take_back(self, columns: torch.Tensor) -> None:
        """Empty the columns `[L, B, H, 1]` that `add` filled."""
        self.position.scatter_(-1, columns, -1)
        self.bias.scatter_(-1, columns, MASKED)

    def hide(self, columns: torch.Tensor, real: torch.Tensor) -> None:
        """Empty the columns `[L, B, H, 1]` again in the rows that are not `real [B]` (padding)."""
        padding = (~real).view(1, -1, 1, 1).expand_as(columns)
        position, bias = self.position.gather(-1, columns), self.bias.gather(-1, columns)
        self.position.scatter_(-1, columns, position.masked_fill(padding, -1))
        self.bias.scatter_(-1, columns, bias.masked_fill(padding, MASKED))

    def resized(self, regions: Regions, kept: dict[str, tuple[torch.Tensor, torch.Tensor]]) -> SlotTable:
        """Return a table with other regions.

        Args:
            regions: The new regions.
            kept: For each region to carry over, this table's columns `[L, B, H, n]` that it starts with, and
                `[L, B, H, n]` bool, False where an entry means nothing and the slot starts empty.
        """
        layers, rows, heads, _ = self.position.shape
        other = SlotTable(layers, rows, heads, regions, self.position.device, self.carried)
        for region, (columns, real) in kept.items():
            start = other.regions.columns(region).start
            span = slice(start, start + columns.shape[-1])
            other.position[..., span] = self.position.gather(-1, columns).masked_fill_(~real, -1)
            other.bias[..., span] = self.bias.gather(-1, columns).masked_fill_(~real, MASKED)
            for name, figure in self.carried.items():
                other.carried[name][..., span] = figure.gather(-1, columns).masked_fill_(~real, EMPTY[name])
        return other

    def tensors(self) -> list[torch.Tensor]:
        """Return every tensor held."""
        held = [self.position, self.bias, *self.carried.values()]
        return held if self.step_mass is None else [*held, self.step_mass]

    def select_rows(self, rows: torch.Tensor) -> None:
        """Keep the rows given, in that order."""
        rows = rows.to(self.position.device)
        self._map(lambda tensor: tensor.index_select(1, rows))

    def truncate(self, layers: int) -> None:
        """Keep the first `layers` layers."""
        self._map(lambda tensor: tensor[:layers].clone())

    def _map(self, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self.position, self.bias = change(self.position), change(self.bias)
        self.carried = {name: change(figure) for name, figure in self.carried.items()}
        self.step_mass = None if self.step_mass is None else change(self.step_mass)
