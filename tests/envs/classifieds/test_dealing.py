from __future__ import annotations

import pytest

from .conftest import Neighbour, address

COMMENT = {
    "title": "Urgent",
    "authorName": "Ada",
    "authorEmail": "ada@mail.test",
    "body": "Is it there?",
    "rating": "4",
}
LETTER = {"yourName": "Ada", "yourEmail": "ada@mail.test", "phoneNumber": "555-0100", "message": "I would like it."}


@pytest.fixture
def offer(guest):
    """A listing of Tomas."""
    return guest.listing(seller="tomas.reed@kerbside.test")


def test_listing_shows_its_facts_but_not_the_hidden_ones(guest):
    for item in guest.state()["listings"][::9]:
        page = guest.get("item", id=item["id"])
        words = page[page.index("<main") : page.index("More from")] if "More from" in page else page
        assert f'<span class="price">${item["price"] / 100:.2f}</span>' in words
        assert item["spot"] in words
        assert f"<dd>{item['id']}</dd>" in words
        assert words.count("data-large=") == (len(item["photos"]) if len(item["photos"]) > 1 else 0)
        facts = item["facts"]
        if facts["colour_hidden"]:
            assert facts["colour"] not in words.lower().replace("colored", "")
        assert facts["serial"] == "" or facts["serial"] not in page


def test_photo_of_the_address_is_the_large_one(guest):
    item = guest.listing(mark="cracked")
    ids = [photo["id"] for photo in item["photos"]]
    page = guest.get("item", id=item["id"], photo=2)
    assert f'src="/photo/{ids[1]}.webp?v=7"' in page
    assert f"Photo 2 of {len(ids)}" in guest.get("item", "photo", id=item["id"], photo=2)
    assert guest.client.get(address("item", "photo", id=item["id"], photo=len(ids) + 1)).status_code == 404


def test_comment_is_published_with_its_rating(guest, offer):
    page = guest.post("item", "add_comment", COMMENT, id=offer["id"])
    assert "Your comment is published." in page
    assert "Urgent <em>by Ada</em>" in page
    last = guest.state()["comments"][-1]
    assert (last["listing_id"], last["title"], last["body"], last["rating"]) == (
        offer["id"], "Urgent", "Is it there?", 4,
    )  # fmt: skip


def test_mean_rating_is_of_all_comments(guest, offer):
    ratings = [c["rating"] for c in guest.state()["comments"] if c["listing_id"] == offer["id"]] + [1, 5]
    for rating in ("1", "5"):
        page = guest.post("item", "add_comment", COMMENT | {"rating": rating}, id=offer["id"])
    assert f"{sum(ratings) / len(ratings):.1f} of 5 ({len(ratings)})" in page


@pytest.mark.parametrize(
    ("change", "message"),
    [({"rating": ""}, "Please choose a rating."), ({"rating": "6"}, "Please choose a rating."),
     ({"title": " "}, "Title is a required field."), ({"authorEmail": "ada"}, "valid email"),
     ({"body": "x" * 1001}, "1000 characters at most")],
)  # fmt: skip
def test_wrong_comment_is_explained_and_kept(guest, offer, change, message):
    before = guest.state()["comments"]
    page = guest.post("item", "add_comment", COMMENT | change, id=offer["id"])
    assert message in page
    assert 'value="Ada"' in page
    assert guest.state()["comments"] == before


def test_signed_in_visitor_comments_under_the_own_name(lena, offer):
    lena.post(
        "item", "add_comment", {"title": "T", "body": "B", "rating": "5", "authorName": "Tomas Reed"}, id=offer["id"]
    )
    last = lena.state()["comments"][-1]
    assert (last["author"], last["email"], last["user_id"]) == ("Lena Marsh", "lena.marsh@kerbside.test", 1)


def test_message_lands_in_the_sellers_inbox(app, guest, offer):
    assert "Your message was sent to Tomas Reed." in guest.post("item", "contact", LETTER, id=offer["id"])
    tomas = Neighbour(app)
    tomas.sign_in("tomas.reed@kerbside.test")
    inbox = tomas.get("user", "messages")
    assert "Messages (1)" in inbox
    assert f"Ada: {offer['title']}" in inbox
    letter = tomas.state()["messages"][-1]
    page = tomas.get("user", "message", id=letter["id"])
    assert "I would like it." in page
    assert "Phone: 555-0100" in page
    assert "answer by email" in page, "guests have no inbox"
    assert "Messages (1)" not in tomas.get("user", "messages"), "it is read now"


