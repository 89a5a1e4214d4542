"""Posts, comments and votes: what is written is shown, counted once, and changed by its author only."""

from __future__ import annotations

import re

import pytest

from .conftest import Member


def address(post):
    return f"/f/{post['forum']}/{post['id']}"


def talk(state, comments=3):
    return next(post for post in state["posts"] if post["kind"] == "text" and post["comments"] >= comments)


def test_text_post(wren):
    page = wren.submit(title="  How   tall? ", body="**Very** tall.\n\n- one\n- two", forum="birds")
    post = wren.newest()
    assert (post["title"], post["author"], post["forum"], post["kind"]) == ("How tall?", "wren_hollis", "birds", "text")
    assert (post["ups"], post["downs"], post["score"]) == (1, 0, 1)
    assert post["created"] == "2026-06-15T12:01:00+00:00", "one minute for the one thing written"
    assert post["address"].endswith("/how-tall")
    assert "<strong>Very</strong> tall." in page
    assert "<li>one</li><li>two</li>" in page
    assert "vote vote--user-upvoted" in page


def test_link_post_leads_to_its_address(wren):
    page = wren.submit(title="Look", kind="link", url="https://example.org/a?b=1&c=2")
    assert 'href="https://example.org/a?b=1&amp;c=2" rel="nofollow ugc noopener"' in page
    assert wren.newest()["url"] == "https://example.org/a?b=1&c=2"


def test_incomplete_posts_are_refused_and_keep_what_was_written(wren):
    before = wren.state()
    page = wren.submit(title="", forum="nope", kind="picture", body="<b>Mine</b>")
    for problem in ("Please enter a title.", "Please choose a forum.", "Please choose a picture."):
        assert problem in page
    assert "&lt;b&gt;Mine&lt;/b&gt;" in page
    assert "body may have" in wren.submit(body="x" * 10_001).lower()
    assert wren.state() == before


def test_guests_are_sent_to_log_in_and_back(guest):
    page = guest.get("/submit/pets")
    assert "Please log in to do that." in page
    page = guest.post("/login", _username="wren_hollis", _password="Password.123")
    assert "New post" in page
    assert '<option value="pets" selected>' in page


def test_editing_and_deleting_ones_own(wren):
    wren.submit(title="Old title", body="Old")
    path = address(wren.newest())
    page = wren.post(f"{path}/-/edit", title="New title", body="New")
    assert "New title" in page
    assert "(edited)" in page
    wren.post(f"{path}/-/comment", comment="Still here")
    wren.post(f"{path}/-/delete")
    assert wren.newest()["deleted"] is True
    assert "[deleted post]" in wren.get(path), "comments stay readable"
    assert "New title" not in wren.get("/all/new")
    assert wren.client.post(f"{path}/-/comment", data={"comment": "late"}).status_code == 404


def test_votes_move_the_score_once(wren):
    post = talk(wren.state())
    for choice, difference in (("1", 1), ("1", 1), ("-1", -1), ("-1", -1), ("0", 0), ("0", 0), ("1", 1)):
        wren.post(f"/sv/{post['id']}", choice=choice)
        (now,) = [each for each in wren.state()["posts"] if each["id"] == post["id"]]
        assert now["score"] == post["score"] + difference
        assert now["score"] == now["ups"] - now["downs"]
    assert [v["value"] for v in wren.state()["post_votes"] if v["post_id"] == post["id"]] == [1]
    assert "vote vote--user-upvoted" in wren.get(address(post))
    other = Member(wren.client.app).log_in("otto_bright")
    assert "vote--user-upvoted" not in re.findall(r'action="/sv/\d+"[^>]*', other.get(address(post)))[0]
    other.post(f"/sv/{post['id']}", choice="-1")
    (now,) = [each for each in wren.state()["posts"] if each["id"] == post["id"]]
    assert (now["ups"], now["downs"]) == (post["ups"] + 1, post["downs"] + 1)


