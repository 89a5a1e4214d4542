"""Dialogs, tabs and downloads: answered, followed and told."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler

import pytest

from tests.web.conftest import Driver

pytestmark = pytest.mark.browser


def test_confirm_is_dismissed_by_default_and_told(driver: Driver) -> None:
    driver.open("<button onclick=\"document.title = confirm('Delete \\'it\\'?')\">Delete</button>")
    result = driver.env.step(f"click [{driver.id_of('Delete')}]")
    assert result.observation.title == "false"
    dialog = result.observation.dialog
    assert dialog is not None
    assert (dialog.type, dialog.message, dialog.answer) == ("confirm", "Delete 'it'?", "dismissed")
    assert "dialog [accept]" in result.observation.outcome


def test_dialog_action_decides_the_next_one_only(driver: Driver) -> None:
    driver.open("<button onclick=\"document.title += confirm('Sure?')\">Ask</button>")
    number = driver.id_of("Ask")
    driver.env.step("dialog [accept]")
    assert driver.env.step(f"click [{number}]").observation.title == "true"
    assert driver.env.step(f"click [{number}]").observation.title == "truefalse"


def test_prompt_gets_the_text_and_alert_does_not_use_it_up(driver: Driver) -> None:
    driver.open("<button onclick=\"alert('Hi'); document.title = prompt('Name?')\">Ask</button>")
    driver.env.step("dialog [accept] [Ada]")
    result = driver.env.step(f"click [{driver.id_of('Ask')}]")
    assert result.observation.title == "Ada"
    assert "(alert) said 'Hi'" in result.observation.outcome


def test_alert_while_loading_does_not_hold_the_page(driver: Driver) -> None:
    observation = driver.open("<h1>Before</h1><script>alert('Loading')</script><h1>After</h1>")
    assert "heading 'After'" in observation.text
    assert observation.dialog is not None and observation.dialog.message == "Loading"


def test_page_that_asks_before_leaving_is_left(driver: Driver) -> None:
    driver.pages.pages["/next"] = "<title>Next</title>"
    driver.open(
        "<input aria-label=a><a href=/next>Go</a><script>onbeforeunload = event => event.preventDefault()</script>"
    )
    driver.env.step(f"type [{driver.id_of('a')}] [x]")
    assert driver.env.step(f"click [{driver.id_of('Go')}]").observation.title == "Next"


def test_new_tab_becomes_the_current_one_and_is_told(driver: Driver) -> None:
    driver.pages.pages["/two"] = "<title>Two</title><p>second</p>"
    driver.open("<title>One</title><a href=/two target=_blank>Open</a>")
    result = driver.env.step(f"click [{driver.id_of('Open')}]")
    assert "a new tab 1 opened and is now the current one" in result.observation.outcome
    assert [(tab.title, tab.active) for tab in result.observation.tabs] == [("One", False), ("Two", True)]
    assert "Tab 0: 'One' | Tab 1 (current): 'Two'" in result.observation.text
    assert driver.env.step("tab_focus [0]").observation.title == "One"
    driver.env.step("tab_focus [1]")
    closed = driver.env.step("close_tab").observation
    assert (closed.title, len(closed.tabs)) == ("One", 1)


def test_tab_that_closes_itself_gives_way_to_the_one_before(driver: Driver) -> None:
    driver.pages.pages["/two"] = "<title>Two</title><button onclick=window.close()>Close</button>"
    driver.open("<title>One</title><a href=/two target=_blank rel=opener>Open</a>")
    driver.env.step(f"click [{driver.id_of('Open')}]")
    result = driver.env.step(f"click [{driver.id_of('Close')}]")
    assert result.error is None
    assert result.observation.title == "One"


def test_last_tab_closed_leaves_an_empty_one(driver: Driver) -> None:
    driver.open("<title>One</title>")
    result = driver.env.step("close_tab")
    assert result.observation.url == "about:blank"
    assert len(result.observation.tabs) == 1


def test_two_start_pages_open_as_tabs_with_the_first_current(driver: Driver) -> None:
    driver.pages.pages["/two"] = "<title>Two</title>"
    observation = driver.open("<title>One</title>", start_url="__PAGES__/ |AND| __PAGES__/two")
    assert [(tab.title, tab.active) for tab in observation.tabs] == [("One", True), ("Two", False)]


def test_download_is_told(driver: Driver) -> None:
    def file(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/octet-stream")
        handler.send_header("Content-Disposition", "attachment; filename=list.csv")
        handler.send_header("Content-Length", "1")
        handler.end_headers()
        handler.wfile.write(b"x")

    driver.pages.pages["/file"] = file
    driver.open("<a href=/file>Get</a>")
    assert "'list.csv' was downloaded" in driver.env.step("click [1]").observation.outcome
