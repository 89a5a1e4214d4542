"""What use has left on a thing: cracks, scratches, tears, stains; and stickers that someone put there.

Each function draws on a transparent layer of the thing's size; the caller keeps only what lies on the thing.
"""

import math
import random

from PIL import Image, ImageDraw, ImageFilter

MARKS = ("cracked", "scratched", "torn", "stained", "sticker")
_Point = tuple[float, float]
_UP = 2  # drawn twice as large, then reduced: smooth edges


def _cracked(draw: ImageDraw.ImageDraw, at: _Point, size: float, rng: random.Random) -> None:
    rays: list[list[_Point]] = []
    count = 9
    for ray in range(count):
        angle = math.tau * ray / count + rng.uniform(-0.2, 0.2)
        points = [at]
        for step in range(1, 5):
            angle += rng.uniform(-0.22, 0.22)
            reach = size * step / 4 * rng.uniform(0.8, 1.1)
            points.append((at[0] + math.cos(angle) * reach, at[1] + math.sin(angle) * reach))
        rays.append(points)
    for dark, shift in ((True, 3), (False, 0)):
        tone = (14, 18, 30, 255) if dark else (255, 255, 255, 250)
        for points in rays:
            draw.line([(x + shift, y + shift) for x, y in points], fill=tone, width=5, joint="curve")
        for ring in (1, 2):
            web = [rays[i % count][ring] for i in range(count + 1)]
            draw.line([(x + shift, y + shift) for x, y in web], fill=tone, width=3)


def _scratched(draw: ImageDraw.ImageDraw, at: _Point, size: float, rng: random.Random) -> None:
    for number in range(4):
        y = at[1] + (number - 1.5) * size * 0.2
        x = at[0] + rng.uniform(-0.15, 0.15) * size
        long, rise = size * rng.uniform(0.55, 0.8), size * rng.uniform(0.24, 0.34)
        line = [(x - long, y + rise), (x, y + rng.uniform(-4, 4)), (x + long, y - rise)]
        draw.line([(a + 3, b + 3) for a, b in line], fill=(30, 26, 24, 170), width=5, joint="curve")
        draw.line(line, fill=(246, 244, 240, 255), width=6, joint="curve")


def _torn(draw: ImageDraw.ImageDraw, at: _Point, size: float, rng: random.Random) -> None:
    upper, lower = [], []
    for step in range(11):
        x = at[0] + (step / 5 - 1) * size * 0.8
        gape = size * 0.3 * math.sin(math.pi * step / 10)
        upper.append((x, at[1] - gape * rng.uniform(0.7, 1.1) - (step - 5) * size * 0.05))
        lower.append((x, at[1] + gape * rng.uniform(0.7, 1.1) - (step - 5) * size * 0.05))
    draw.polygon([*upper, *reversed(lower)], fill=(38, 30, 30, 255), outline=(250, 244, 230, 255), width=5)
    for step in range(2, 9):
        top, bottom = upper[step], lower[step]
        draw.line((*top, bottom[0] + rng.uniform(-8, 8), (top[1] + bottom[1]) / 2), fill=(240, 230, 210, 255), width=3)


def _stained(draw: ImageDraw.ImageDraw, at: _Point, size: float, rng: random.Random) -> None:
    for _ in range(9):
        x = at[0] + rng.uniform(-0.42, 0.42) * size
        y = at[1] + rng.uniform(-0.36, 0.36) * size
        radius = size * rng.uniform(0.14, 0.36)
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=(92, 62, 28, 205))
    for _ in range(5):
        x = at[0] + rng.uniform(-0.8, 0.8) * size
        y = at[1] + rng.uniform(-0.7, 0.7) * size
        draw.ellipse((x - 7, y - 7, x + 7, y + 7), fill=(92, 62, 28, 190))


def _sticker(draw: ImageDraw.ImageDraw, at: _Point, size: float, rng: random.Random) -> None:
    radius = size * 0.52
    draw.ellipse((at[0] - radius, at[1] - radius, at[0] + radius, at[1] + radius), fill=(252, 252, 250, 255))
    inner = radius * 0.86
    draw.ellipse((at[0] - inner, at[1] - inner, at[0] + inner, at[1] + inner), fill=(28, 44, 78, 255))
    tilt = rng.uniform(-0.3, 0.3)
    star = []
    for step in range(10):
        reach = inner * (0.82 if step % 2 == 0 else 0.36)
        angle = tilt - math.pi / 2 + math.pi * step / 5
        star.append((at[0] + math.cos(angle) * reach, at[1] + math.sin(angle) * reach))
    draw.polygon(star, fill=(255, 208, 47, 255))


_DRAW = {"cracked": _cracked, "scratched": _scratched, "torn": _torn, "stained": _stained, "sticker": _sticker}


def add_mark(thing: Image.Image, mark: str, anchor: _Point, size: float, variant: int) -> Image.Image:
    """Draw a mark on an RGBA picture of a thing.

    Args:
        thing: The thing on transparent ground.
        mark: One of `MARKS`.
        anchor: Middle of the mark, in shares of the picture.
        size: Reach of the mark from its middle, in shares of the picture.
        variant: Decides the details.
    """
    reach = round(size * thing.width * 1.3)
    corner = (round(anchor[0] * thing.width) - reach, round(anchor[1] * thing.height) - reach)
    layer = Image.new("RGBA", (2 * reach * _UP, 2 * reach * _UP))
    middle = (float(reach * _UP), float(reach * _UP))
    _DRAW[mark](ImageDraw.Draw(layer), middle, size * thing.width * _UP, random.Random(variant))
    if mark == "stained":
        layer = layer.filter(ImageFilter.GaussianBlur(3))
    layer = layer.resize((2 * reach, 2 * reach), Image.Resampling.LANCZOS)
    whole = Image.new("RGBA", thing.size)
    whole.paste(layer, corner)
    empty = Image.new("RGBA", thing.size)
    empty.paste(whole, (0, 0), thing.getchannel("A").point([0] * 120 + [255] * 136))
    return Image.alpha_composite(thing, empty)
