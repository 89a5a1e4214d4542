from __future__ import annotations

import colorsys
import io

import pytest
from PIL import Image

HUES = {"Red": 0, "Orange": 25, "Yellow": 50, "Green": 130, "Blue": 215, "Purple": 272, "Pink": 328}


def main_hue(picture: bytes) -> float:
    """Hue in degrees of the most frequent vivid colour."""
    image = Image.open(io.BytesIO(picture)).convert("RGB").resize((90, 90))
    counts: dict[int, int] = {}
    data = image.tobytes()
    for i in range(0, len(data), 3):
        hue, saturation, _ = colorsys.rgb_to_hsv(*(value / 255 for value in data[i : i + 3]))
        if saturation > 0.25:
            counts[round(hue * 36) % 36] = counts.get(round(hue * 36) % 36, 0) + 1
    return max(counts, key=counts.__getitem__) * 10


@pytest.mark.parametrize("colour", HUES)
@pytest.mark.parametrize("art", ["backpack", "teapot", "toolbox", "luggage", "gloves"])
def test_tint_is_the_colour_that_one_sees(part, art, colour):
    pictures = part("pictures")
    shown = main_hue(pictures.render(pictures.PictureSpec(art, colour)))
    assert abs((shown - HUES[colour] + 180) % 360 - 180) <= 20


def test_pieces_can_be_counted(part):
    pictures = part("pictures")
    for pieces in range(1, 8):
        _, centres = pictures._layout(pieces)
        assert len(set(centres)) == pieces
        assert all(0 < x < 1 and 0 < y < 1 for x, y in centres)


def test_all_kinds_have_art_and_can_be_drawn(part):
    pictures, catalogue = part("pictures"), part("catalogue")
    for category in catalogue.CATEGORIES:
        for kind in category.kinds:
            assert (pictures.ART / f"{kind.art}.webp").is_file(), kind
    used = {kind.art for category in catalogue.CATEGORIES for kind in category.kinds} | set(catalogue.MOTIFS)
    assert {path.stem for path in pictures.ART.glob("*.webp")} == used
    assert "MIT License" in (pictures.ART / "LICENSE").read_text("utf-8")


def test_picture_is_served_with_cache_headers(shop, rows):
    slug = rows("SELECT slug FROM product WHERE motif IS NOT NULL")[0]["slug"]
    answer = shop.client.get(f"/media/{slug}.webp")
    assert answer.headers["content-type"] == "image/webp"
    assert "max-age" in answer.headers["cache-control"]
    assert Image.open(io.BytesIO(answer.content)).size == (360, 360)
    again = shop.client.get(f"/media/{slug}.webp", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304
    assert again.content == b""


def test_picture_of_nothing_is_not_found(shop):
    assert shop.client.get("/media/no-such-thing.webp").status_code == 404
    assert shop.client.get("/media/..%2f..%2fschema.webp").status_code == 404
