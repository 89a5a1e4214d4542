"""What a session knows of its tokens, and how that moves their rank.

A session is made of segments: system prompt and task ("pinned"), pages and tool results ("observation"), pictures in
them ("image"), the model's own turns ("own"), anything else ("text"). Pinned tokens leave last, the latest
observation counts more than older ones, and of every picture a few tokens stay. All of that moves ranks and
protects nothing absolutely: a budget that is smaller than what is pinned still holds.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import torch

from confkv_agents.errors import ConfigError

SegmentKind = Literal["pinned", "observation", "image", "own", "text"]
KINDS: tuple[SegmentKind, ...] = get_args(SegmentKind)

PINNED = 1e6  # above every score, below the infinity of sinks and window
FLOOR = 1e4  # above every score of a token that has no floor
LATEST, OLDER = 2.0, 0.5  # factors on the scores of the latest and of older observations


@dataclass(frozen=True)
class Segment:
    """Tokens from `start` to the next segment's start.

    Attributes:
        kind: What they are.
        start: Position of the first.
        grid: For a picture whose tokens are its patches row by row, their rows and columns.
    """

    kind: SegmentKind
    start: int
    grid: tuple[int, int] | None = None


class Segments:
    """The segments of one cache, in order.

    Args:
        image_floor: Tokens per picture, layer and KV head that leave only after everything without a floor.
    """

    def __init__(self, image_floor: int) -> None:
        self.image_floor = image_floor
        self.all: list[Segment] = []

    def begin(self, kind: SegmentKind, start: int, grid: tuple[int, int] | None = None) -> None:
        """Note that tokens from `start` on belong to a new segment.

        Raises:
            ConfigError: The kind is unknown, a grid is no grid, or the segment begins before the last one.
        """
        if kind not in KINDS:
            raise ConfigError(f"segment kind {kind!r} is unknown; choose one of {', '.join(KINDS)}")
        if grid is not None and (kind != "image" or len(grid) != 2 or min(grid) < 1):
            raise ConfigError(f"a grid of {grid!r} for kind {kind!r}: pass rows and columns of an image's patches")
        if self.all and start < self.all[-1].start:
            raise ConfigError(f"a segment that begins at {start} cannot follow one at {self.all[-1].start}")
        if self.all and self.all[-1].start == start:
            self.all.pop()
        self.all.append(Segment(kind, start, grid))

    def crop_to(self, length: int) -> None:
        """Forget segments that begin at `length` or later."""
        self.all = [segment for segment in self.all if segment.start < length]

    def names(self, position: torch.Tensor) -> torch.Tensor:
        """Return the number in `all` of each token's segment, -1 for none; `position` is any integer tensor."""
        starts = torch.tensor([segment.start for segment in self.all], device=position.device)
        return torch.bucketize(position.contiguous(), starts, right=True) - 1

    def pool_grids(self, figure: torch.Tensor, position: torch.Tensor, pooled: torch.Tensor, span: int) -> torch.Tensor:
        """Pool the tokens of pictures in their grid.

        Args:
            figure: `[L, B, H, S]`.
            position: `[L, B, H, S]` logical positions, -1 for empty slots.
            pooled: `figure` pooled along positions, for everything else.
            span: How many neighbours are pooled.

        Returns:
            `[L, B, H, S]`.
        """
        if not any(segment.grid for segment in self.all):
            return pooled
        number = self.names(position).masked_fill(position < 0, -1)
        for index, segment in enumerate(self.all):
            if segment.grid is not None:
                pooled = torch.where(number == index, self._pool_grid(figure, position, segment, span), pooled)
        return pooled

    def weigh(self, score: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        """Move scores by segment.

        Args:
            score: `[L, B, H, S]`, -inf for empty slots.
            position: `[L, B, H, S]` logical positions, -1 for empty slots.

        Returns:
            `[L, B, H, S]`; an empty slot stays -inf.
        """
        if not self.all:
            return score
        number = self.names(position).masked_fill(position < 0, -1)
        factor, bonus = self._effects(score.device)
        moved = score * factor[number] + bonus[number]
        for index, segment in enumerate(self.all):
            if segment.kind == "image" and self.image_floor:
                mine = moved.masked_fill(number != index, -torch.inf)
                best = mine.topk(min(self.image_floor, mine.shape[-1]), -1).values[..., -1:]
                moved = torch.where((number == index) & (mine >= best), moved + FLOOR, moved)
        return moved.masked_fill(position < 0, -torch.inf)

    def _effects(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a factor and a bonus per segment; the last entry is for tokens without one."""
        latest = self._latest()
        factors, bonuses = [], []
        for index, segment in enumerate(self.all):
            seen = segment.kind in ("observation", "image")
            factors.append((LATEST if index >= latest else OLDER) if seen else 1.0)
            bonuses.append(PINNED if segment.kind == "pinned" else 0.0)
        return torch.tensor([*factors, 1.0], device=device), torch.tensor([*bonuses, 0.0], device=device)

    def _latest(self) -> int:
        """Return the number of the first segment of the latest observation, its pictures included."""
        index = len(self.all) - 1
        while index >= 0 and self.all[index].kind not in ("observation", "image"):
            index -= 1
        while index > 0 and self.all[index - 1].kind in ("observation", "image"):
            index -= 1
        return index

    @staticmethod
    def _pool_grid(score: torch.Tensor, position: torch.Tensor, segment: Segment, span: int) -> torch.Tensor:
        """Return each token's best score in the square of about `span` patches around it."""
        assert segment.grid is not None
        rows, columns = segment.grid
        count = rows * columns
        place = position.long() - segment.start
        place = torch.where((place >= 0) & (place < count) & (position >= 0), place, count)
        whole = torch.full((*score.shape[:-1], count + 1), -torch.inf, device=score.device)
        whole.scatter_(-1, place, score)
        side = max(3, round(span**0.5) // 2 * 2 + 1)
        picture = whole[..., :count].reshape(-1, 1, rows, columns)
        pooled = torch.nn.functional.max_pool2d(picture, side, stride=1, padding=side // 2)
        whole[..., :count] = pooled.view(*score.shape[:-1], count)
        return whole.gather(-1, place)

    # ------------------------------------------------------------------ to and from a file

    def state(self) -> list[dict[str, Any]]:
        """Return plain values."""
        return [asdict(segment) for segment in self.all]

    def restore(self, values: list[dict[str, Any]]) -> None:
        """Take back what `state` returned."""
        self.all = [
            Segment(each["kind"], each["start"], tuple(each["grid"]) if each["grid"] else None) for each in values
        ]