def test_reply_reaches_the_writer(app, lena, offer):
    lena.post("item", "contact", {"message": "Can I come on Friday?", "phoneNumber": ""}, id=offer["id"])
    tomas = Neighbour(app)
    tomas.sign_in("tomas.reed@kerbside.test")
    letter = tomas.state()["messages"][-1]
    assert "Reply is a required field." in tomas.post("user", "message", {"message": " "}, id=letter["id"])
    assert "Your reply was sent to Lena Marsh." in tomas.post(
        "user", "message", {"message": "Friday is fine."}, id=letter["id"]
    )
    last = lena.state()["messages"][-1]
    assert (last["to_email"], last["body"]) == ("lena.marsh@kerbside.test", "Friday is fine.")


def test_letters_of_others_are_not_found(app, lena):
    tomas = Neighbour(app)
    tomas.sign_in("tomas.reed@kerbside.test")
    own = next(m for m in lena.state()["messages"] if m["to_user"] == 1)
    assert tomas.client.get(address("user", "message", id=own["id"])).status_code == 404


@pytest.mark.parametrize(
    ("change", "message"),
    [({"yourName": ""}, "Your name is a required"), ({"yourEmail": "a@b"}, "valid email"),
     ({"phoneNumber": "call me"}, "valid phone"), ({"message": "Hi"}, "needs 10 characters")],
)  # fmt: skip
def test_wrong_message_is_explained(guest, offer, change, message):
    before = guest.state()["messages"]
    assert message in guest.post("item", "contact", LETTER | change, id=offer["id"])
    assert guest.state()["messages"] == before


def test_nobody_writes_to_oneself(lena):
    own = lena.listing(user_id=1)
    before = lena.state()["messages"]
    assert "This is your own listing." in lena.post("item", "contact", LETTER, id=own["id"])
    assert lena.state()["messages"] == before


def test_report_needs_a_reason(guest, offer):
    assert "Please choose a reason." in guest.post("item", "report", {"reason": "Ugly"}, id=offer["id"])
    assert guest.state()["reports"] == []
    assert "We will look at this listing." in guest.post(
        "item", "report", {"reason": "Wrong category", "details": "It is a boat."}, id=offer["id"]
    )
    report = guest.state()["reports"][0]
    assert (report["listing_id"], report["reason"], report["details"]) == (
        offer["id"], "Wrong category", "It is a boat.",
    )  # fmt: skip


def test_saving_and_removing(lena, offer):
    before = lena.state()["favourites"]["lena.marsh@kerbside.test"]
    assert offer["id"] not in before
    assert "Remove from saved" in lena.post("item", "mark", id=offer["id"])
    lena.post("item", "mark", id=offer["id"])
    assert lena.state()["favourites"]["lena.marsh@kerbside.test"] == [*before, offer["id"]]
    assert offer["title"] in lena.get("user", "favourites")
    page = lena.post("item", "mark", {"action": "remove", "back": "favourites"}, id=offer["id"])
    assert "is no longer saved" in page
    assert lena.state()["favourites"]["lena.marsh@kerbside.test"] == before


def test_guest_who_saves_is_asked_to_sign_in(guest, offer):
    before = guest.state()
    assert "Please sign in to continue." in guest.post("item", "mark", id=offer["id"])
    assert guest.state() == before


def test_what_people_write_is_text(app, guest, offer):
    evil = '<script>alert(1)</script><img src=x onerror="alert(2)">'
    guest.post(
        "item", "add_comment", COMMENT | {"title": evil[:60], "body": evil, "authorName": "<b>A"}, id=offer["id"]
    )
    guest.post("item", "contact", LETTER | {"message": evil, "yourName": "<i>B"}, id=offer["id"])
    tomas = Neighbour(app)
    tomas.sign_in("tomas.reed@kerbside.test")
    for page in (guest.get("item", id=offer["id"]), tomas.get("user", "messages"),
                 tomas.get("user", "message", id=tomas.state()["messages"][-1]["id"])):  # fmt: skip
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "<b>A" not in page
        assert "<i>B" not in page
