"""Photos of listings: a thing, tinted, marked by use, repeated, standing in a scene.

What a photo shows (colour, number of pieces, condition, surroundings, a code on a label) is a fact of the
listing that need not be written anywhere on the page, so a task can ask for something that only looking answers.
"""

import functools
import io
import json
import math
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter, ImageFont

from confkv_agents.web.sitekit.tinting import tint

from .marks import add_mark
from .scenes import HEIGHT, SCENES, WIDTH, draw_scene

ART = Path(__file__).resolve().parent / "art"
VIEWS = ("front", "side", "close", "label")
THUMB = (320, 240)
_ART_SIZE = 256
_encode = json.JSONEncoder(separators=(",", ":")).encode
# Where most of the art is not what gives the thing its colour: the hue that does, in degrees.
_HUES = {"bicycle": 350.0}


@dataclass(frozen=True)
class PhotoSpec:
    """What a photo shows.

    Attributes:
        art: Name of a file in `art/`.
        colour: A name of `TINTS`, or "" for the art's own colour.
        pieces: How many of the thing.
        mark: What use has left on it, one of `MARKS`, or "".
        anchor: Where the mark is, in shares of the art.
        reach: Size of the mark, in shares of the art.
        scene: One of `SCENES`.
        view: front, side (mirrored, nearer), close (the mark or the middle, enlarged) or label.
        label: What is written on the paper label of the view `label`.
        variant: Decides details of scene and mark.
    """

    art: str
    colour: str = ""
    pieces: int = 1
    mark: str = ""
    anchor: tuple[float, float] = (0.5, 0.55)
    reach: float = 0.16
    scene: str = "studio"
    view: str = "front"
    label: str = ""
    variant: int = 0

    def to_json(self) -> str:
        """For the database."""
        return _encode(vars(self))

    @classmethod
    def from_json(cls, text: str) -> "PhotoSpec":
        """What `to_json` wrote."""
        values = json.loads(text)
        return cls(**values | {"anchor": tuple(values["anchor"])})


@functools.lru_cache(maxsize=8)
def _drawn(art: str, colour: str, mark: str, anchor: tuple[float, float], reach: float, variant: int) -> Image.Image:
    with Image.open(ART / f"{art}.webp") as image:
        thing = image.convert("RGBA")
    if colour:
        thing = tint(thing, colour, _HUES.get(art))
    if not mark:
        return thing
    thing = thing.resize((thing.width * 2, thing.height * 2), Image.Resampling.LANCZOS)  # marks are fine lines
    return add_mark(thing, mark, anchor, reach, variant)


def _thing(spec: PhotoSpec) -> Image.Image:
    """The thing on transparent ground, the same on all photos of a listing."""
    return _drawn(spec.art, spec.colour, spec.mark, spec.anchor, spec.reach, spec.variant if spec.mark else 0)


def _outline(thing: Image.Image) -> tuple[int, int, int, int]:
    """The box that a thing fills, the same whether it was enlarged for a mark or not."""
    scale = thing.width // _ART_SIZE
    alpha = thing.getchannel("A").reduce(scale)
    left, top, right, bottom = alpha.point([0] * 64 + [255] * 192).getbbox() or (0, 0, *alpha.size)
    low, high = (max(0, left - 1), max(0, top - 1)), (min(alpha.width, right + 1), min(alpha.height, bottom + 1))
    return scale * low[0], scale * low[1], scale * high[0], scale * high[1]


def layout(pieces: int) -> tuple[float, list[tuple[float, float]]]:
    """Height of a piece as a share of the scene's, and where the pieces stand: middle x, depth (0 is the front row).

    No two pieces hide each other: they can be counted.
    """
    if pieces == 1:
        return 0.74, [(0.5, 0.0)]
    if pieces == 2:
        return 0.52, [(0.29, 0.0), (0.71, 0.0)]
    if pieces == 3:
        return 0.4, [(0.19, 0.0), (0.5, 0.0), (0.81, 0.0)]
    front = math.ceil(pieces / 2)
    back = pieces - front
    places = [((i + 0.5) / back * 0.8 + 0.1, 1.0) for i in range(back)]
    return 0.31, places + [((i + 0.5) / front * 0.92 + 0.04, 0.0) for i in range(front)]


