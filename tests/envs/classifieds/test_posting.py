from __future__ import annotations

import io

import pytest
from PIL import Image

from .conftest import Neighbour, address, photo

DETAILS = {
    "title": "Oak table",
    "description": "Seats six people.",
    "price": "$85.5",
    "cityId": "Brindle",
    "spot": "yard",
}


def test_posting_in_four_steps(app, lena):
    assert "Please choose a category." in lena.post("item", "item_add", {"catId": "99"})
    number = lena.draft(6, **DETAILS)
    assert Neighbour(app).client.get(address("item", id=number)).status_code == 404, "a draft is for its owner"
    assert "Oak table" in lena.get("user", "items")
    assert "up.png" in lena.upload(number, ("up.png", photo())).text
    check = lena.get("item", "item_check", id=number)
    assert "$85.50" in check
    assert "Your listing is published." in lena.post("item", "item_check", id=number)
    listing = lena.listing(id=number)
    assert (listing["status"], listing["price"], listing["city"], listing["spot"], listing["created"]) == (
        "active", 8550, "Brindle", "yard", "2026-06-15",
    )  # fmt: skip
    assert [p["view"] for p in listing["photos"]] == ["upload"]
    assert f"id={number}" in Neighbour(app).get("search"), "it is the newest"
    assert lena.client.get(address("item", "item_check", id=number)).status_code == 404, "published once"


@pytest.mark.parametrize(
    ("change", "message"),
    [({"price": "-5"}, "Please enter an amount"), ({"price": "1e3"}, "Please enter an amount"),
     ({"price": ""}, "Price in dollars is a required field."), ({"price": "12345678"}, "Please enter an amount"),
     ({"title": "Oak"}, "Title needs 5 characters"), ({"title": "x" * 81}, "80 characters at most"),
     ({"description": "Short"}, "Description needs 10"), ({"cityId": "Atlantis"}, "Please choose a place.")],
)  # fmt: skip
def test_wrong_details_are_explained_and_kept(lena, change, message):
    number = lena.draft(6)
    before = lena.state()
    page = lena.post("item", "item_details", DETAILS | change, id=number)
    assert message in page
    if "description" not in change:
        assert "Seats six people." in page
    assert lena.state() == before


def test_nothing_costs_free(lena):
    number = lena.draft(price="0")
    assert '<span class="price">Free</span>' in lena.post("item", "item_check", id=number)


def test_details_cannot_be_skipped(lena):
    answer = lena.client.post(address("item", "item_add"), data={"catId": "7"})
    number = int(str(answer.url).rpartition("id=")[2])
    assert "Title" in lena.post("item", "item_check", id=number)
    assert lena.listing(id=number)["status"] == "draft"


def test_upload_is_encoded_anew_upright_and_small(lena):
    number = lena.draft()
    picture = Image.new("RGB", (2000, 1000), "white")
    picture.paste("red", (0, 0, 1000, 1000))
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned
    exif[0x010E] = "secret place"
    out = io.BytesIO()
    picture.save(out, "JPEG", exif=exif)
    lena.upload(number, ("a.jpg", out.getvalue()))
    (stored,) = lena.listing(id=number)["photos"]
    large = lena.client.get(f"/photo/{stored['id']}.webp")
    assert large.headers["content-type"] == "image/webp"
    assert b"secret place" not in large.content
    image = Image.open(io.BytesIO(large.content))
    assert image.size == (640, 1280)
    assert image.getpixel((320, 100))[0] > 200 > 100 > image.getpixel((320, 100))[1]
    small = lena.client.get(f"/photo/{stored['id']}.webp?size=small")
    assert Image.open(io.BytesIO(small.content)).size == (320, 240)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_three_kinds_of_picture_are_taken(lena, kind):
    number = lena.draft()
    assert "The photo is added." in lena.upload(number, (f"a.{kind}", photo(kind=kind))).text


def bomb() -> bytes:
    """A small file that says it is a huge picture."""
    data = bytearray(photo((64, 64)))
    data[16:24] = (60_000).to_bytes(4, "big") * 2
    import zlib

    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", "choose a photo first |OR| JPEG, PNG or WebP"), (b"hello", "JPEG, PNG or WebP"),
     (b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", "JPEG, PNG or WebP"),
     (photo()[:200], "damaged"), (photo((40, 40)), "64 pixels"), (bomb(), "pixels at most |OR| JPEG, PNG or WebP"),
     (photo(kind="GIF"), "JPEG, PNG or WebP"), (b"\x00" * (5 * 1024 * 1024 + 1), "5 MB at most")],
    ids=["empty", "text", "svg", "cut off", "tiny", "bomb", "gif", "large"],
)  # fmt: skip
def test_wrong_files_are_explained_and_not_kept(lena, data, message):
    number = lena.draft()
    page = lena.upload(number, ("good.png", photo()), ("bad.png", data)).text
    if data:
        assert any(option in page for option in message.split(" |OR| "))
        assert lena.listing(id=number)["photos"] == [], "all or nothing"


