"""M-RoPE positions of a whole sequence: text counts on, a picture spans time, height and width (arXiv 2409.12191).

Qwen-VL models keep the offset between tokens and positions (`rope_deltas`) on the model, where the next conversation
overwrites it. A caller with several conversations, or with pictures in several turns, computes the positions of its
own sequence here and passes the part that belongs to the tokens it feeds as `position_ids`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from confkv_agents.errors import ConfigError


@dataclass(frozen=True)
class PictureGrid:
    """A picture's placeholders in a sequence.

    Attributes:
        start: Index of its first placeholder.
        grid: Placeholders along time, height and width: `image_grid_thw`, the last two divided by the model's
            `spatial_merge_size`.
    """

    start: int
    grid: tuple[int, int, int]

    @property
    def stop(self) -> int:
        """One past the last placeholder."""
        time, height, width = self.grid
        return self.start + time * height * width


def mrope_positions(tokens: int, pictures: Sequence[PictureGrid]) -> torch.Tensor:
    """Return the positions of a sequence that has no padding.

    Args:
        tokens: Its length.
        pictures: Its pictures, in order.

    Returns:
        `[3, tokens]` int64: time, height and width. The token that follows has `1 + positions.max()` in each row,
        and the text after it counts on from there.

    Raises:
        ConfigError: If pictures overlap, are out of order, or do not fit the sequence.
    """
    parts, place, position = [], 0, 0
    for picture in pictures:
        if picture.start < place or picture.stop > tokens or min(picture.grid) < 1:
            raise ConfigError(
                f"a picture of grid {picture.grid} at token {picture.start} does not lie behind token {place} and "
                f"within the {tokens} tokens of the sequence; pass pictures in order, with grids in tokens"
            )
        parts.append(torch.arange(position, position + picture.start - place).expand(3, -1))
        position += picture.start - place
        parts.append(torch.cartesian_prod(*(torch.arange(size) for size in picture.grid)).view(-1, 3).T + position)
        position, place = position + max(picture.grid[1:]), picture.stop
    parts.append(torch.arange(position, position + tokens - place).expand(3, -1))
    return torch.cat(parts, 1)
