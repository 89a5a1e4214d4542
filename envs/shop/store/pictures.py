"""Product pictures: an art file, tinted, repeated or decorated, on the shop's pale square.

What a picture shows (colour, count of pieces, animal) is a fact of the product that need not be written
anywhere on the page, so a task can ask for something that only looking answers.
"""

import io
import math
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageChops

ART = Path(__file__).resolve().parent / "art"
SIDE = 360

# Hue in degrees, saturation factor, brightness the tinted parts should have on average (0 to 1).
_TINTS: dict[str, tuple[float, float, float]] = {
    "Red": (356, 1.1, 0.82),
    "Orange": (25, 1.2, 0.94),
    "Yellow": (49, 1.15, 0.98),
    "Green": (132, 1.0, 0.66),
    "Blue": (214, 1.1, 0.86),
    "Purple": (272, 0.95, 0.72),
    "Pink": (328, 0.62, 0.97),
    "Black": (220, 0.12, 0.24),
}


@dataclass(frozen=True)
class PictureSpec:
    """What a picture shows: an art file, an optional tint, how many pieces, and an optional animal on it."""

    art: str
    colour: str | None = None
    pieces: int = 1
    motif: str | None = None


def _load(name: str) -> Image.Image:
    with Image.open(ART / f"{name}.webp") as image:
        return image.convert("RGBA")


def _main_hue(hue: Image.Image, weight: Image.Image) -> float:
    """Mean hue in degrees of the most frequent hue region, among the pixels that `weight` selects."""
    counts = hue.histogram(mask=weight)
    smooth = [sum(counts[(i + d) % 256] for d in range(-9, 10)) for i in range(256)]
    peak = max(range(256), key=smooth.__getitem__)
    x = sum(counts[(peak + d) % 256] * math.cos(2 * math.pi * (peak + d) / 256) for d in range(-14, 15))
    y = sum(counts[(peak + d) % 256] * math.sin(2 * math.pi * (peak + d) / 256) for d in range(-14, 15))
    return math.degrees(math.atan2(y, x)) % 360


def tint(image: Image.Image, colour: str) -> Image.Image:
    """Give the main coloured part of an RGBA picture another colour, keeping its shading and the rest."""
    target, saturation_factor, brightness = _TINTS[colour]
    alpha = image.getchannel("A")
    hue, saturation, value = image.convert("RGB").convert("HSV").split()
    vivid = ImageChops.darker(saturation.point([0] * 64 + [255] * 192), alpha.point([0] * 128 + [255] * 128))
    main = _main_hue(hue, vivid)

    def distance(step: int) -> float:
        return (step * 360 / 256 - main + 180) % 360 - 180

    near = hue.point([255 if abs(distance(i)) <= 48 else 0 for i in range(256)])
    mask = ImageChops.darker(saturation.point([min(255, i * 6) if i > 20 else 0 for i in range(256)]), near)
    turned = hue.point([round((target + distance(i) * 0.35) % 360 * 256 / 360) % 256 for i in range(256)])
    histogram = value.histogram(mask=ImageChops.darker(mask, alpha))
    mean = sum(i * n for i, n in enumerate(histogram)) / max(1, sum(histogram)) / 255
    spread = 0.75 if colour == "Black" else 1.0
    lifted = value.point([round(255 * min(1.0, max(0.0, brightness + (i / 255 - mean) * spread))) for i in range(256)])
    vivider = saturation.point([min(255, round(i * saturation_factor)) for i in range(256)])
    painted = Image.merge("HSV", (turned, vivider, lifted)).convert("RGB")
    result = Image.composite(painted, image.convert("RGB"), mask)
    result.putalpha(alpha)
    return result


def _centred(image: Image.Image) -> Image.Image:
    """Cut the transparent border away and put what is left in the middle of a square."""
    cut = image.crop(image.getchannel("A").getbbox())
    square = Image.new("RGBA", (max(cut.size), max(cut.size)))
    square.alpha_composite(cut, ((square.width - cut.width) // 2, (square.height - cut.height) // 2))
    return square


def _layout(pieces: int) -> tuple[float, list[tuple[float, float]]]:
    """Scale of a piece and the centres of all pieces, in shares of the square."""
    if pieces == 1:
        return 0.74, [(0.5, 0.5)]
    columns = 2 if pieces in (2, 4) else 3
    rows = math.ceil(pieces / columns)
    centres: list[tuple[float, float]] = []
    for row in range(rows):
        in_row = min(columns, pieces - row * columns)
        centres += [(0.5 + (i - (in_row - 1) / 2) / (columns + 0.2), (row + 0.5) / rows) for i in range(in_row)]
    spread = 0.86 if rows > 1 else 1.0
    return 0.86 / max(columns, rows), [(x, 0.5 + (y - 0.5) * spread) for x, y in centres]


def render(spec: PictureSpec) -> bytes:
    """Draw a picture, 360 x 360 pixels, as WebP bytes."""
    piece = _load(spec.art)
    if spec.colour is not None:
        piece = tint(piece, spec.colour)
    if spec.motif is not None:
        badge = _load(spec.motif).resize((104, 104), Image.Resampling.LANCZOS)
        piece.alpha_composite(badge, (78, 100))
    piece = _centred(piece)
    canvas = Image.new("RGBA", (SIDE, SIDE), (246, 243, 237, 255))
    scale, centres = _layout(spec.pieces)
    side = round(SIDE * scale)
    piece = piece.resize((side, side), Image.Resampling.LANCZOS)
    for x, y in centres:
        canvas.alpha_composite(piece, (round(x * SIDE - side / 2), round(y * SIDE - side / 2)))
    out = io.BytesIO()
    canvas.convert("RGB").save(out, "WEBP", quality=86, method=2)
    return out.getvalue()
