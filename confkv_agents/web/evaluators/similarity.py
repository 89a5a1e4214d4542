"""How alike two pictures are: the mean structural similarity (SSIM) of their grey values.

The index is that of Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from error visibility to
structural similarity" (2004), over square windows of equal weight with sample variances, as scikit-image's
`structural_similarity` has it by default and VisualWebArena uses it. Written here in NumPy: scikit-image would bring
SciPy, over 100 MB for one function.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from PIL import Image

from confkv_agents.errors import ImageError

WINDOW = 7
"""Side of a window in pixels; smaller pictures take the largest odd number that fits."""
MAX_PIXELS = 40_000_000
_BAND = 256  # rows at a time, so that memory does not grow with the picture
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2


def picture_similarity(first: Image.Image, second: Image.Image) -> float:
    """SSIM of two pictures, both resized to the larger width and the larger height, in grey.

    Args:
        first: Of any size and mode; of an animation the first frame counts.
        second: The same.

    Returns:
        1 for equal pictures, about 0 for unrelated ones, -1 at least.

    Raises:
        ImageError: A picture cannot be read, or they are too large to compare.
    """
    size = (max(first.width, second.width), max(first.height, second.height))
    if size[0] * size[1] > MAX_PIXELS:
        raise ImageError(f"pictures of {size[0]} x {size[1]} pixels are too large to compare")
    return structural_similarity(_grey(first, size), _grey(second, size))


def _grey(image: Image.Image, size: tuple[int, int]) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(image.resize(size, Image.Resampling.LANCZOS).convert("L"))
    except (OSError, ValueError) as error:
        raise ImageError(f"a picture cannot be read: {error}") from error


def structural_similarity(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> float:
    """Mean SSIM of two arrays of grey values.

    Args:
        first: `[H, W]`, values of 0 to 255.
        second: Of the same shape.

    Returns:
        The mean over all windows that lie inside the picture.

    Raises:
        ValueError: The shapes differ, or are not those of a picture.
    """
    if first.shape != second.shape or first.ndim != 2 or 0 in first.shape:
        raise ValueError(f"two grey pictures of one shape are needed, not {first.shape} and {second.shape}")
    side = min(WINDOW, *first.shape)
    side -= 1 - side % 2
    rows = first.shape[0] - side + 1
    total = 0.0
    for start in range(0, rows, _BAND):
        band = slice(start, min(start + _BAND, rows) + side - 1)
        total += float(_index(first[band].astype(np.float64), second[band].astype(np.float64), side).sum())
    return total / (rows * (first.shape[1] - side + 1))


def _index(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any], side: int) -> np.ndarray[Any, Any]:
    """SSIM of every window, `[H - side + 1, W - side + 1]`."""
    count = side * side
    sample = count / (count - 1) if count > 1 else 1.0
    mean_first, mean_second = _means(first, side), _means(second, side)
    spread_first = sample * (_means(first * first, side) - mean_first * mean_first)
    spread_second = sample * (_means(second * second, side) - mean_second * mean_second)
    together = sample * (_means(first * second, side) - mean_first * mean_second)
    top = (2 * mean_first * mean_second + _C1) * (2 * together + _C2)
    bottom = (mean_first * mean_first + mean_second * mean_second + _C1) * (spread_first + spread_second + _C2)
    return top / bottom


def _means(values: np.ndarray[Any, Any], side: int) -> np.ndarray[Any, Any]:
    """Mean of every window, first down, then across."""
    down = sliding_window_view(values, side, axis=0).sum(axis=-1)
    return sliding_window_view(down, side, axis=1).sum(axis=-1) / (side * side)
