"""Product pictures: an art file, tinted, repeated or decorated, on the shop's pale square.

What a picture shows (colour, count of pieces, animal) is a fact of the product that need not be written
anywhere on the page, so a task can ask for something that only looking answers.
"""

import io
import math
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from confkv_agents.web.sitekit.tinting import centred, tint

ART = Path(__file__).resolve().parent / "art"
SIDE = 360


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
        piece = tint(piece, spec.colour.lower())
    if spec.motif is not None:
        badge = _load(spec.motif).resize((104, 104), Image.Resampling.LANCZOS)
        piece.alpha_composite(badge, (78, 100))
    piece = centred(piece)
    canvas = Image.new("RGBA", (SIDE, SIDE), (246, 243, 237, 255))
    scale, centres = _layout(spec.pieces)
    side = round(SIDE * scale)
    piece = piece.resize((side, side), Image.Resampling.LANCZOS)
    for x, y in centres:
        canvas.alpha_composite(piece, (round(x * SIDE - side / 2), round(y * SIDE - side / 2)))
    out = io.BytesIO()
    canvas.convert("RGB").save(out, "WEBP", quality=86, method=2)
    return out.getvalue()
