from __future__ import annotations

import colorsys
import io

import pytest
from PIL import Image, ImageChops

HUES = {"red": 356, "orange": 25, "yellow": 49, "green": 132, "blue": 214, "purple": 272, "pink": 328}


def drawn(pictures, **spec) -> Image.Image:
    return Image.open(io.BytesIO(pictures.render(pictures.PhotoSpec(**spec)))).convert("RGB")


def main_hue(image: Image.Image, box: tuple[int, int, int, int]) -> float:
    """Hue in degrees of the most frequent vivid colour within a box."""
    counts: dict[int, int] = {}
    data = image.crop(box).resize((80, 60)).tobytes()
    for i in range(0, len(data), 3):
        hue, saturation, value = colorsys.rgb_to_hsv(*(part / 255 for part in data[i : i + 3]))
        if saturation > 0.3 and value > 0.25:
            counts[round(hue * 36) % 36] = counts.get(round(hue * 36) % 36, 0) + 1
    return max(counts, key=counts.__getitem__) * 10


@pytest.mark.parametrize("colour", HUES)
@pytest.mark.parametrize("art", ["backpack", "teapot", "toolbox", "suitcase", "dress"])
def test_tint_is_the_colour_that_one_sees(part, art, colour):
    image = drawn(part("pictures"), art=art, colour=colour, scene="studio")
    assert abs((main_hue(image, (220, 150, 420, 380)) - HUES[colour] + 180) % 360 - 180) <= 20


@pytest.mark.parametrize("pieces", range(1, 7))
def test_pieces_are_apart_and_can_be_counted(part, pieces):
    pictures = part("pictures")
    image = drawn(pictures, art="football", colour="red", pieces=pieces, scene="studio", variant=1)
    _, saturation, _ = image.convert("HSV").split()
    mask = saturation.point([0] * 150 + [255] * 106)
    boxes = 0
    share, places = pictures.layout(pieces)
    foot = pictures.SCENES["studio"][1] * pictures.HEIGHT
    for middle, depth in places:
        y = foot - depth * share * pictures.HEIGHT * 1.06 - share * pictures.HEIGHT / 2
        reach = share * pictures.HEIGHT * 0.4
        x = middle * pictures.WIDTH
        boxes += mask.crop((int(x - reach), int(y - reach), int(x + reach), int(y + reach))).getbbox() is not None
    assert boxes == pieces == len(set(places))


@pytest.mark.parametrize("mark", ["cracked", "scratched", "torn", "stained", "sticker"])
def test_a_mark_is_seen_on_the_front_and_large_in_the_close_view(part, mark):
    pictures = part("pictures")
    spec = {"art": "suitcase", "colour": "blue", "anchor": (0.5, 0.6), "scene": "studio"}
    seen = {}
    for view in ("front", "close"):
        plain = drawn(pictures, **spec, view=view)
        marked = drawn(pictures, **spec, view=view, mark=mark)
        difference = ImageChops.difference(plain, marked).convert("L").point([0] * 40 + [255] * 216)
        seen[view] = difference.histogram()[255]
    assert seen["front"] > 150
    assert seen["close"] > 2 * seen["front"]


def test_every_kind_can_be_drawn_and_no_art_is_left_over(part):
    pictures, catalogue = part("pictures"), part("catalogue")
    for kind in catalogue.KINDS:
        assert (pictures.ART / f"{kind.art}.webp").is_file(), kind
        assert set(kind.scenes) <= set(pictures.SCENES)
        assert set(kind.marks) <= set(part("marks").MARKS)
        alike = -(-kind.count // 2) if kind.colours else kind.count
        assert alike <= len(kind.makers) * len(kind.details), "titles must not run out"
    used = {kind.art for kind in catalogue.KINDS} | {category.icon for category in catalogue.CATEGORIES}
    assert {path.stem for path in pictures.ART.glob("*.webp")} == used
    assert "MIT License" in (pictures.ART / "LICENSE").read_text("utf-8")


@pytest.mark.parametrize("scene", ["room", "carpet", "table", "garage", "grass", "street", "studio"])
def test_scenes_are_the_same_each_time_and_differ_by_variant(part, scene):
    scenes = part("scenes")
    first, again, other = (scenes.draw_scene(scene, variant) for variant in (1, 1, 2))
    assert first.size == (640, 480)
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()


def test_photo_is_served_in_two_sizes_with_a_tag(guest):
    photo = guest.state()["listings"][0]["photos"][0]["id"]
    for query, size in (("", (640, 480)), ("?size=small", (320, 240))):
        answer = guest.client.get(f"/photo/{photo}.webp{query}")
        assert answer.headers["content-type"] == "image/webp"
        assert Image.open(io.BytesIO(answer.content)).size == size
        again = guest.client.get(f"/photo/{photo}.webp{query}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
