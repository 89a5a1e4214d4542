"""Pictures show what their facts say, as far as a machine can tell by counting pixels."""

from __future__ import annotations

import colorsys
import io

import pytest
from PIL import Image, ImageChops

TINTED = ("bicycle", "tulip", "toolbox", "yarn", "scarf", "guitar", "cupcake", "fish", "puzzle", "alarm-clock", "car")
HUES = {"red": 0, "orange": 28, "yellow": 50, "green": 128, "blue": 214, "purple": 275, "pink": 332}


def drawn(part, width=720, seed="t", **facts) -> Image.Image:
    pictures = part("pictures")
    return Image.open(io.BytesIO(pictures.render(pictures.Shot(**facts), seed, width))).convert("RGB")


def test_the_same_facts_and_seed_give_the_same_bytes(part):
    pictures = part("pictures")
    shot = pictures.Shot("owl", 3, scene="forest")
    assert pictures.render(shot, "7:1") == pictures.render(shot, "7:1")
    assert pictures.render(shot, "7:1") != pictures.render(shot, "7:2")


@pytest.mark.parametrize("art", TINTED)
def test_tinted_things_have_the_colour_and_keep_their_shape(part, art):
    pictures = part("pictures")
    image = pictures._load(art)
    for colour, hue in HUES.items():
        painted = pictures.tint(image, colour)
        assert not ImageChops.difference(painted.getchannel("A"), image.getchannel("A")).getbbox()
        data = painted.resize((48, 48)).tobytes()
        near = vivid = 0
        for i in range(0, len(data), 4):
            h, s, v = colorsys.rgb_to_hsv(*(value / 255 for value in data[i : i + 3]))
            if data[i + 3] > 200 and s > 0.3 and v > 0.25:
                vivid += 1
                near += min(abs(h * 360 - hue), 360 - abs(h * 360 - hue)) < 16
        assert near > 0.25 * vivid, (art, colour)


@pytest.mark.parametrize("count", range(1, 8))
def test_as_many_things_as_counted_stand_apart(part, count):
    places = part("pictures")._places(count, __import__("random").Random(count))
    assert len(places) == count
    rows: dict[bool, list[float]] = {}
    for x, depth in places:
        assert 0.05 < x < 0.95
        rows.setdefault(depth > 0.5, []).append(x)
    for row in rows.values():
        gaps = [b - a for a, b in zip(sorted(row), sorted(row)[1:], strict=False)]
        assert all(gap > 0.15 for gap in gaps)


def test_every_scene_can_be_painted_small_and_large(part):
    for scene in part("scenes").GROUND:
        for width in (192, 720):
            image = drawn(part, width, kind="cat", count=2, scene=scene)
            assert image.size == (width, width * 2 // 3)
            assert len(image.resize((40, 40)).getcolors(1600) or []) > 40


def test_pictures_of_posts_are_served(guest):
    post = next(post for post in guest.state()["posts"] if post["kind"] == "picture")
    page = guest.get(post["address"])
    assert f"/submission_images/{post['picture']}.webp" in page
    large = guest.client.get(f"/submission_images/{post['picture']}.webp")
    small = guest.client.get(f"/submission_images/small/{post['picture']}.webp")
    assert (large.headers["content-type"], small.headers["content-type"]) == ("image/webp", "image/webp")
    assert len(small.content) < len(large.content) / 3
    assert f"/submission_images/{post['picture']}.webp" in guest.get(f"/picture/{post['id']}")
    facts = guest.state()["facts"][str(post["id"])]
    assert {"kind", "count", "colour", "scene"} <= facts.keys()
