"""Set-of-marks: the screenshot with a numbered box around every element, and pictures cut out of it.

Nothing is drawn into the page itself, so the marks can neither be read nor clicked there.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageChops, ImageDraw, ImageFont

from confkv_agents.web.observation import Element, ObservationConfig, Picture
from confkv_agents.web.tree import Box

# Dark enough for white digits; neighbours in the list differ strongly.
_COLOURS = (
    "#c0392b",
    "#1f5fbf",
    "#1e7d34",
    "#8e24aa",
    "#b35900",
    "#00707a",
    "#5d4037",
    "#c2185b",
    "#3949ab",
    "#556b00",
)
_FONT_SIZE = 13
_PADDING = 2
_SHADE = 4  # of 255
_MIN_BOX = 4.0
_MARGIN = 2.0  # so that the frame does not run through the words


@dataclass(frozen=True)
class PagePicture:
    """A picture of the page: alternative text, place, and the place of what a click on it reaches."""

    alt: str
    box: Box
    owner: Box


def draw_marks(screenshot: bytes, elements: Sequence[Element]) -> bytes:
    """Draw each element's box and id.

    Args:
        screenshot: PNG of the viewport, one pixel a CSS pixel.
        elements: Those without a box, or with one under 4 pixels, are not drawn.

    Returns:
        A PNG of the same size.
    """
    image = Image.open(io.BytesIO(screenshot)).convert("RGB")
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=_FONT_SIZE)
    boxes = []
    for element in elements:
        if element.box is None or min(element.box.width, element.box.height) < _MIN_BOX:
            continue
        left, top = max(0.0, element.box.x - _MARGIN), max(0.0, element.box.y - _MARGIN)
        right = min(image.width - 1.0, element.box.x + element.box.width + _MARGIN)
        bottom = min(image.height - 1.0, element.box.y + element.box.height + _MARGIN)
        if right - left >= 1 and bottom - top >= 1:
            boxes.append((element.id, (left, top, right, bottom)))
    for number, box in boxes:
        draw.rectangle(box, outline=_COLOURS[number % len(_COLOURS)], width=2)
    taken: list[tuple[float, float, float, float]] = []
    for number, box in boxes:
        text = str(number)
        x0, y0, x1, y1 = draw.textbbox((0, 0), text, font=font)
        width, height = x1 - x0 + 2 * _PADDING, y1 - y0 + 2 * _PADDING
        place = _label_place(box, width, height, image.size, taken)
        taken.append(place)
        draw.rectangle(place, fill=_COLOURS[number % len(_COLOURS)])
        draw.text((place[0] + _PADDING - x0, place[1] + _PADDING - y0), text, fill="white", font=font)
    return _png(image)


def _label_place(
    box: tuple[float, float, float, float],
    width: float,
    height: float,
    size: tuple[int, int],
    taken: list[tuple[float, float, float, float]],
) -> tuple[float, float, float, float]:
    """The first free place around a box: above, inside, below, beside; else the one that overlaps least."""
    left, top, right, bottom = box
    places = [
        (left, top - height),
        (right - width, top - height),
        (left - width, top),
        (right, top),
        (left, bottom),
        (right - width, bottom),
        (right - width, top),
        (left, top),
        (left, bottom - height),
        (right - width, bottom - height),
    ]
    best, least = (left, top, left + width, top + height), float("inf")
    for x, y in places:
        x = min(max(0.0, x), size[0] - width - 1)
        y = min(max(0.0, y), size[1] - height - 1)
        place = (x, y, x + width, y + height)
        hidden = sum(_shared(place, other) for other in taken)
        if hidden == 0:
            return place
        if hidden < least:
            best, least = place, hidden
    return best


def _shared(first: tuple[float, float, float, float], second: tuple[float, float, float, float]) -> float:
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    return max(0.0, width) * max(0.0, height)


def look_alike(first: bytes, second: bytes) -> bool:
    """Whether two screenshots show the same, apart from shades that the eye does not see."""
    if first == second:
        return True
    one, other = (Image.open(io.BytesIO(png)).convert("RGB") for png in (first, second))
    if one.size != other.size:
        return False
    extremes = ImageChops.difference(one, other).getextrema()
    return all(high <= _SHADE for _, high in extremes)  # type: ignore[misc]


def cut_pictures(
    screenshot: bytes, found: Sequence[PagePicture], elements: Sequence[Element], config: ObservationConfig
) -> tuple[Picture, ...]:
    """Cut the page's pictures out of the screenshot, largest first when there are too many.

    A picture counts when both sides measure at least `config.min_picture` and more than half of it is in
    view.
    """
    if not config.pictures or not found:
        return ()
    image = Image.open(io.BytesIO(screenshot)).convert("RGB")
    window = Box(0, 0, image.width, image.height)
    usable = [
        picture
        for picture in found
        if min(picture.box.width, picture.box.height) >= config.min_picture
        and picture.box.overlap(window) > picture.box.width * picture.box.height / 2
    ]
    largest = sorted(usable, key=lambda picture: -picture.box.width * picture.box.height)[: config.pictures]
    pictures = []
    for picture in (picture for picture in usable if picture in largest):
        box = picture.box
        crop = image.crop(
            (
                round(max(0, box.x)),
                round(max(0, box.y)),
                round(min(image.width, box.x + box.width)),
                round(min(image.height, box.y + box.height)),
            )
        )
        crop.thumbnail((config.max_picture, config.max_picture))
        pictures.append(Picture(_png(crop), picture.alt, _owner(picture, elements)))
    return tuple(pictures)


def _owner(picture: PagePicture, elements: Sequence[Element]) -> int | None:
    """The element that a click on the picture reaches: the one in the owner's place, within rounding."""
    for element in elements:
        if element.box is not None and all(
            abs(mine - its) <= 1.5 for mine, its in zip(element.box, picture.owner, strict=True)
        ):
            return element.id
    return None


def _png(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=3)
    return out.getvalue()
