"""What only a browser shows: script errors, cut-off pages, votes in place, dialogs, tabs, frames, covered text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from confkv_agents.web.chromium import find_chromium
from confkv_agents.web.sites import SiteServer

pytestmark = pytest.mark.browser

SIZES = {"desktop": {"width": 1280, "height": 720}, "phone": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    options = find_chromium()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=options.executable_path, channel=options.channel)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server() -> Iterator[SiteServer]:
    with SiteServer("forum", 7) as running:
        yield running


@pytest.fixture
def page(chromium: Any, server: SiteServer, request: pytest.FixtureRequest) -> Iterator[Any]:
    server.reset(7)
    context = chromium.new_context(viewport=SIZES[getattr(request, "param", "desktop")], base_url=server.url)
    context.set_default_timeout(10_000)
    yield context.new_page()
    context.close()


def log_in(page: Any) -> None:
    page.goto("/login")
    page.get_by_label("Username").fill("wren_hollis")
    page.get_by_label("Password").fill("Password.123")
    with page.expect_navigation():
        page.get_by_role("button", name="Log in").click()


def look(page: Any, paths: list[str]) -> list[str]:
    """Open each page and note what is wrong with it."""
    problems: list[str] = []
    page.on("console", lambda message: problems.append(f"{page.url}: {message.text}"))
    page.on("pageerror", lambda error: problems.append(f"{page.url}: {error}"))
    for path in paths:
        page.goto(path, wait_until="load")
        width, window = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        if width > window:
            problems.append(f"{path}: {width} pixels wide in a window of {window}")
        broken = page.evaluate("[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)")
        problems += [f"{path}: {source} does not load" for source in broken]
        unnamed = page.evaluate(
            "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
            ".filter(e => !e.labels.length && !e.ariaLabel).map(e => e.outerHTML)"
        )
        problems += [f"{path}: {field} has no label" for field in unnamed]
    return problems


def first(server: SiteServer, **wanted: Any) -> dict[str, Any]:
    return next(post for post in server.state()["posts"] if all(post[key] == value for key, value in wanted.items()))


@pytest.mark.parametrize("page", SIZES, indirect=True)
def test_pages_are_whole_and_silent(page: Any, server: SiteServer) -> None:
    posts = {kind: first(server, kind=kind) for kind in ("text", "link", "picture")}
    longest = max(server.state()["posts"], key=lambda post: post["comments"])
    poll = server.state()["polls"][0]["post_id"]
    shared = ["/", "/f/pets/top?t=month", "/forums", "/forums/all", "/search?q=winter", "/search?q=winter&in=comments",
              "/user/otto_bright", longest["address"], f"/{poll}", f"/picture/{posts['picture']['id']}",
              f"/saved_copy/{posts['link']['id']}", *(post["address"] for post in posts.values())]  # fmt: skip
    assert look(page, [*shared, "/login", "/registration"]) == []
    log_in(page)
    own = ["/submit/pets", "/messages", "/messages/thread/1", "/create_forum", "/user/wren_hollis/saved",
           "/user/wren_hollis/account", "/user/wren_hollis/edit_biography", "/user/wren_hollis/block_list",
           f"/report/post/{posts['text']['id']}", "/user/otto_bright/compose_message"]  # fmt: skip
    assert look(page, [*shared, *own]) == []


def test_a_vote_is_counted_in_place(page: Any, server: SiteServer) -> None:
    log_in(page)
    page.goto("/all/new")
    post = server.state()["posts"][-1]
    entry = page.locator(f"#submission_{post['id']}")
    entry.get_by_role("button", name="Downvote").click()
    score = entry.locator(".vote__net-score")
    entry.locator("form.vote--user-downvoted").wait_for()
    assert score.inner_text() == str(post["score"] - 1)
    entry.get_by_role("button", name="Downvote").click()
    entry.locator("form.vote:not(.vote--user-downvoted)").wait_for()
    assert score.inner_text() == str(post["score"])
    assert server.state()["post_votes"] == []


def test_deleting_asks_first(page: Any, server: SiteServer) -> None:
    log_in(page)
    post = first(server, author="wren_hollis")
    page.goto(post["address"])
    asked: list[str] = []
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    page.get_by_label("Post", exact=True).get_by_role("button", name="Delete").click()
    assert asked == ["Delete this post?"]
    assert first(server, id=post["id"])["deleted"] is False
    page.once("dialog", lambda dialog: dialog.accept())
    with page.expect_navigation():
        page.get_by_label("Post", exact=True).get_by_role("button", name="Delete").click()
    assert first(server, id=post["id"])["deleted"] is True


def test_picture_opens_in_a_new_tab(page: Any, server: SiteServer) -> None:
    page.goto(first(server, kind="picture")["address"])
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Open picture in a new tab").click()
    opened.value.wait_for_load_state()
    image = opened.value.locator(".lightbox__image")
    assert image.evaluate("node => node.naturalWidth") == 720


def test_poll_in_its_frame(page: Any, server: SiteServer) -> None:
    log_in(page)
    poll = server.state()["polls"][0]
    page.goto(f"/{poll['post_id']}")
    frame = page.frame_locator("iframe[title=Poll]")
    label = next(iter(poll["votes"]))
    frame.get_by_label(label).check()
    frame.get_by_role("button", name="Vote").click()
    frame.get_by_text(f"{label} (your vote)").wait_for()
    assert server.state()["polls"][0]["votes"][label] == poll["votes"][label] + 1


def test_spoilers_stay_covered_until_asked_for(page: Any, server: SiteServer) -> None:
    post = next(post for post in server.state()["posts"] if ">!" in post["body"])
    page.goto(post["address"])
    covered = page.locator(".submission__body .spoiler").first
    assert not covered.is_visible()
    page.locator(".submission__body").get_by_role("button", name="Show spoiler").first.click()
    assert covered.is_visible()


def test_comments_fold(page: Any, server: SiteServer) -> None:
    comment = next(c for c in server.state()["comments"] if c["parent_id"] is not None)
    post = first(server, id=comment["post_id"])
    page.goto(post["address"])
    parent = page.locator(f"#comment_{comment['parent_id']}")
    child = page.locator(f"#comment_{comment['id']}")
    parent.get_by_role("button", name="Collapse").first.click()
    assert not child.is_visible()
    parent.get_by_role("button", name="Expand").first.click()
    assert child.is_visible()


def test_submit_form_shows_the_fields_of_a_kind(page: Any) -> None:
    log_in(page)
    page.goto("/submit")
    assert not page.get_by_label("URL").is_visible()
    page.get_by_label("Link", exact=True).check()
    assert page.get_by_label("URL").is_visible()
    page.get_by_label("Picture", exact=True).first.check()
    assert not page.get_by_label("URL").is_visible()
    assert page.locator("#picture").is_visible()


# How the public tasks of VisualWebArena and WebArena look at their forum.
def test_public_locators_find_what_they_look_for(page: Any, server: SiteServer) -> None:
    log_in(page)
    post = next(post for post in server.state()["posts"] if post["kind"] == "picture" and post["comments"] > 1)
    page.goto(post["address"])
    with page.expect_response("**/sv/*"):
        page.locator(".submission .vote__up").click()
    page.get_by_label("Write a comment").fill("It has 4 wheels")
    with page.expect_navigation():
        page.get_by_role("button", name="Post comment").click()
    page.goto("/user/wren_hollis/edit_biography")
    page.get_by_label("Biography").fill("I am a robot")
    with page.expect_navigation():
        page.get_by_role("button", name="Save").click()
    page.goto("/user/otto_bright/compose_message")
    page.get_by_label("Message", exact=True).fill("May I print it?")
    with page.expect_navigation():
        page.get_by_role("button", name="Send").click()
    locators = {
        f"/f/{post['forum']}/{post['id']}": {
            "document.querySelectorAll('div.submission__vote')[0].querySelector('form').getAttribute('class')":
                "vote vote--user-upvoted",
            "document.querySelector('.submission__inner').outerText": post["title"],
            "document.querySelector('#main > article > div > div.submission__inner > header').textContent":
                post["forum"],
            "[...document.querySelector('.submission__inner').querySelectorAll('[href],[src]')]"
            ".map(elem => elem.getAttribute('href') || elem.getAttribute('src')).join(' ')": post["picture"],
            "document.querySelector('.submission__link').textContent": post["title"],
            "document.querySelector('.submission__submitter').textContent": post["author"],
            "document.querySelector('.submission__image').src": post["picture"],
        },
        "/user/wren_hollis": {
            "document.querySelector('.user-bio__biography').outerText": "I am a robot",
            "document.querySelector('#main > article:nth-child(3)').textContent": "It has 4 wheels",
        },
        "/messages": {
            "document.querySelector('#main > table > tbody').textContent": "May I print it?",
            "document.querySelector('.table').textContent": "otto_bright",
        },
        "/": {
            "document.querySelector('#sidebar > section > ul').textContent":
                server.state()["subscriptions"]["wren_hollis"][0],
            "document.querySelector('#sidebar > section').outerText": "Subscribed",
            "document.querySelector('.site-nav').textContent": "wren_hollis",
        },
    }  # fmt: skip
    for path, expected in locators.items():
        page.goto(path)
        for locator, part in expected.items():
            assert part in str(page.evaluate(f"() => {locator}")), locator
