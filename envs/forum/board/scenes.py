"""Backgrounds of pictures: each scene is painted from a seeded generator at any size."""

import random
from collections.abc import Callable

from PIL import Image, ImageDraw, ImageFilter

Colour = tuple[int, int, int]
# Where things stand in a scene: the line of the ground, and how much of the height below it may be used.
GROUND: dict[str, float] = {
    "meadow": 0.56, "beach": 0.60, "table": 0.58, "shelf": 0.80, "street": 0.72, "lake": 0.56, "forest": 0.62,
    "room": 0.70, "snow": 0.60, "night": 0.66, "aquarium": 0.22,
}  # fmt: skip


def _blend(a: Colour, b: Colour, share: float) -> Colour:
    return (
        round(a[0] + (b[0] - a[0]) * share),
        round(a[1] + (b[1] - a[1]) * share),
        round(a[2] + (b[2] - a[2]) * share),
    )


def _gradient(image: Image.Image, box: tuple[int, int, int, int], top: Colour, bottom: Colour) -> None:
    """Fill a box from one colour to another, downwards."""
    left, upper, right, lower = box
    column = Image.new("RGB", (1, max(1, lower - upper)))
    for y in range(column.height):
        column.putpixel((0, y), _blend(top, bottom, y / max(1, column.height - 1)))
    image.paste(column.resize((right - left, column.height)), (left, upper))


def _hills(draw: ImageDraw.ImageDraw, w: int, h: int, base: float, colour: Colour, rng: random.Random) -> None:
    for _ in range(4):
        x, r = rng.uniform(-0.1, 1.1) * w, rng.uniform(0.18, 0.34) * w
        y = base * h + r * 0.55
        draw.ellipse((x - r * 1.5, y - r, x + r * 1.5, y + r), fill=colour)


def _cloud(draw: ImageDraw.ImageDraw, w: int, h: int, rng: random.Random) -> None:
    x, y, r = rng.uniform(0.08, 0.92) * w, rng.uniform(0.08, 0.24) * h, rng.uniform(0.028, 0.05) * w
    for dx, dy, k in ((-1.2, 0.25, 0.75), (0, 0, 1.0), (1.2, 0.2, 0.8), (2.1, 0.45, 0.5)):
        draw.ellipse((x + dx * r - k * r, y + dy * r - k * r, x + dx * r + k * r, y + dy * r + k * r), fill="white")


def _sky(image: Image.Image, h: int, top: Colour, bottom: Colour, rng: random.Random, clouds: int = 2) -> None:
    _gradient(image, (0, 0, image.width, h), top, bottom)
    veil = Image.new("RGBA", image.size, (255, 255, 255, 0))
    for _ in range(clouds):
        _cloud(ImageDraw.Draw(veil), image.width, image.height, rng)
    veil = veil.filter(ImageFilter.GaussianBlur(image.width / 160))
    veil.putalpha(veil.getchannel("A").point([round(i * 0.7) for i in range(256)]))
    image.paste(veil, (0, 0), veil)


