"""What only a browser shows: script errors, cut-off pages, dialogs, tabs, frames, shadow roots, dead pictures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from confkv_agents.web.chromium import find_chromium
from confkv_agents.web.sites import SiteServer

from .conftest import address, photo

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
    with SiteServer("classifieds", 7) as running:
        yield running


@pytest.fixture(params=SIZES)
def page(chromium: Any, server: SiteServer, request: pytest.FixtureRequest) -> Iterator[Any]:
    server.reset(7)
    context = chromium.new_context(viewport=SIZES[request.param], base_url=server.url)
    context.set_default_timeout(10_000)
    yield context.new_page()
    context.close()


def sign_in(page: Any) -> None:
    page.goto(address("login"))
    page.get_by_label("Email").fill("lena.marsh@kerbside.test")
    page.get_by_label("Password").fill("Password.123")
    with page.expect_navigation():
        page.get_by_role("button", name="Sign in").click()


def look(page: Any, paths: list[str]) -> list[str]:
    """Open each page and note what is wrong with it."""
    problems: list[str] = []
    page.on("console", lambda message: problems.append(f"{page.url}: {message.text}"))
    page.on("pageerror", lambda error: problems.append(f"{page.url}: {error}"))
    page.on("request", lambda request: problems.extend([request.url] if "127.0.0.1" not in request.url else []))
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


def test_pages_are_whole_and_silent(page: Any, server: SiteServer) -> None:
    listings = server.state()["listings"]
    own = next(item["id"] for item in listings if item["user_id"] == 1)
    other = next(item["id"] for item in listings if item["user_id"] > 3 and item["was"] and item["facts"]["mark"])
    paths = [
        "/", address("search"), address("search", sCategory=4, sPriceMin="x", sShowAs="gallery"),
        address("search", sPattern="zzz"), address("item", id=other), address("item", "photo", id=other, photo=1),
        address("item", "contact", id=other), address("item", "report", id=other), address("wanted"),
        address("wanted", id=1), address("rules"), address("user", "pub_profile", id=5), address("login"),
        address("register", "register"),
    ]  # fmt: skip
    assert look(page, paths) == []
    sign_in(page)
    paths = [
        address("user", "items"), address("user", "favourites"), address("user", "messages"),
        address("user", "message", id=1), address("user", "profile"), address("item", id=own),
        address("item", "item_edit", id=own), address("item", "item_photos", id=own), address("item", "item_add"),
    ]  # fmt: skip
    assert look(page, paths) == []


def test_posting_with_a_photo_and_deleting_asks_first(page: Any, server: SiteServer, tmp_path: Path) -> None:
    (tmp_path / "lamp.png").write_bytes(photo())
    sign_in(page)
    page.get_by_role("link", name="Post a listing").click()
    with page.expect_popup() as rules:
        page.get_by_role("link", name="Rules for listings").first.click()
    assert "SB229" in rules.value.get_by_role("table").inner_text(), "the rules open in a tab of their own"
    page.get_by_label("Category").select_option("Household & Books")
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Title").fill("Paper lamp, white")
    page.get_by_label("Description").fill("Hangs from the ceiling.")
    page.get_by_label("Price in dollars").fill("9")
    page.get_by_label("Place").select_option("Brindle")
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Photo", exact=True).set_input_files(tmp_path / "lamp.png")
    page.get_by_role("button", name="Add photo").click()
    page.get_by_text("The photo is added.").wait_for()
    page.get_by_role("link", name="Continue").click()
    page.get_by_role("button", name="Publish listing").click()
    page.get_by_text("Your listing is published.").wait_for()
    from playwright.sync_api import expect

    expect(page.locator(".item-photos img").first).to_have_js_property("naturalWidth", 400)
    delete = page.get_by_role("button", name="Delete listing")
    asked: list[str] = []
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    delete.click()
    assert asked == ["Delete Paper lamp, white? This cannot be undone."]
    assert any(item["title"] == "Paper lamp, white" for item in server.state()["listings"])
    page.once("dialog", lambda dialog: dialog.accept())
    with page.expect_navigation():
        delete.click()
    assert not any(item["title"] == "Paper lamp, white" for item in server.state()["listings"])


def test_gallery_frame_and_shadow_widgets_work(page: Any, server: SiteServer) -> None:
    listings = server.state()["listings"]
    item = next(i for i in listings if i["user_id"] > 3 and i["was"] and i["facts"]["mark"])
    page.goto(address("item", id=item["id"]))
    off = round(100 - 100 * item["price"] / item["was"])
    assert page.locator("price-drop").first.get_by_text(f"{off}% off").is_visible()
    page.get_by_role("link", name=f"Photo 3 of {len(item['photos'])}").click()
    assert f"/photo/{item['photos'][2]['id']}.webp" in page.locator(".main-photo img").get_attribute("src")
    assert page.locator(".full-size").get_attribute("href").endswith("photo=3")
    frame = page.frame_locator("iframe[title='Safety tips']")
    frame.get_by_role("link", name="Next tip").click()
    frame.get_by_text("Take someone along").wait_for()
    page.get_by_role("radio", name="4 stars").click()
    assert page.get_by_role("radio", name="4 stars").get_attribute("aria-checked") == "true"
    for label, text in (("Title", "Urgent"), ("Your name", "Ada"), ("Your email", "a@b.test"), ("Comment", "Hello")):
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name="Send comment").click()
    page.get_by_text("Your comment is published.").wait_for()
    last = server.state()["comments"][-1]
    assert (last["title"], last["rating"]) == ("Urgent", 4)
    # What tasks of VisualWebArena read from a listing.
    for selector, expected in {
        ".price": f"{item['price'] / 100:.2f}", ".desc": item["description"], ".comments_list": "Hello",
        ".comments_list > div:last-child h3": "Urgent",
    }.items():  # fmt: skip
        assert expected in page.locator(selector).first.inner_text()
    assert page.locator(".item-photos img").first.is_visible()


def test_choosing_an_order_sorts_at_once(page: Any, server: SiteServer) -> None:
    page.goto(address("search", sCategory=6))
    with page.expect_navigation():
        page.get_by_label("Sort by").select_option("Lowest price first")
    cheapest = min((i for i in server.state()["listings"] if i["category_id"] == 6), key=lambda i: i["price"])
    assert page.locator(".listing-row .title").first.inner_text() == cheapest["title"]
