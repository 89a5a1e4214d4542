"""Pictures as the three sites draw them and as their pages show them, with the facts of each.

A picture is drawn by the site's own code from facts that a random generator chose, then brought to the size in which
a page of 1280 x 720 shows it, as if it had been cut out of a screenshot.
"""

from __future__ import annotations

import functools
import importlib
import io
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from PIL import Image, ImageDraw

from confkv_agents.pilot.captions import Facts
from confkv_agents.plugins import find_env, load_module

_TILE = (246, 243, 237)  # ground of the shop's pictures
_PAGES = ((255, 255, 255), (250, 249, 246))  # what is behind rounded corners
_MOST = 512  # longer side of pictures cut out of a page
_OFTEN = {"motif": 10, "count": 4}  # few goods have them, but tasks ask for them
_CUT = 0.1  # share of pictures that the edge of the window cuts


@dataclass(frozen=True)
class Shown:
    """A picture of a page.

    Attributes:
        image: RGB, in the size of the page.
        facts: What it shows.
        view: Where it was seen, such as `shop/list`.
    """

    image: Image.Image
    facts: Facts
    view: str


def draw(rng: random.Random, views: int = 2) -> list[Shown]:
    """Draw a picture of a site chosen at random, and return it as some of the site's pages show it.

    Args:
        rng: Decides everything.
        views: How many pages; there are fewer where a picture stands on fewer.
    """
    return rng.choice(_SITES)(rng, views)


def kinds() -> tuple[str, ...]:
    """Every kind of thing that pictures show, sorted."""
    shop = {kind.noun.lower() for _, kind in _goods()}
    listed = {kind.noun for kind in _part("classifieds", "kerbside.catalogue").KINDS}
    posted = {name for view in _views_of_posts() for name in (*view.kinds, *view.others)}
    return tuple(sorted(shop | listed | {_words(name) for name in posted}))


@functools.cache
def _part(site: str, name: str) -> ModuleType:
    return importlib.import_module(f"{load_module(find_env(site), f'envs.{site}').__name__}.{name}")


@functools.cache
def _goods() -> tuple[tuple[Any, Any], ...]:
    categories = _part("shop", "store.catalogue").CATEGORIES
    return tuple((category, kind) for category in categories for kind in category.kinds)


@functools.cache
def _views_of_posts() -> tuple[Any, ...]:
    return tuple(view for board in _part("forum", "board.content").BOARDS for view in board.views)


def _words(art: str) -> str:
    return art.replace("-", " ")


def _shop(rng: random.Random, views: int) -> list[Shown]:
    catalogue, pictures = _part("shop", "store.catalogue"), _part("shop", "store.pictures")
    weights = [_OFTEN.get(kind.hides, 1) if kind.hidden else 1 for _, kind in _goods()]
    _, kind = rng.choices(_goods(), weights)[0]
    plain = rng.random() < 0.3 or not kind.hidden
    tinted = kind.vary == "colour" or (not plain and kind.hides in ("colour", "motif"))
    colour = rng.choice(catalogue.COLOURS) if tinted else None
    pieces = rng.randint(2, 7) if not plain and kind.hides == "count" else 1
    motif = rng.choice(catalogue.MOTIFS) if not plain and kind.hides == "motif" else None
    image = _open(pictures.render(pictures.PictureSpec(kind.art, colour, pieces, motif)))
    facts = Facts(kind.noun.lower(), (colour or "").lower(), pieces, motif=motif or "")
    ways: list[tuple[str, float, Callable[[], Image.Image]]] = [
        ("list", 4, lambda: _contained(image, 266, 133)),
        ("product", 4, lambda: _scaled(image, 370, 370)),
        ("home", 1, lambda: _covered(image, 173, 130)),
        ("compare", 1, lambda: _scaled(image, 140, 140)),
        ("thumb", 1, lambda: _scaled(image, 72, 72)),
    ]
    return _seen(rng, "shop", facts, ways, views)