def test_twenty_megabytes_are_refused(lena):
    number = lena.draft()
    answer = lena.upload(number, ("big.png", b"\x89PNG" + bytes(20 * 1024 * 1024)))
    assert answer.status_code == 200
    assert "A photo may have 5 MB at most." in answer.text
    answer = lena.upload(number, ("big.png", bytes(40 * 1024 * 1024)))
    assert answer.status_code == 413
    assert lena.listing(id=number)["photos"] == []


def test_a_file_is_no_way_around_the_size_of_other_forms(lena):
    form = {"files": {"photos": ("a.png", photo((900, 900)) + bytes(70_000), "image/png")}}
    listing = lena.state()["listings"][0]["id"]
    assert lena.client.post(address("item", "add_comment", id=listing), **form).status_code == 413


@pytest.mark.parametrize(
    "name", ["../../../etc/passwd", "/etc/passwd", "..\\x.png", "a\x00b.png", "<script>.png", "x" * 300]
)
def test_names_of_files_are_only_words(lena, name):
    number = lena.draft()
    page = lena.upload(number, (name, photo())).text
    assert "<script>.png" not in page
    assert len(lena.listing(id=number)["photos"]) == 1


def test_at_most_six_photos_and_removal(lena):
    number = lena.draft()
    lena.upload(number, *[(f"{n}.png", photo()) for n in range(6)])
    assert "6 photos at most" in lena.upload(number, ("7.png", photo())).text
    photos = lena.listing(id=number)["photos"]
    assert len(photos) == 6
    lena.post("item", "item_photos", {"remove": str(photos[2]["id"])}, id=number)
    assert [p["name"] for p in lena.listing(id=number)["photos"]] == ["0.png", "1.png", "3.png", "4.png", "5.png"]


def test_editing_changes_price_and_shows_the_drop(lena):
    own = lena.listing(user_id=1)
    form = {
        "title": own["title"],
        "description": "I am asking $5 for it now.",
        "price": "5",
        "cityId": "Fernwater",
        "spot": "",
    }
    page = lena.post("item", "item_edit", form, id=own["id"])
    assert "Your changes are saved." in page
    assert '<span class="price">$5.00</span>' in page
    assert f'<price-drop was="{own["price"] / 100:.2f}" now="5.00">' in page
    changed = lena.listing(id=own["id"])
    assert (changed["price"], changed["was"], changed["city"]) == (500, own["price"], "Fernwater")
    assert (
        "price-drop" not in lena.post("item", "item_edit", form | {"price": "900"}, id=own["id"]).partition("More")[0]
    )


def test_deleting_takes_everything_along(lena):
    own = next(item for item in lena.state()["listings"] if item["user_id"] == 1)
    photo_id = own["photos"][0]["id"]
    assert f"{own['title']} is deleted." in lena.post("item", "item_delete", id=own["id"]).replace("&#39;", "'")
    state = lena.state()
    assert own["id"] not in [item["id"] for item in state["listings"]]
    assert all(c["listing_id"] != own["id"] for c in state["comments"])
    assert lena.client.get(address("item", id=own["id"])).status_code == 404
    assert lena.client.get(f"/photo/{photo_id}.webp").status_code == 404


@pytest.mark.parametrize("action", ["item_edit", "item_delete", "item_photos", "item_details", "item_check"])
def test_other_peoples_listings_are_out_of_reach(lena, action):
    other = lena.listing(seller="tomas.reed@kerbside.test")
    before = lena.state()
    assert lena.client.post(address("item", action, id=other["id"]), data=DETAILS).status_code == 404
    assert lena.state() == before


def test_photos_of_others_cannot_be_removed_through_an_own_listing(lena):
    other = lena.listing(seller="tomas.reed@kerbside.test")
    own = lena.listing(user_id=1)
    lena.post("item", "item_photos", {"remove": str(other["photos"][0]["id"])}, id=own["id"])
    assert lena.listing(id=other["id"])["photos"] == other["photos"]


@pytest.mark.parametrize("action", ["item_add", "item_edit", "item_delete", "item_photos", "item_check"])
def test_guests_are_asked_to_sign_in(guest, action):
    before = guest.state()
    listing = before["listings"][0]["id"]
    assert "Please sign in" in guest.post("item", action, {"catId": "7"} | DETAILS, id=listing)
    assert guest.state() == before


def test_hostile_title_is_text_everywhere(app, lena):
    evil = '<script>alert(1)</script>" onload="x'
    number = lena.draft(title=evil, description="{{ 7*7 }} <iframe src=x></iframe>", spot="<b>here")
    lena.post("item", "item_check", id=number)
    pages = [lena.get("item", id=number), lena.get("user", "items"), lena.get(), lena.get("search", sShowAs="gallery"),
             lena.get("item", "item_edit", id=number), Neighbour(app).get("item", "contact", id=number),
             Neighbour(app).get("item", "report", id=number), lena.get("user", "pub_profile", id=1)]  # fmt: skip
    for page in pages:
        assert "<script>alert" not in page
        assert 'onload="x' not in page.replace("&#34; onload=&#34;x", "")
        assert "<iframe src=x" not in page
        assert "<b>here" not in page
    assert "{{ 7*7 }}" in pages[0]
