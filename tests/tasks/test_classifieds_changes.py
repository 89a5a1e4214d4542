"""The check of what was changed in the classifieds sees every change of the demo user's own listings."""

from __future__ import annotations

import html
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import sync_playwright
from starlette.testclient import TestClient

from confkv_agents import plugins
from confkv_agents.web.chromium import find_chromium
from confkv_agents.web.tasks import Drawing, World

pytestmark = pytest.mark.browser

SEED = 7
SITE = plugins.load_module(plugins.find_env("classifieds"), "envs.classifieds")
SHARED = plugins.load_module(
    plugins.data_dir("tasks") / "templates" / "classifieds" / "_classifieds.py", "tasks.templates.classifieds"
)


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    options = find_chromium()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=options.executable_path, channel=options.channel)
        yield browser.new_page()
        browser.close()


@pytest.fixture
def state(tmp_path) -> Iterator[dict[str, Any]]:
    app = SITE.create_app(tmp_path / "classifieds.sqlite", SEED)
    yield TestClient(app).get("/__state__").json()
    app.state.database.close()


def seen(page: Any, state: dict[str, Any]) -> str:
    """What the check reads when the site is in a state."""
    world = World(SEED)
    check = SHARED.changes(Drawing(world, random.Random(1), "heldout"))["program_html"][0]
    world.close()
    page.set_content(f"<pre>{html.escape(json.dumps(state))}</pre>")
    return str(page.evaluate(check["locator"].removeprefix("lambda:")))


def own(state: dict[str, Any]) -> dict[str, Any]:
    return next(each for each in state["listings"] if each["seller"] == SHARED.ME)


def test_nothing_is_seen_where_nothing_was_changed(page, state):
    assert seen(page, state) == "nothing"


def test_a_text_of_the_same_length_is_seen(page, state):
    mine = own(state)
    mine["description"] = mine["description"][::-1]
    assert seen(page, state) == f"rewritten {mine['id']}"


def test_words_moved_from_the_title_to_the_text_are_seen(page, state):
    mine = own(state)
    mine["title"], mine["description"] = mine["title"][:-1], mine["title"][-1] + mine["description"]
    assert seen(page, state) == f"rewritten {mine['id']}"


def test_a_price_is_seen_by_title(page, state):
    mine = own(state)
    mine["price"] += 100
    assert seen(page, state) == f"changed {mine['title']}: {mine['price'] // 100}"


def test_a_listing_that_another_took_the_place_of_is_seen(page, state):
    own(state)["id"] = 999_999
    assert seen(page, state) == "posted or deleted"
