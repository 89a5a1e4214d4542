"""Gives the coloured part of a picture another colour: one piece of art, many goods."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image

# Hue in degrees, saturation factor, brightness that the tinted parts have on average (0 to 1).
TINTS: dict[str, tuple[float, float, float]] = {
    "red": (356, 1.1, 0.82),
    "orange": (25, 1.2, 0.94),
    "yellow": (49, 1.15, 0.98),
    "green": (132, 1.0, 0.66),
    "blue": (214, 1.1, 0.86),
    "purple": (272, 0.95, 0.72),
    "pink": (328, 0.62, 0.97),
    "black": (220, 0.12, 0.24),
    "white": (220, 0.07, 0.93),
    "brown": (22, 0.85, 0.46),
    "grey": (220, 0.1, 0.6),
}
_NEAR = 48


def _main_hue(hue: Image.Image, weight: Image.Image) -> float:
    """Mean hue in degrees of the most frequent hue region, among the pixels that `weight` selects."""
    counts = hue.histogram(mask=weight)
    smooth = [sum(counts[(i + d) % 256] for d in range(-9, 10)) for i in range(256)]
    peak = max(range(256), key=smooth.__getitem__)
    around = [(math.tau * (peak + d) / 256, counts[(peak + d) % 256]) for d in range(-14, 15)]
    x = sum(math.cos(angle) * count for angle, count in around)
    y = sum(math.sin(angle) * count for angle, count in around)
    return math.degrees(math.atan2(y, x)) % 360


def tint(image: Image.Image, colour: str, hue_of_art: float | None = None) -> Image.Image:
    """Give the main coloured part of an RGBA picture another colour, keeping its shading and the rest.

    Args:
        image: The art.
        colour: A name of `TINTS`.
        hue_of_art: Which hue, in degrees, is to change; None for the one that covers most of the art.

    Raises:
        KeyError: `colour` is none of `TINTS`.
    """
    from PIL import Image, ImageChops

    target, saturation_factor, brightness = TINTS[colour]
    alpha = image.getchannel("A")
    hue, saturation, value = image.convert("RGB").convert("HSV").split()
    vivid = ImageChops.darker(saturation.point([0] * 64 + [255] * 192), alpha.point([0] * 128 + [255] * 128))
    main = _main_hue(hue, vivid) if hue_of_art is None else hue_of_art

    def distance(step: int) -> float:
        return (step * 360 / 256 - main + 180) % 360 - 180

    near = hue.point([255 if abs(distance(i)) <= _NEAR else 0 for i in range(256)])
    mask = ImageChops.darker(saturation.point([min(255, i * 6) if i > 20 else 0 for i in range(256)]), near)
    turned = hue.point([round((target + distance(i) * 0.35) % 360 * 256 / 360) % 256 for i in range(256)])
    histogram = value.histogram(mask=ImageChops.darker(mask, alpha))
    mean = sum(i * n for i, n in enumerate(histogram)) / max(1, sum(histogram)) / 255
    spread = 0.75 if colour in ("black", "white", "brown") else 1.0
    lifted = value.point([round(255 * min(1.0, max(0.0, brightness + (i / 255 - mean) * spread))) for i in range(256)])
    vivider = saturation.point([min(255, round(i * saturation_factor)) for i in range(256)])
    painted = Image.merge("HSV", (turned, vivider, lifted)).convert("RGB")
    result = Image.composite(painted, image.convert("RGB"), mask)
    result.putalpha(alpha)
    return result


def centred(image: Image.Image) -> Image.Image:
    """Cut the transparent border away and put what is left in the middle of a square."""
    from PIL import Image

    cut = image.crop(image.getchannel("A").getbbox())
    square = Image.new("RGBA", (max(cut.size), max(cut.size)))
    square.alpha_composite(cut, ((square.width - cut.width) // 2, (square.height - cut.height) // 2))
    return square
