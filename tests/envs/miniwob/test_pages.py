"""Every page starts with a seed, says what it asks for, and can be observed; the same seed asks for the same."""

from __future__ import annotations

import pytest

from confkv_agents import plugins
from confkv_agents.web.browser import Browser
from confkv_agents.web.outline import outline
from confkv_agents.web.reading import read_page
from confkv_agents.web.sites import SiteServer
from confkv_agents.web.tree import Box

pytestmark = pytest.mark.browser

MINIWOB = plugins.load_module(plugins.find_env("miniwob"), "envs.miniwob")


def test_all_125_pages_start_are_observed_and_ask_for_the_same_with_the_same_seed() -> None:
    """One tab for all: what the environment does around a page is tested with the oracles."""
    MINIWOB.fetch()
    window = Box(0, 0, MINIWOB.VIEWPORT["width"], MINIWOB.VIEWPORT["height"])
    asked: dict[str, list[str]] = {name: [] for name in MINIWOB.NAMES}
    errors: list[str] = []
    with Browser() as browser, SiteServer("miniwob") as server:
        context = browser.new_context(viewport=MINIWOB.VIEWPORT)

        def visit() -> None:
            page = context.new_page()
            page.on("pageerror", lambda error: errors.append(f"{page.url}: {error}"))
            for name in MINIWOB.NAMES:
                for turn in (1, 2):
                    server.reset(5)
                    with page.expect_response("**/__report__"):
                        page.goto(f"{server.url}/miniwob/{name}.html")
                    state = server.state()
                    assert (state["task"], state["over"]) == (name, False)
                    asked[name].append(state["intent"])
                    if turn == 1:
                        lines = outline(read_page(page).root, window)
                        assert any(line.name for line in lines), name

        browser.call(visit, 500)
    assert errors == []
    assert all(first and first == second for first, second in asked.values())
    assert len({first for first, _ in asked.values()}) > 100