def _classifieds(rng: random.Random, views: int) -> list[Shown]:
    catalogue, pictures = _part("classifieds", "kerbside.catalogue"), _part("classifieds", "kerbside.pictures")
    kind = rng.choice(catalogue.KINDS)
    colour = rng.choice(catalogue.COLOURS) if kind.colours else ""
    pieces = rng.randint(2, kind.most) if kind.most > 1 and rng.random() < 0.6 else 1
    mark = rng.choice(kind.marks) if kind.marks and rng.random() < 0.6 else ""
    scene = "carpet" if pieces > 3 else rng.choice(kind.scenes)
    angle = rng.choices(("front", "side", "close", "label"), (6, 3, 2 if mark else 0, 0.5))[0]
    spec = pictures.PhotoSpec(
        kind.art, colour, pieces, mark, kind.anchor, kind.reach, scene, angle, "AB123", rng.randrange(12)
    )
    image = pictures._VIEWS[angle](spec)
    facts = Facts(kind.noun, colour, pieces, mark, scene="" if scene == "studio" else scene)
    if angle in ("close", "label"):  # one thing, before a blurred ground
        facts = replace(facts, count=1 if pieces == 1 else 0, scene="")
    ways: list[tuple[str, float, Callable[[], Image.Image]]] = [
        ("photo", 4, lambda: _scaled(image, 512, 384)),
        ("card", 3, lambda: _scaled(_scaled(image, 320, 240), 261, 196)),
        ("row", 3, lambda: _scaled(_scaled(image, 320, 240), 128, 96)),
        ("thumb", 1, lambda: _scaled(_scaled(image, 320, 240), 72, 54)),
    ]
    return _seen(rng, f"classifieds/{angle}", facts, ways, views)


def _forum(rng: random.Random, views: int) -> list[Shown]:
    pictures, shop = _part("forum", "board.pictures"), _part("shop", "store.catalogue")
    view = rng.choice(_views_of_posts())
    name = rng.choice(view.kinds)
    colour = rng.choice(view.colours) if view.colours else None
    if view.noun and rng.random() < 0.8:
        colour = rng.choice(shop.COLOURS).lower()
    count = rng.choice(view.counts) if rng.random() < 0.7 else rng.randint(1, 7)
    other = rng.choice([each for each in view.others if each != name]) if view.others else None
    shot = pictures.Shot(name, count, colour, rng.choice(view.scenes), other, rng.randint(1, 3) if other else 0)
    seed = str(rng.random())
    facts = Facts(_words(name), colour or "", count, scene=shot.scene, other=_words(other or ""), others=shot.others)
    ways: list[tuple[str, float, Callable[[], Image.Image]]] = [
        ("post", 7, lambda: _open(pictures.render(shot, seed, _MOST))),
        ("list", 3, lambda: _scaled(_open(pictures.render(shot, seed, pictures.THUMB)), 108, 72)),
    ]
    return _seen(rng, "forum", facts, ways, min(views, 1))  # slow to draw: one view each


_SITES = (_shop, _classifieds, _forum)


def _seen(
    rng: random.Random, place: str, facts: Facts, ways: list[tuple[str, float, Callable[[], Image.Image]]], views: int
) -> list[Shown]:
    shown = []
    for _ in range(min(views, len(ways))):
        at = rng.choices(range(len(ways)), [weight for _, weight, _ in ways])[0]
        name, _, make = ways.pop(at)
        image, seen = _rounded(make(), rng), facts
        if rng.random() < _CUT:
            height = round(image.height * rng.uniform(0.6, 0.95))
            top = rng.choice((0, image.height - height))
            image = image.crop((0, top, image.width, top + height))
            seen = replace(facts, count=0 if facts.count > 1 else 1)
            name += "/cut"
        shown.append(Shown(image, seen, f"{place}/{name}"))
    return shown


def _open(data: bytes) -> Image.Image:
    with Image.open(io.BytesIO(data)) as image:
        return image.convert("RGB")


def _scaled(image: Image.Image, width: int, height: int) -> Image.Image:
    return image.resize((width, height), Image.Resampling.BICUBIC)


def _rounded(image: Image.Image, rng: random.Random) -> Image.Image:
    """With the page showing behind rounded corners, as most pages draw their pictures."""
    radius = rng.choice((0, 4, 5, 6, 8, 10, 12))
    if not radius:
        return image
    large = Image.new("L", (image.width * 3, image.height * 3))
    ImageDraw.Draw(large).rounded_rectangle((0, 0, large.width - 1, large.height - 1), radius * 3, fill=255)
    page = Image.new("RGB", image.size, rng.choice(_PAGES))
    return Image.composite(image, page, large.resize(image.size, Image.Resampling.BILINEAR))


def _contained(image: Image.Image, width: int, height: int) -> Image.Image:
    """In a tile, as CSS's `object-fit: contain` does it."""
    side = min(width, height)
    tile = Image.new("RGB", (width, height), _TILE)
    tile.paste(_scaled(image, side, side), ((width - side) // 2, (height - side) // 2))
    return tile


def _covered(image: Image.Image, width: int, height: int) -> Image.Image:
    """The middle of it, as `object-fit: cover` does it."""
    scale = max(width / image.width, height / image.height)
    whole = _scaled(image, round(image.width * scale), round(image.height * scale))
    left, top = (whole.width - width) // 2, (whole.height - height) // 2
    return whole.crop((left, top, left + width, top + height))
