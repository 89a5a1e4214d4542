"""Pictures of posts: things from `art/`, tinted and counted, put into a painted scene.

What a picture shows (kind, colour, number, place) is a fact of the post that its text does not tell, so a task
can ask for something that only looking answers.
"""

import colorsys
import io
import random
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter

from .scenes import GROUND, paint

ART = Path(__file__).resolve().parent / "art"
WIDTH, HEIGHT = 720, 480
THUMB = 192  # width of the small picture in lists
# Hue in degrees, saturation and brightness that the tinted parts get on average.
_TINTS: dict[str, tuple[float, float, float]] = {
    "red": (357, 0.86, 0.84), "orange": (26, 0.88, 0.95), "yellow": (48, 0.84, 0.97), "green": (128, 0.66, 0.64),
    "blue": (214, 0.80, 0.86), "purple": (275, 0.64, 0.70), "pink": (332, 0.46, 0.97), "black": (225, 0.14, 0.22),
    "white": (210, 0.04, 0.97),
}  # fmt: skip
COLOURS = tuple(_TINTS)


@dataclass(frozen=True)
class Shot:
    """What a picture shows.

    Attributes:
        kind: Name of an art file.
        count: How many of them.
        colour: Their colour, where they are tinted.
        scene: Where they are.
        other: A second kind of thing, if any.
        others: How many of the second kind.
    """

    kind: str
    count: int = 1
    colour: str | None = None
    scene: str = "table"
    other: str | None = None
    others: int = 0

    def facts(self) -> dict[str, object]:
        """The facts as checks want them."""
        return dict(vars(self))


def _load(name: str) -> Image.Image:
    with Image.open(ART / f"{name}.webp") as image:
        rgba = image.convert("RGBA")
    return rgba.crop(rgba.getchannel("A").point([0] * 24 + [255] * 232).getbbox())


def _main_hue(image: Image.Image) -> float:
    """The hue (0 to 1) that most of the vivid pixels are close to."""
    counts = [0.0] * 60
    pixels = image.resize((64, 64)).tobytes()
    for start in range(0, len(pixels), 4):
        red, green, blue, alpha = pixels[start : start + 4]
        hue, saturation, value = colorsys.rgb_to_hsv(red / 255, green / 255, blue / 255)
        if alpha > 200 and saturation > 0.35 and value > 0.2:
            counts[int(hue * 60) % 60] += saturation
    around = [sum(counts[(i + d) % 60] for d in range(-4, 5)) for i in range(60)]
    return (max(range(60), key=around.__getitem__) + 0.5) / 60


def tint(image: Image.Image, colour: str) -> Image.Image:
    """Give the main coloured part of a picture another colour and keep its shading."""
    hue, saturation, value = _TINTS[colour]
    main = _main_hue(image)
    h, s, v = image.convert("RGB").convert("HSV").split()
    near = [min((i / 255 - main) % 1, (main - i / 255) % 1) for i in range(256)]
    mask = Image.composite(
        s.point([min(255, max(0, (i - 46) * 5)) for i in range(256)]),
        Image.new("L", image.size),
        h.point([255 if distance < 0.13 else 0 for distance in near]),
    )
    counts = v.histogram(mask=mask)
    mean = sum(i * n for i, n in enumerate(counts)) / max(1, sum(counts)) / 255
    painted = Image.merge(
        "HSV",
        (
            Image.new("L", image.size, round(hue / 360 * 255) % 256),
            s.point([min(255, round((0.35 + 0.65 * i / 200) * saturation * 255)) for i in range(256)]),
            v.point([min(255, max(0, round(255 * (value + (i / 255 - mean) * 0.8)))) for i in range(256)]),
        ),
    ).convert("RGB")
    result = Image.composite(painted, image.convert("RGB"), mask)
    result.putalpha(image.getchannel("A"))
    return result


def _places(count: int, rng: random.Random) -> list[tuple[float, float]]:
    """Horizontal centre and depth (0 back, 1 front) of things that stand apart from each other."""
    places: list[tuple[float, float]] = []
    front = count if count <= 4 else (count + 1) // 2
    back = count - front
    step = 0.92 / max(front, 1)
    shift = step / 4 if back == front else 0.0
    centres = [(0.5 - shift + (i - (front - 1) / 2) * step, 1.0 if back else 0.6) for i in range(front)]
    centres += [(0.5 + shift + (i - (back - 1) / 2) * step, 0.0) for i in range(back)]
    for x, depth in centres:
        places.append((x + rng.uniform(-0.015, 0.015), min(1.0, max(0.0, depth + rng.uniform(-0.06, 0.06)))))
    return places


def _foot(scene: str, depth: float, total: int) -> float:
    """How far down the picture a thing stands, in shares of the height."""
    if scene == "shelf":
        return 0.905 if depth > 0.5 or total <= 4 else 0.425
    reach = 0.97 - GROUND[scene]
    return GROUND[scene] + reach * (0.35 + 0.55 * depth if total <= 4 else 0.22 + 0.74 * depth)


def _stand(
    canvas: Image.Image, thing: Image.Image, centre: float, foot: float, side: float, room: float, rng: random.Random
) -> None:
    """Put a thing on the ground, with a soft shadow."""
    w, h = canvas.size
    scale = min(side / max(thing.width * 0.85, thing.height), room * w / thing.width)
    width, height = max(1, round(thing.width * scale)), max(1, round(thing.height * scale))
    piece = thing.resize((width, height), Image.Resampling.LANCZOS)
    if rng.random() < 0.4:
        piece = piece.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    x, y = round(centre * w - width / 2), round(foot * h - height)
    shade = Image.new("L", (width * 2, max(4, round(height * 0.4))))
    sw, sh = shade.size
    ImageDraw.Draw(shade).ellipse((sw * 0.27, sh * 0.28, sw * 0.73, sh * 0.72), fill=120)
    shade = shade.filter(ImageFilter.GaussianBlur(max(1, width / 30)))
    canvas.paste((20, 24, 30), (x - width // 2, round(foot * h - sh * 0.56)), shade)
    canvas.paste(piece, (x, y), piece)


def render(shot: Shot, seed: str, width: int = WIDTH) -> bytes:
    """Draw a picture (3:2) as WebP bytes.

    Args:
        shot: What it shows.
        seed: Decides what is not a fact: where exactly things stand, clouds, trees.
        width: In pixels.
    """
    rng = random.Random(f"{seed}:{shot}")
    factor = 2 if width < 400 else 1
    w, h = width * factor, round(width * HEIGHT / WIDTH) * factor
    canvas = paint(shot.scene, w, h, seed)
    things = [shot.kind] * shot.count + [shot.other] * shot.others
    order = list(range(len(things)))
    rng.shuffle(order)
    art = {name: _load(name) for name in dict.fromkeys(things) if name}
    if shot.colour is not None:
        art[shot.kind] = tint(art[shot.kind], shot.colour)
    total = len(things)
    room = 0.92 / (total if total <= 4 else (total + 1) // 2) * 0.97
    side = (0.52, 0.42, 0.36, 0.31, 0.30, 0.30, 0.27, 0.26, 0.23, 0.22)[min(total, 10) - 1] * h * 1.05
    placed = sorted(zip(order, _places(total, rng), strict=True), key=lambda item: item[1][1])
    for index, (x, depth) in placed:
        name = things[index]
        assert name is not None
        _stand(canvas, art[name], x, _foot(shot.scene, depth, total), side * (0.86 + 0.14 * depth), room, rng)
    if factor > 1:
        canvas = canvas.resize((width, h // factor), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    canvas.save(out, "WEBP", quality=84, method=2)
    return out.getvalue()
