"""A page too deep or too large for a snapshot is still read, and acted on, without trying again and again."""

from __future__ import annotations

import pytest

from confkv_agents.web import reading
from confkv_agents.web.flat import DEEPEST, READ_DEPTH, flat_tree
from confkv_agents.web.outline import outline
from confkv_agents.web.tree import Box

from .conftest import Driver

FIELD = {"number": 2, "box": [0, 0, 50, 20], "options": [], "value": "", "checked": False, "disabled": False, "url": ""}


def test_a_flat_tree_has_what_an_outline_needs() -> None:
    found = [
        {"role": "text", "name": " Some \n text "},
        FIELD | {"role": "combobox", "name": "Size", "options": [["S", False], ["M", True]]},
        FIELD | {"role": "checkbox", "name": "New", "checked": True, "disabled": True, "number": 3},
        FIELD | {"role": "link", "name": "", "url": "/x", "number": 4},
        FIELD | {"role": "button", "name": "below", "box": [0, 900, 50, 20]},
    ]
    lines = outline(flat_tree(found), Box(0, 0, 500, 500))
    assert [(line.role, line.name, line.ref) for line in lines] == [
        ("text", "Some text", ""),
        ("combobox", "Size", "own-2"),
        ("checkbox", "New", "own-3"),
        ("link", "/x", "own-4"),
    ]
    assert (lines[1].value, lines[1].options, lines[2].states) == ("M", ("S", "M"), ("checked", "disabled"))


TOP = """<title>Top</title><p>A text <b>in bold</b></p><a href=/next>Next</a><p hidden>hidden</p>
<button onclick="document.title = 'went'"><i>Go</i></button><label>Name <input value=Ann></label>
<select><option>a<option selected>b</select><input type=checkbox checked aria-label=Yes><input type=hidden value=h>"""


@pytest.mark.browser
def test_lists_inside_of_lists_are_read_at_once(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    monkeypatch.setattr(reading, "_DEEP_MS", 100)
    monkeypatch.setattr(reading, "flat_tree", lambda found: tried.append(1) or flat_tree(found))
    shown = driver.open(TOP + "<ul><li>deep" * 900)
    assert tried == [1]
    assert [(each.role, each.name, each.value) for each in shown.elements] == [
        ("link", "Next", ""),
        ("button", "Go", ""),
        ("textbox", "Name", "Ann"),
        ("combobox", "", "b"),
        ("checkbox", "Yes", ""),
    ]
    assert "text 'in bold'" in shown.text and "text 'deep'" in shown.text and "hidden" not in shown.text
    assert driver.env.step(f"click [{driver.id_of('Go')}]").observation.title == "went"
    result = driver.env.step(f"type [{driver.id_of('Name')}] [Bea] [0]")
    assert result.error is None and "value 'Bea'" in result.observation.text


@pytest.mark.browser
def test_a_page_too_large_for_a_snapshot_is_read_where_it_is_in_view(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_SNAPSHOT_MS", 50)
    shown = driver.open("<title>Many</title>" + "".join(f"<p><a href=/{n}>Link {n}</a>" for n in range(30_000)))
    assert shown.elements[0].name == "Link 0" and 10 < len(shown.elements) < 100
    assert "cannot be read" not in shown.text
    for _ in range(2):
        shown = driver.env.step("press [End]").observation
    assert shown.elements[-1].name == "Link 29999"


@pytest.mark.browser
@pytest.mark.parametrize(("html", "depth"), [("<p>x", 2), ("<div>" * 40, 41), ("<p>a<p>b<i><b>c</b></i><p>d", 4)])
def test_depth_counts_elements_inside_of_each_other(driver: Driver, html: str, depth: int) -> None:
    driver.open(html)
    session = driver.env._session
    assert session is not None
    assert driver.env.browser.call(lambda: session.page.evaluate(READ_DEPTH), 5) == depth < DEEPEST