def test_votes_for_scripts_and_nonsense(wren, guest):
    post = talk(wren.state())
    answer = wren.client.post(f"/sv/{post['id']}", data={"choice": "-1"}, headers={"Accept": "application/json"})
    assert answer.json() == {"score": post["score"] - 1, "vote": -1}
    for choice in ("2", "", "up", "1.0"):
        assert wren.client.post(f"/sv/{post['id']}", data={"choice": choice}).status_code == 400
    assert wren.client.post("/sv/1", data={"choice": "1"}).status_code == 404
    wren.post("/log_out")
    answer = wren.client.post(f"/sv/{post['id']}", data={"choice": "1"}, headers={"Accept": "application/json"})
    assert answer.status_code == 401


def test_comments_are_nested_and_counted(wren):
    wren.submit(title="Threads")
    path = address(wren.newest())
    for parent, text in ((None, "one"), (0, "one-one"), (1, "one-one-one"), (None, "two"), (0, "one-two")):
        ids = (
            [comment["id"] for comment in wren.state()["comments"]][-parent_count(wren) :] if parent is not None else []
        )
        wren.post(f"{path}/-/comment", comment=text, **({"parent": str(ids[parent])} if parent is not None else {}))
    assert wren.newest()["comments"] == 5
    ids = {c["body"]: c["id"] for c in wren.state()["comments"][-5:]}
    wren.post(f"/cv/{ids['two']}", choice="0")  # one vote less than the others
    other = Member(wren.client.app).log_in("otto_bright")
    other.post(f"/cv/{ids['one-two']}", choice="1")
    order = {
        "best": [("one", 1), ("one-two", 2), ("one-one", 2), ("one-one-one", 3), ("two", 1)],
        "new": [("two", 1), ("one", 1), ("one-two", 2), ("one-one", 2), ("one-one-one", 3)],
        "old": [("one", 1), ("one-one", 2), ("one-one-one", 3), ("one-two", 2), ("two", 1)],
    }
    for sort, expected in order.items():
        page = wren.get(f"{path}/x?sort={sort}")
        found = re.findall(r'data-level="(\d)".*?<div class="comment__body"><p>(.*?)</p>', page, re.DOTALL)
        assert [(body, int(level)) for level, body in found] == expected
    page = wren.get(f"{path}/-/comment/{ids['one-one']}")
    found = re.findall(r'<div class="comment__body"><p>(.*?)</p>', page)
    assert found == ["one-one", "one-one-one"]


def parent_count(member):
    return member.newest()["comments"]


def test_deep_threads_continue_on_their_own_page(wren):
    wren.submit(title="Deep")
    path = address(wren.newest())
    parent: dict[str, str] = {}
    for n in range(9):
        wren.post(f"{path}/-/comment", comment=f"level {n + 1}", **parent)
        parent = {"parent": str(wren.state()["comments"][-1]["id"])}
    page = wren.get(path)
    assert "level 6" in page
    assert "level 7" not in page
    more = re.search(r'href="([^"]+)">Continue this thread \(3\)', page)
    assert more
    assert "level 9" in wren.get(more[1])


def test_comment_editing_and_deleting(wren):
    post = talk(wren.state())
    path = address(post)
    wren.post(f"{path}/-/comment", comment="First")
    mine = wren.state()["comments"][-1]["id"]
    wren.post(f"{path}/-/comment", comment="Answer", parent=str(mine))
    page = wren.post(f"{path}/-/comment/{mine}/edit", comment="Second")
    assert "Second" in page
    assert "<p>First</p>" not in page
    wren.post(f"{path}/-/comment/{mine}/delete")
    page = wren.get(path)
    assert "Second" not in page
    assert "[deleted]" in page, "its answer still stands below it"
    assert "Answer" in page
    (now,) = [each for each in wren.state()["posts"] if each["id"] == post["id"]]
    assert now["comments"] == post["comments"] + 1