def _put(
    canvas: Image.Image, thing: Image.Image, middle: float, foot: float, height: float, wide: float = 1.35
) -> None:
    """Stand a thing on a scene, with its shadow.

    `middle`, `foot` and `height` are pixels, `wide` is how often the height its width may be.
    """
    cut = thing.crop(_outline(thing))
    scale = min(height / cut.height, wide * height / cut.width)
    cut = cut.resize((max(1, round(cut.width * scale)), max(1, round(cut.height * scale))), Image.Resampling.LANCZOS)
    left, top = round(middle - cut.width / 2), round(foot - cut.height)
    flat = max(8, round(cut.height * 0.09))
    shadow = Image.new("L", (cut.width + 4 * flat, 6 * flat))
    ImageDraw.Draw(shadow).ellipse((2 * flat + 4, 1.8 * flat, cut.width + 2 * flat - 4, 3.9 * flat), fill=150)
    shadow = shadow.filter(ImageFilter.GaussianBlur(flat * 0.55))
    canvas.paste((22, 20, 24), (left - 2 * flat, round(foot) - 3 * flat), shadow)
    canvas.paste(cut, (left, top), cut)


def _front(spec: PhotoSpec) -> Image.Image:
    canvas = draw_scene(spec.scene, spec.variant).copy()
    thing = _thing(spec)
    share, places = layout(spec.pieces)
    wide = 1.35 if spec.pieces == 1 else 0.95
    foot = SCENES[spec.scene][1] * HEIGHT
    for middle, depth in places:
        _put(canvas, thing, middle * WIDTH, foot + 8 - depth * share * HEIGHT * 1.06, share * HEIGHT, wide)
    return canvas


def _side(spec: PhotoSpec) -> Image.Image:
    canvas = draw_scene(spec.scene, spec.variant + 1)
    thing = _thing(spec).transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    canvas = canvas.resize((WIDTH * 5 // 4, HEIGHT * 5 // 4), Image.Resampling.BILINEAR).crop((80, 96, 720, 576))
    share, places = layout(spec.pieces)
    wide = 1.35 if spec.pieces == 1 else 0.95
    for middle, depth in places:
        _put(canvas, thing, middle * WIDTH, HEIGHT * 0.92 - depth * share * HEIGHT * 1.06, share * HEIGHT * 1.02, wide)
    return canvas


def _close(spec: PhotoSpec) -> Image.Image:
    thing = _thing(spec)
    canvas = draw_scene(spec.scene, spec.variant).filter(ImageFilter.GaussianBlur(9))
    side = round(HEIGHT * 2.1)
    thing = thing.resize((side, side), Image.Resampling.LANCZOS)
    x = round(WIDTH / 2 - spec.anchor[0] * side)
    y = round(HEIGHT / 2 - spec.anchor[1] * side)
    canvas.paste(thing, (x, y), thing)
    return canvas


def _label(spec: PhotoSpec) -> Image.Image:
    canvas = draw_scene(spec.scene, spec.variant).filter(ImageFilter.GaussianBlur(4))
    _put(canvas, _thing(spec), WIDTH * 0.5, HEIGHT * 0.66, HEIGHT * 0.56)
    paper = Image.new("RGBA", (380, 150))
    draw = ImageDraw.Draw(paper)
    draw.rounded_rectangle((0, 0, 379, 149), 10, fill=(252, 250, 242), outline=(196, 186, 160), width=3)
    draw.ellipse((18, 63, 42, 87), fill=(150, 140, 120))
    small, large = ImageFont.load_default(24), ImageFont.load_default(58)
    draw.text((62, 18), "Serial number", font=small, fill=(96, 90, 80))
    draw.text((62, 54), spec.label, font=large, fill=(24, 24, 30))
    paper = paper.rotate(-4, Image.Resampling.BICUBIC, expand=True)
    shadow = Image.new("L", (paper.width + 40, paper.height + 40))
    shadow.paste(paper.getchannel("A").point([i // 2 for i in range(256)]), (20, 20))
    canvas.paste((20, 18, 20), (114, 286), shadow.filter(ImageFilter.GaussianBlur(8)))
    canvas.paste(paper, (128, 296), paper)
    return canvas


_VIEWS = {"front": _front, "side": _side, "close": _close, "label": _label}


@functools.lru_cache(maxsize=8)
def _draw(spec: PhotoSpec) -> Image.Image:
    return _VIEWS[spec.view](spec)


@functools.lru_cache(maxsize=600)
def render(spec: PhotoSpec, small: bool = False) -> bytes:
    """Draw a photo as WebP bytes: 640 x 480 pixels, or 320 x 240 if `small`."""
    picture = _draw(spec)
    if small:
        picture = picture.reduce(WIDTH // THUMB[0])
    return to_webp(picture)


def to_webp(picture: Image.Image) -> bytes:
    """Encode a picture."""
    out = io.BytesIO()
    picture.save(out, "WEBP", quality=84, method=1)
    return out.getvalue()