def _specks(
    draw: ImageDraw.ImageDraw, w: int, h: int, top: float, count: int, colours: list[Colour], rng: random.Random
) -> None:
    """Short strokes on the ground, larger towards the front."""
    for _ in range(count):
        share = rng.random() ** 0.8
        x, y = rng.random() * w, (top + (1 - top) * share) * h
        size = (0.003 + 0.008 * share) * w
        draw.line((x, y, x + rng.uniform(-0.4, 0.4) * size, y - size), fill=rng.choice(colours), width=max(1, w // 400))


def _meadow(image: Image.Image, rng: random.Random) -> None:
    w, h = image.size
    _sky(image, round(0.6 * h), (122, 188, 236), (220, 239, 250), rng)
    draw = ImageDraw.Draw(image)
    _hills(draw, w, h, 0.5, (150, 196, 140), rng)
    _gradient(image, (0, round(0.55 * h), w, h), (142, 196, 96), (92, 158, 66))
    _specks(draw, w, h, 0.56, 420, [(120, 180, 80), (80, 142, 58), (166, 212, 116)], rng)


def _beach(image: Image.Image, rng: random.Random) -> None:
    w, h = image.size
    _sky(image, round(0.4 * h), (96, 174, 232), (214, 238, 250), rng)
    _gradient(image, (0, round(0.38 * h), w, round(0.58 * h)), (38, 132, 178), (104, 196, 206))
    draw = ImageDraw.Draw(image)
    for row in range(5):
        y = (0.41 + 0.035 * row) * h
        for _ in range(6):
            x = rng.random() * w
            draw.line((x, y, x + 0.06 * w, y), fill=(190, 230, 236), width=max(1, h // 300))
    _gradient(image, (0, round(0.57 * h), w, h), (244, 222, 172), (226, 192, 132))
    draw.line((0, 0.575 * h, w, 0.575 * h), fill=(250, 248, 240), width=max(2, h // 90))
    _specks(draw, w, h, 0.6, 240, [(214, 180, 120), (238, 214, 164), (200, 166, 110)], rng)


def _planks(image: Image.Image, top: int, light: Colour, dark: Colour, rng: random.Random) -> None:
    w, h = image.size
    _gradient(image, (0, top, w, h), light, dark)
    draw = ImageDraw.Draw(image)
    step = max(1, (h - top) // 4)
    for n in range(1, 5):
        seam = top + n * step
        draw.line((0, seam, w, seam), fill=_blend(dark, (40, 24, 10), 0.35), width=max(1, h // 260))
    for _ in range(26):
        x, y, length = rng.random() * w, rng.uniform(top, h), rng.uniform(0.05, 0.16) * w
        draw.line((x, y, x + length, y), fill=_blend(light, dark, 0.8), width=1)


def _table(image: Image.Image, rng: random.Random) -> None:
    w, h = image.size
    wall = rng.choice([(238, 230, 216), (214, 226, 222), (232, 220, 226), (220, 226, 238)])
    _gradient(image, (0, 0, w, round(0.52 * h)), wall, _blend(wall, (140, 120, 100), 0.14))
    draw = ImageDraw.Draw(image)
    for n in range(1, 9):
        draw.line((n * w / 9, 0, n * w / 9, 0.52 * h), fill=_blend(wall, (255, 255, 255), 0.35), width=max(1, w // 300))
    _planks(image, round(0.52 * h), (206, 158, 104), (158, 106, 62), rng)


def _shelf(image: Image.Image, rng: random.Random) -> None:
    w, h = image.size
    wall = rng.choice([(206, 220, 214), (236, 222, 202), (212, 214, 230), (226, 210, 206)])
    _gradient(image, (0, 0, w, h), wall, _blend(wall, (90, 80, 80), 0.12))
    draw = ImageDraw.Draw(image)
    for y in (0.42, 0.90):
        shade = Image.new("L", image.size)
        ImageDraw.Draw(shade).rectangle((0, (y + 0.05) * h, w, (y + 0.1) * h), fill=70)
        image.paste((60, 50, 46), (0, 0), shade.filter(ImageFilter.GaussianBlur(h / 60)))
        draw.rectangle((0, y * h, w, (y + 0.055) * h), fill=(172, 122, 76))
        draw.rectangle((0, y * h, w, (y + 0.012) * h), fill=(202, 156, 108))


def _street(image: Image.Image, rng: random.Random) -> None:
    w, h = image.size
    _sky(image, round(0.6 * h), (142, 196, 234), (230, 242, 248), rng)
    draw = ImageDraw.Draw(image)
    walls = [(222, 178, 140), (188, 204, 190), (236, 214, 160), (204, 168, 168), (176, 190, 214), (232, 226, 214)]
    x = 0.0
    while x < w:
        width, top = rng.uniform(0.13, 0.2) * w, rng.uniform(0.14, 0.3) * h
        wall = rng.choice(walls)
        draw.rectangle((x, top, x + width, 0.66 * h), fill=wall)
        roof = [(x - 0.01 * w, top), (x + width / 2, top - 0.1 * h), (x + width + 0.01 * w, top)]
        draw.polygon(roof, fill=(150, 84, 66))
        for row in range(3):
            for column in range(2):
                left, upper = x + (0.18 + 0.42 * column) * width, top + (0.05 + 0.12 * row) * h
                draw.rectangle((left, upper, left + 0.22 * width, upper + 0.07 * h), fill=(112, 138, 156))
        x += width
    _gradient(image, (0, round(0.66 * h), w, round(0.74 * h)), (196, 192, 186), (178, 174, 168))
    _gradient(image, (0, round(0.74 * h), w, h), (118, 120, 126), (92, 94, 100))
    for n in range(6):
        draw.rectangle(((n * 0.2 - 0.02) * w, 0.955 * h, (n * 0.2 + 0.08) * w, 0.967 * h), fill=(226, 222, 208))


def _lake(image: Image.Image, rng: random.Random) -> None:
    w, h = image.size
    _sky(image, round(0.5 * h), (132, 186, 230), (232, 238, 240), rng)
    draw = ImageDraw.Draw(image)
    for _ in range(5):
        x, half, top = rng.random() * w, rng.uniform(0.12, 0.22) * w, rng.uniform(0.14, 0.3) * h
        draw.polygon([(x - half, 0.48 * h), (x, top), (x + half, 0.48 * h)], fill=(126, 146, 168))
        cap = 0.2 * half
        draw.polygon([(x - cap, top + 0.2 * (0.48 * h - top)), (x, top), (x + cap, top + 0.2 * (0.48 * h - top))],
                     fill=(246, 248, 250))  # fmt: skip
    draw.rectangle((0, 0.46 * h, w, 0.49 * h), fill=(84, 128, 88))
    _gradient(image, (0, round(0.485 * h), w, h), (118, 186, 212), (44, 114, 158))
    for _ in range(46):
        share = rng.random()
        x, y = rng.random() * w, (0.5 + 0.5 * share) * h
        draw.line((x, y, x + (0.02 + 0.07 * share) * w, y), fill=(170, 216, 230), width=max(1, h // 320))


def _forest(image: Image.Image, rng: random.Random) -> None:
    w, h = image.size
    _gradient(image, (0, 0, w, h), (176, 206, 168), (128, 168, 122))
    draw = ImageDraw.Draw(image)
    for depth, count in ((0.25, 12), (0.6, 8)):
        colour = _blend((150, 176, 146), (86, 66, 48), depth)
        leaves = _blend((150, 188, 142), (52, 106, 60), depth)
        for _ in range(count):
            x, thick = rng.random() * w, (0.008 + 0.02 * depth) * w
            draw.rectangle((x - thick, 0, x + thick, 0.64 * h), fill=colour)
            r = (0.05 + 0.07 * depth) * w
            draw.ellipse((x - r * 1.3, -r, x + r * 1.3, r * 1.1), fill=leaves)
    _gradient(image, (0, round(0.6 * h), w, h), (122, 134, 70), (84, 92, 48))
    _specks(draw, w, h, 0.62, 320, [(150, 150, 82), (104, 118, 60), (162, 122, 70)], rng)


def _room(image: Image.Image, rng: random.Random) -> None:
    w, h = image.size
    wall = rng.choice([(232, 214, 188), (198, 212, 220), (214, 222, 196), (228, 204, 204)])
    _gradient(image, (0, 0, w, round(0.66 * h)), wall, _blend(wall, (110, 90, 80), 0.12))
    draw = ImageDraw.Draw(image)
    left = rng.choice((0.08, 0.64)) * w
    draw.rectangle((left, 0.08 * h, left + 0.28 * w, 0.46 * h), fill=(252, 250, 246))
    for n in range(2):
        pane = left + (0.015 + 0.13 * n) * w
        _gradient(image, (round(pane), round(0.1 * h), round(pane + 0.12 * w), round(0.44 * h)),
                  (150, 202, 240), (216, 238, 224))  # fmt: skip
    draw.rectangle((0, 0.645 * h, w, 0.675 * h), fill=(248, 246, 240))
    _planks(image, round(0.675 * h), (196, 152, 106), (150, 106, 68), rng)
    rug = rng.choice([(150, 74, 82), (74, 100, 140), (92, 122, 96), (176, 140, 76)])
    draw.ellipse((0.14 * w, 0.75 * h, 0.86 * w, 1.04 * h), fill=rug)
    draw.ellipse((0.17 * w, 0.77 * h, 0.83 * w, 1.02 * h), outline=_blend(rug, (255, 255, 255), 0.55), width=w // 160)


def _snow(image: Image.Image, rng: random.Random) -> None:
    w, h = image.size
    _gradient(image, (0, 0, w, h), (164, 186, 208), (232, 238, 244))
    draw = ImageDraw.Draw(image)
    for _ in range(9):
        x, size = rng.random() * w, rng.uniform(0.05, 0.1) * w
        for n in range(3):
            y = 0.58 * h - n * size * 0.6
            k = 1 - 0.26 * n
            draw.polygon([(x - size * k, y), (x, y - size * 1.1), (x + size * k, y)], fill=(82, 116, 104))
            tip = [(x - size * k * 0.4, y - size * 0.66), (x, y - size * 1.1), (x + size * k * 0.4, y - size * 0.66)]
            draw.polygon(tip, fill=(236, 242, 246))
    _gradient(image, (0, round(0.56 * h), w, h), (250, 252, 254), (214, 226, 240))
    for _ in range(90):
        x, y, r = rng.random() * w, rng.random() * h, rng.uniform(0.0015, 0.004) * w
        draw.ellipse((x - r, y - r, x + r, y + r), fill=(252, 254, 255))


def _night(image: Image.Image, rng: random.Random) -> None:
    w, h = image.size
    _gradient(image, (0, 0, w, round(0.7 * h)), (16, 22, 54), (74, 78, 132))
    draw = ImageDraw.Draw(image)
    for _ in range(120):
        x, y, r = rng.random() * w, rng.random() * 0.6 * h, rng.uniform(0.0008, 0.0026) * w
        draw.ellipse((x - r, y - r, x + r, y + r), fill=(246, 244, 220))
    x, r = rng.choice((0.16, 0.82)) * w, 0.05 * w
    draw.ellipse((x - r, 0.16 * h - r, x + r, 0.16 * h + r), fill=(250, 244, 208))
    _hills(draw, w, h, 0.6, (38, 50, 78), rng)
    _gradient(image, (0, round(0.64 * h), w, h), (60, 84, 76), (38, 58, 54))
    _specks(draw, w, h, 0.65, 240, [(78, 108, 92), (48, 72, 64)], rng)


def _aquarium(image: Image.Image, rng: random.Random) -> None:
    w, h = image.size
    _gradient(image, (0, 0, w, h), (120, 206, 222), (24, 96, 140))
    _gradient(image, (0, round(0.86 * h), w, h), (226, 202, 158), (190, 160, 112))
    draw = ImageDraw.Draw(image)
    for _ in range(9):
        x, top, colour = rng.random() * w, rng.uniform(0.4, 0.7) * h, rng.choice([(44, 126, 84), (70, 150, 90)])
        for n in range(9):
            y, r = 0.9 * h - n * (0.9 * h - top) / 8, (0.018 - 0.0014 * n) * w
            sway = (0.01 if n % 2 else -0.01) * w
            draw.ellipse((x + sway - r, y - r * 1.6, x + sway + r, y + r * 1.6), fill=colour)
    for _ in range(26):
        x, y, r = rng.random() * w, rng.random() * 0.8 * h, rng.uniform(0.003, 0.01) * w
        draw.ellipse((x - r, y - r, x + r, y + r), outline=(214, 244, 250), width=max(1, w // 420))


_PAINT: dict[str, Callable[[Image.Image, random.Random], None]] = {
    "meadow": _meadow, "beach": _beach, "table": _table, "shelf": _shelf, "street": _street, "lake": _lake,
    "forest": _forest, "room": _room, "snow": _snow, "night": _night, "aquarium": _aquarium,
}  # fmt: skip


def paint(scene: str, width: int, height: int, seed: str) -> Image.Image:
    """Paint a scene.

    Args:
        scene: A key of `GROUND`.
        width: In pixels.
        height: In pixels.
        seed: Where clouds, houses and trees are; the same seed gives the same picture.
    """
    image = Image.new("RGB", (width, height))
    _PAINT[scene](image, random.Random(seed))
    return image
