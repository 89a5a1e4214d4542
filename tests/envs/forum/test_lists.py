"""Lists: their orders against figures worked out by hand, time ranges, pages, search."""

from __future__ import annotations

import pytest

from .conftest import titles

NOW = 1_781_524_800


@pytest.mark.parametrize(
    ("ups", "downs", "created", "expected"),
    [
        (101, 1, 1_767_225_600, 2.0),  # log10(100), at the epoch
        (1, 0, 1_767_225_600 + 45_000, 1.0),  # log10(1) = 0, one step of 12.5 hours
        (10, 0, 1_767_225_600 + 90_000, 3.0),
        (0, 1000, 1_767_225_600 + 45_000, -2.0),  # many votes against weigh the other way
        (5, 5, 1_767_225_600 + 22_500, 0.5),
    ],
)
def test_hot_by_hand(part, ups, downs, created, expected):
    assert part("ranking").hot(ups, downs, created) == pytest.approx(expected)


@pytest.mark.parametrize(("ups", "downs", "expected"), [(10, 10, 20.0), (0, 9, 0.0), (9, 0, 0.0), (16, 4, 20**0.25)])
def test_controversy_by_hand(part, ups, downs, expected):
    assert part("ranking").split(ups, downs) == pytest.approx(expected)


ORDERS = {
    "hot": lambda post: -post["hot"],
    "new": lambda post: -post["id"],
    "top": lambda post: (-post["score"], -post["id"]),
    "most_commented": lambda post: (-post["comments"], -post["id"]),
}


@pytest.mark.parametrize("sort", ORDERS)
def test_orders_of_a_forum(guest, sort):
    posts = sorted([post for post in guest.state()["posts"] if post["forum"] == "pets"], key=ORDERS[sort])
    shown = titles(guest.get(f"/f/pets/{sort}")) + titles(guest.get(f"/f/pets/{sort}?page=2"))
    assert shown == [post["title"] for post in posts]


def test_a_vote_can_lift_a_post(guest, app, rows):
    (post,) = rows("SELECT id, title FROM post WHERE forum_id = 1 ORDER BY hot LIMIT 1")
    with app.state.database.transaction() as db:
        db.execute("UPDATE post SET ups = 200, score = 200, downs = 0, created = ? WHERE id = ?", (NOW, post["id"]))
    assert titles(guest.get("/f/gardening?page=2"))[-1] == post["title"]
    guest.log_in().post(f"/sv/{post['id']}", choice="1")
    (now,) = rows("SELECT hot FROM post WHERE id = ?", post["id"])
    assert now["hot"] == pytest.approx(2.3031961 + (NOW - 1_767_225_600) / 45_000), "log10(201) and the age"
    assert titles(guest.get("/f/gardening"))[0] == post["title"]


@pytest.mark.parametrize(("t", "seconds"), [("day", 86_400), ("week", 604_800), ("month", 2_592_000), ("all", 10**9)])
def test_time_ranges(guest, rows, t, seconds):
    expected = rows("SELECT title FROM post WHERE created > ? ORDER BY score DESC, id DESC LIMIT 10", NOW - seconds)
    assert titles(guest.get(f"/all/top?t={t}")) == [row["title"] for row in expected]


def test_pages_cover_everything_once(guest):
    seen = []
    for page in range(1, 21):
        seen += titles(guest.get(f"/all/new?page={page}"))
    everything = [post["title"] for post in guest.state()["posts"]]
    assert seen[: len(everything)] == everything[::-1]
    assert titles(guest.get("/all/new?page=999")) == titles(guest.get("/all/new?page=20")), "beyond the last: the last"


def test_front_page_shows_subscriptions(wren):
    mine = wren.state()["subscriptions"]["wren_hollis"]
    page = wren.get("/")
    assert set(titles(page)) == {
        post["title"]
        for post in sorted(
            (p for p in wren.state()["posts"] if p["forum"] in mine), key=lambda post: (-post["hot"], -post["id"])
        )[:10]
    }
    wren.post(f"/f/{mine[0]}/subscribe", action="undo")
    assert wren.state()["subscriptions"]["wren_hollis"] == mine[1:]
    other = next(forum["name"] for forum in wren.state()["forums"] if forum["name"] not in mine)
    wren.post(f"/f/{other}/subscribe")
    wren.post(f"/f/{other}/subscribe")
    assert wren.state()["subscriptions"]["wren_hollis"] == sorted([*mine[1:], other])
    assert f'<a href="/f/{other}">{other}</a>' in wren.get("/")


def test_forum_lists(guest):
    forums = guest.state()["forums"]
    page = guest.get("/forums/all")
    names = sorted((forum["name"] for forum in forums), key=str.lower)
    places = [page.index(f'href="/f/{name}"') for name in names]
    assert places == sorted(places)
    by_size = sorted(forums, key=lambda forum: -forum["members"])
    page = guest.get("/forums/by_subscribers")
    places = [page.index(f"f/{forum['name']}, ") for forum in by_size]
    assert places == sorted(places)


def test_search_needs_every_word_and_prefers_titles(wren):
    wren.submit(title="Zebra crossings", body="painted", forum="bikes")
    wren.submit(title="Paint", body="A zebra needs paint", forum="crafts")
    wren.submit(title="Zebra paint", body="", forum="crafts", kind="link", url="https://zebra.example/x")
    assert titles(wren.get("/search?q=zebra")) == ["Zebra paint", "Zebra crossings", "Paint"]
    assert titles(wren.get("/search?q=zebras+paint")) == ["Zebra paint", "Paint", "Zebra crossings"]
    assert titles(wren.get("/search?q=zebra&forum=bikes")) == ["Zebra crossings"]
    assert titles(wren.get("/search?q=zebra&kind=link")) == ["Zebra paint"]
    assert titles(wren.get("/search?q=zebra&sort=new")) == ["Zebra paint", "Paint", "Zebra crossings"]
    assert "Nothing was found" in wren.get("/search?q=zebra+giraffe")
    assert titles(wren.get("/search?q=%25")) == []


def test_search_in_comments(wren):
    post = wren.state()["posts"][0]
    wren.post(f"/f/{post['forum']}/{post['id']}/-/comment", comment="An armadillo, surely.")
    page = wren.get("/search?q=armadillos&in=comments")
    assert "An armadillo, surely." in page
    assert "1 found" in page
    assert "An armadillo" not in wren.get("/search?q=armadillo")