def test_refused_comments_keep_their_text(wren):
    post = talk(wren.state())
    before = wren.state()["comments"]
    parent = next(c for c in before if c["post_id"] == post["id"])["id"]
    page = wren.post(f"{address(post)}/-/comment", comment="x" * 10_001, parent=str(parent))
    assert "Comment may have 10,000 characters at most." in page
    assert "x" * 10_001 in page
    assert "Comment must not be empty." in wren.post(f"{address(post)}/-/comment", comment="  ")
    assert wren.state()["comments"] == before
    other = next(c for c in before if c["post_id"] != post["id"])["id"]
    assert (
        wren.client.post(f"{address(post)}/-/comment", data={"comment": "x", "parent": str(other)}).status_code == 404
    )


def test_saving_and_hiding(wren):
    post = wren.state()["posts"][-1]
    wren.post(f"/save/{post['id']}")
    wren.post(f"/hide/{post['id']}")
    state = wren.state()
    assert post["id"] in state["saved"]["wren_hollis"]
    assert state["hidden"] == {"wren_hollis": [post["id"]]}
    assert f'id="submission_{post["id"]}"' not in wren.get("/all/new")
    assert f'id="submission_{post["id"]}"' in wren.get("/user/wren_hollis/hidden")
    assert f'id="submission_{post["id"]}"' in wren.get("/user/wren_hollis/saved")
    wren.post(f"/hide/{post['id']}", action="undo")
    assert f'id="submission_{post["id"]}"' in wren.get("/all/new")
    assert wren.client.get("/user/otto_bright/saved").status_code == 403


def test_polls_count_one_vote(wren):
    poll = wren.state()["polls"][0]
    assert f'src="/polls/{poll["id"]}"' in wren.get(f"/{poll['post_id']}")
    page = wren.get(f"/polls/{poll['id']}")
    options = re.findall(r'name="option" value="(\d+)"> ([^<]+)<', page)
    assert [label for _, label in options] == list(poll["votes"])
    assert "Please choose an answer." in wren.post(f"/polls/{poll['id']}", option="99999")
    page = wren.post(f"/polls/{poll['id']}", option=options[1][0])
    assert f"{options[1][1]} (your vote)" in page
    wren.post(f"/polls/{poll['id']}", option=options[0][0])
    votes = wren.state()["polls"][0]["votes"]
    assert votes == poll["votes"] | {options[1][1]: poll["votes"][options[1][1]] + 1}


def test_reports_need_a_reason(wren):
    post = talk(wren.state())
    comment = next(c for c in wren.state()["comments"] if c["post_id"] == post["id"])["id"]
    assert "Please choose a reason." in wren.post(f"/report/post/{post['id']}", reason="Because")
    wren.post(f"/report/post/{post['id']}", reason="Spam", note="Again and again")
    wren.post(f"/report/comment/{comment}", reason="Rude or hateful")
    first, second = wren.state()["reports"]
    assert (first["user"], first["post_id"], first["reason"], first["note"]) == (
        "wren_hollis", post["id"], "Spam", "Again and again",
    )  # fmt: skip
    assert (second["post_id"], second["comment_id"]) == (None, comment)


def test_articles_are_linked_from_their_posts(guest):
    post = next(post for post in guest.state()["posts"] if post["kind"] == "link")
    assert f'href="/saved_copy/{post["id"]}"' in guest.get(address(post))
    article = guest.get(f"/saved_copy/{post['id']}")
    assert post["url"].split("/")[2] in article
    assert f'href="{post["address"]}"' in article


@pytest.mark.parametrize("path", ["", "/", "/-", "/any-slug"])
def test_a_post_is_found_without_its_slug(guest, path):
    post = guest.state()["posts"][0]
    if path == "/":
        assert guest.client.get(f"/f/{post['forum']}/{post['id']}/").status_code == 200
    else:
        assert post["title"].split("'")[0] in guest.get(f"/f/{post['forum']}/{post['id']}{path}")
    assert guest.client.get(f"/f/nope/{post['id']}").status_code == 404
