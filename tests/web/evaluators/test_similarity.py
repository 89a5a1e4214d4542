"""SSIM against scikit-image 0.26's `structural_similarity`, whose values stand here."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from confkv_agents.errors import ImageError
from confkv_agents.web.evaluators import similarity
from confkv_agents.web.evaluators.similarity import picture_similarity, structural_similarity

ROWS, COLUMNS = np.mgrid[0:24, 0:31]
NOISY = ((COLUMNS * 37 + ROWS * 91 + COLUMNS * ROWS * 13) % 256).astype(np.uint8)
SHIFTED = ((COLUMNS * 37 + ROWS * 91 + COLUMNS * ROWS * 13 + (COLUMNS // 5) * 9) % 256).astype(np.uint8)
SLOPE = ((COLUMNS * 8) % 256).astype(np.uint8)
DULLER = np.clip(SLOPE.astype(int) // 2 + 40, 0, 255).astype(np.uint8)
LARGE = (np.add.outer(np.arange(600) * 3, np.arange(90) * 7) % 256).astype(np.uint8)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (NOISY, NOISY, 1.0),
        (NOISY, SHIFTED, 0.44634170829332376),
        (SLOPE, DULLER, 0.793565873671407),
        (SLOPE, 255 - SLOPE, -0.5539622958388181),
        (NOISY[:7, :7], SHIFTED[:7, :7], 0.998309685500724),
        (LARGE, np.roll(LARGE, 2, axis=1), 0.7207283844827526),
    ],
)
def test_values_are_those_of_the_reference(first: np.ndarray, second: np.ndarray, expected: float) -> None:
    assert structural_similarity(first, second) == pytest.approx(expected, abs=1e-12)


def test_two_flat_pictures_differ_by_their_brightness_alone() -> None:
    first, second = np.full((9, 9), 100, np.uint8), np.full((9, 9), 150, np.uint8)
    light = (0.01 * 255) ** 2
    assert structural_similarity(first, second) == pytest.approx(
        (2 * 100 * 150 + light) / (100**2 + 150**2 + light), abs=1e-12
    )


def test_pictures_are_brought_to_the_larger_size_in_grey() -> None:
    one = Image.fromarray(np.stack([NOISY, SHIFTED, SLOPE], -1))
    other = one.resize((50, 20), Image.Resampling.BILINEAR)
    assert picture_similarity(one, other) == pytest.approx(0.7268473572565955, abs=1e-6)
    assert picture_similarity(one, one.convert("RGBA")) == pytest.approx(1.0)


def test_tiny_pictures_and_other_modes_are_compared_and_huge_ones_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert picture_similarity(Image.new("P", (1, 1)), Image.new("1", (1, 1))) == pytest.approx(1.0)
    assert picture_similarity(Image.new("L", (4, 5)), Image.new("CMYK", (4, 5), (0, 0, 0, 255))) == pytest.approx(1.0)
    monkeypatch.setattr(similarity, "MAX_PIXELS", 50)
    with pytest.raises(ImageError, match="9 x 8 pixels are too large"):
        picture_similarity(Image.new("L", (9, 1)), Image.new("L", (1, 8)))


def test_arrays_of_two_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="one shape"):
        structural_similarity(NOISY, NOISY[1:])
