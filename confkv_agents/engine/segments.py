"""What the tokens of a prompt are, for a cache that ranks by it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from math import isqrt

from confkv_agents.cache.segments import Segment, SegmentKind
from confkv_agents.engine.encoding import PictureSpan, Prompt

PINNED_SHARE = 4  # what is pinned takes at most this part of a budget


def segments_of(prompt: Prompt, budget: int) -> list[Segment]:
    """Return a prompt's segments, in order; the last one is the model's answer.

    The system turn is pinned, and so is the first user turn if both are short against the budget: an agent's task
    stands there. Other user and tool turns are observations, and pictures in them are segments of their own.

    Args:
        prompt: The prompt.
        budget: Slots per layer.
    """
    found: list[Segment] = []
    ends = [start for start, _ in prompt.turns[1:]] + [len(prompt.ids)]
    users = 0
    for (start, role), end in zip(prompt.turns, ends, strict=True):
        kind: SegmentKind = "own" if role == "assistant" else "observation"
        if role == "system" or (role == "user" and users == 0):
            kind = "pinned" if end <= budget // PINNED_SHARE else "text" if role == "system" else "observation"
        users += role == "user"
        found.append(Segment(kind, start))
        for span in prompt.spans:
            if span.positions and start <= span.positions[0] < end:
                found += _pictures(span, kind)
    found.append(Segment("own", len(prompt.ids)))
    return [*{segment.start: segment for segment in found}.values()]


def _pictures(span: PictureSpan, around: SegmentKind) -> Iterator[Segment]:
    """Yield a segment per run of a picture's placeholders, and one of what stands around it after each."""
    for _, run in groupby(enumerate(span.positions), key=lambda pair: pair[1] - pair[0]):
        places = [place for _, place in run]
        grid = None
        if span.grid is not None and len(places) == len(span.positions):
            grid = _merged(span.grid, len(places))
        side = isqrt(len(places))
        if grid is None and side * side == len(places):
            grid = (side, side)
        yield Segment("image", places[0], grid)
        yield Segment(around, places[-1] + 1)


def _merged(grid: tuple[int, int, int], count: int) -> tuple[int, int] | None:
    """Return rows and columns of a picture of one frame whose `grid` patches were merged into `count` tokens."""
    frames, rows, columns = grid
    merge = isqrt(frames * rows * columns // max(1, count))
    if frames != 1 or not merge or rows % merge or columns % merge:
        return None
    merged = rows // merge, columns // merge
    return merged if merged[0] * merged[1] == count else None
