"""Backgrounds that a seller's photo may have, drawn from a few shapes and a seeded random stream."""

import functools
import random

from PIL import Image, ImageChops, ImageDraw, ImageFilter

WIDTH, HEIGHT = 640, 480
Colour = tuple[int, int, int]
_WALLS: tuple[Colour, ...] = (
    (226, 220, 208), (205, 217, 222), (222, 210, 214), (212, 221, 205), (232, 225, 196), (208, 204, 218),
)  # fmt: skip


def _gradient(top: Colour, bottom: Colour, height: int) -> Image.Image:
    """A vertical run from one colour to another, as wide as a scene."""
    ramp = Image.linear_gradient("L").resize((WIDTH, height))
    return Image.composite(Image.new("RGB", ramp.size, bottom), Image.new("RGB", ramp.size, top), ramp)


def _shade(colour: Colour, amount: float) -> Colour:
    red, green, blue = (max(0, min(255, round(part * (1 + amount)))) for part in colour)
    return red, green, blue


@functools.cache
def _noise() -> Image.Image:
    small = Image.frombytes("L", (WIDTH // 2, HEIGHT // 2), random.Random(5).randbytes(WIDTH * HEIGHT // 4))
    return Image.merge("RGB", [small.resize((WIDTH, HEIGHT), Image.Resampling.BILINEAR)] * 3)


def _grain(image: Image.Image, strength: float) -> Image.Image:
    """Light noise of a fixed pattern, as cheap cameras leave it."""
    return Image.blend(image, ImageChops.overlay(image, _noise()), strength)


def _blur(image: Image.Image, height: int, radius: float) -> None:
    """Put what lies above `height` pixels out of focus."""
    image.paste(image.crop((0, 0, WIDTH, height)).filter(ImageFilter.GaussianBlur(radius)), (0, 0))


def _room(rng: random.Random) -> Image.Image:
    wall = rng.choice(_WALLS)
    floor = rng.choice(((176, 132, 92), (158, 118, 84), (196, 160, 118)))
    image = _gradient(_shade(wall, 0.03), _shade(wall, -0.1), HEIGHT)
    draw = ImageDraw.Draw(image)
    line = 300
    image.paste(_gradient(_shade(floor, -0.16), _shade(floor, 0.06), HEIGHT - line), (0, line))
    for row, y in enumerate((line, 322, 352, 392, 442)):
        draw.line((0, y, WIDTH, y), fill=_shade(floor, -0.3), width=2)
        for x in range(-200 + row * 67 % 180, WIDTH, 190 + row * 40):
            draw.line((x, y, x - 4, y + 18 + row * 10), fill=_shade(floor, -0.26), width=2)
    draw.rectangle((0, line - 18, WIDTH, line), fill=_shade(wall, 0.12))
    draw.line((0, line - 18, WIDTH, line - 18), fill=_shade(wall, -0.18), width=2)
    if rng.random() < 0.6:
        x = rng.choice((60, 440))
        draw.rectangle((x, 40, x + 120, 150), fill=_shade(wall, -0.3))
        draw.rectangle((x + 8, 48, x + 112, 142), fill=(238, 236, 230))
        draw.polygon(((x + 8, 142), (x + 50, 84), (x + 80, 118), (x + 96, 100), (x + 112, 142)), fill=(132, 158, 140))
    return image


def _carpet(rng: random.Random) -> Image.Image:
    base = rng.choice(((118, 84, 96), (86, 98, 122), (110, 118, 92), (148, 118, 86)))
    image = _gradient(_shade(base, 0.12), _shade(base, -0.08), HEIGHT)
    draw = ImageDraw.Draw(image)
    for inset, tone in ((18, 0.35), (30, -0.25), (40, 0.2)):
        draw.rectangle((inset, inset, WIDTH - inset, HEIGHT - inset), outline=_shade(base, tone), width=4)
    for x in range(80, WIDTH - 40, 80):
        for y in range(80, HEIGHT - 40, 80):
            draw.polygon(((x, y - 14), (x + 14, y), (x, y + 14), (x - 14, y)), fill=_shade(base, 0.16))
    return image


def _table(rng: random.Random) -> Image.Image:
    wall = rng.choice(_WALLS)
    wood = rng.choice(((150, 102, 66), (188, 148, 104), (112, 78, 58)))
    image = _gradient(_shade(wall, -0.12), _shade(wall, -0.02), HEIGHT)
    draw = ImageDraw.Draw(image)
    x = rng.randint(40, 420)
    draw.rectangle((x, -10, x + 170, 190), fill=_shade(wall, 0.16))
    draw.line((x + 85, 0, x + 85, 190), fill=_shade(wall, -0.1), width=6)
    edge = 270
    _blur(image, edge, 7)
    image.paste(_gradient(_shade(wood, -0.1), _shade(wood, 0.14), HEIGHT - edge), (0, edge))
    draw = ImageDraw.Draw(image)
    for _ in range(34):
        y = rng.randint(edge + 4, HEIGHT)
        x = rng.randint(-100, WIDTH)
        draw.line((x, y, x + rng.randint(80, 320), y + rng.randint(-3, 3)), fill=_shade(wood, rng.uniform(-0.16, 0)))
    draw.line((0, edge, WIDTH, edge), fill=_shade(wood, 0.3), width=3)
    return image


def _garage(rng: random.Random) -> Image.Image:
    brick = rng.choice(((158, 92, 76), (140, 106, 92), (126, 126, 130)))
    image = Image.new("RGB", (WIDTH, HEIGHT), _shade(brick, 0.34))
    draw = ImageDraw.Draw(image)
    for row, y in enumerate(range(0, 306, 26)):
        for x in range(-40 if row % 2 else 0, WIDTH, 80):
            draw.rectangle((x + 2, y + 2, x + 77, y + 23), fill=_shade(brick, rng.uniform(-0.1, 0.08)))
    image.paste(_gradient((136, 136, 138), (168, 168, 168), HEIGHT - 300), (0, 300))
    for _ in range(7):
        x, y = rng.randint(0, WIDTH), rng.randint(320, HEIGHT)
        draw.ellipse((x, y, x + rng.randint(30, 90), y + rng.randint(6, 16)), fill=(126, 126, 128))
    return image


def _grass(rng: random.Random) -> Image.Image:
    image = _gradient((150, 198, 232), (214, 234, 242), HEIGHT)
    draw = ImageDraw.Draw(image)
    for _ in range(3):
        x, y = rng.randint(0, WIDTH), rng.randint(20, 110)
        for step in range(4):
            draw.ellipse((x + step * 24, y - step % 2 * 12, x + 60 + step * 24, y + 32), fill=(240, 246, 250))
    for x in range(-20, WIDTH + 40, 70):
        top = rng.randint(150, 200)
        draw.ellipse((x - 40, top, x + 80, 330), fill=_shade((96, 142, 84), rng.uniform(-0.14, 0.1)))
    _blur(image, 250, 5)
    image.paste(_gradient((104, 160, 72), (134, 186, 86), HEIGHT - 250), (0, 250))
    draw = ImageDraw.Draw(image)
    for _ in range(900):
        x, y = rng.randint(0, WIDTH), rng.randint(252, HEIGHT)
        length = 4 + (y - 250) // 18
        draw.line((x, y, x + rng.randint(-3, 3), y - length), fill=_shade((112, 168, 74), rng.uniform(-0.22, 0.2)))
    return image


def _street(rng: random.Random) -> Image.Image:
    house = rng.choice(((214, 186, 152), (190, 146, 128), (186, 194, 200), (222, 206, 168)))
    image = _gradient(_shade(house, 0.04), _shade(house, -0.06), HEIGHT)
    draw = ImageDraw.Draw(image)
    for x in range(rng.randint(-60, 20), WIDTH, 170):
        draw.rectangle((x, 40, x + 92, 170), fill=_shade(house, 0.25))
        draw.rectangle((x + 8, 48, x + 84, 162), fill=(112, 136, 154))
        draw.line((x + 46, 48, x + 46, 162), fill=_shade(house, 0.25), width=5)
    _blur(image, 262, 3)
    image.paste(_gradient((188, 184, 178), (198, 194, 188), 70), (0, 262))
    image.paste(_gradient((96, 98, 102), (122, 124, 128), HEIGHT - 340), (0, 340))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 326, WIDTH, 342), fill=(164, 160, 154))
    for x in range(rng.randint(0, 90) - 90, WIDTH, 90):
        draw.line((x, 264, x - 14, 326), fill=(166, 162, 156), width=2)
        draw.line((x, 326, x, 342), fill=(140, 136, 130), width=2)
    return image


def _studio(rng: random.Random) -> Image.Image:
    tone = rng.choice(((214, 222, 230), (232, 222, 212), (218, 226, 216), (226, 218, 228)))
    image = Image.new("RGB", (WIDTH, HEIGHT), _shade(tone, -0.08))
    glow = ImageChops.invert(Image.radial_gradient("L").resize((WIDTH + 160, HEIGHT + 160)))
    image.paste(Image.new("RGB", image.size, _shade(tone, 0.1)), (0, 0), glow.crop((80, 80, 80 + WIDTH, 80 + HEIGHT)))
    return image


# Name: (what draws it, where things stand as a share of the height).
SCENES = {
    "room": (_room, 0.88),
    "carpet": (_carpet, 0.86),
    "table": (_table, 0.85),
    "garage": (_garage, 0.88),
    "grass": (_grass, 0.87),
    "street": (_street, 0.84),
    "studio": (_studio, 0.84),
}


@functools.lru_cache(maxsize=24)
def draw_scene(name: str, variant: int) -> Image.Image:
    """Draw a background, 640 x 480 pixels; `variant` decides colours and details. Do not draw on it: copy it."""
    return _grain(SCENES[name][0](random.Random(variant)), 0.12)
