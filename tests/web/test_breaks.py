"""Texts keep apart what a line break, or the border of a table's cell, keeps apart on the page."""

from __future__ import annotations

import pytest

from confkv_agents.web.breaks import part_lines
from confkv_agents.web.observation import ObservationConfig, write_body
from confkv_agents.web.outline import outline
from confkv_agents.web.tree import Box, parse_snapshot

from .conftest import Driver

HERE = [0, 0, 100, 50]


def texts_of(snapshot: str, blocks: list[list[object]]) -> list[str]:
    root = parse_snapshot(snapshot)
    part_lines(root, blocks)
    return [node.value or node.name for node in root.walk() if node.value or node.role == "text"]


@pytest.mark.parametrize(
    ("told", "lines", "expected"),
    [
        ("onetwothree", ["one", "two", "three"], "one two three"),
        ("one two", ["one ", " two"], "one two"),
        ("Tel: 12Fax: 3", ["", "Tel:  12", "", "Fax: 3", "More"], "Tel: 12 Fax: 3"),
        ("twomore", ["one two", "more"], "two more"),
        ("elsewhere", ["else where", "not"], "elsewhere"),
    ],
)
def test_a_text_is_parted_where_the_page_breaks_the_line(told: str, lines: list[str], expected: str) -> None:
    assert texts_of(f"- paragraph [ref=e1] [box=0,0,90,40]: '{told}'", [[lines, *HERE]]) == [expected]


def test_an_equal_text_elsewhere_on_the_page_stays_as_it_is() -> None:
    snapshot = "- paragraph [ref=e1] [box=0,0,90,40]: ab\n- paragraph [ref=e2] [box=0,60,90,40]: ab"
    assert texts_of(snapshot, [[["a", "b"], *HERE]]) == ["a b", "ab"]


@pytest.mark.browser
@pytest.mark.parametrize(
    ("html", "line"),
    [
        ("<p>one<br>two<br/>three</p>", "text 'one two three'"),
        ("<p>first <b>bold</b><br>second</p>", "text 'first bold second'"),
        ("<table><tr><td>l1<br>l2</td><td>z</td></tr></table>", "row 'l1 l2 | z'"),
        ("<p>a<b>b</b><br></p>", "text 'ab'"),
    ],
)
def test_breaks_of_a_page(driver: Driver, html: str, line: str) -> None:
    assert line in driver.open(html).text.split("\n")


ROW = """\
- row [ref=e1] [box=0,0,300,20]:
  - cell [ref=e2] [box=0,0,90,20]:
    - {first}
  - cell "3" [ref=e4] [box=100,0,90,20]
  - cell "{third}" [ref=e5] [box=200,0,90,20]"""


@pytest.mark.parametrize(
    ("first", "third", "expected"),
    [
        ('link "go" [ref=e3] [box=0,0,20,20]', "3", ["link 'go' [1]", "text '3'", "text '3'"]),
        ('link "3" [ref=e3] [box=0,0,20,20]', "4", ["link '3' [1]", "text '3'", "text '4'"]),
        ('textbox "3" [ref=e3] [box=0,0,20,20]', "4", ["textbox '3' [1]", "text '4'"]),
    ],
)
def test_equal_cells_side_by_side_are_two_facts(first: str, third: str, expected: list[str]) -> None:
    lines = outline(parse_snapshot(ROW.format(first=first, third=third)), Box(0, 0, 500, 500))
    for form in ("label-first", "compact"):
        body = write_body(lines, ObservationConfig(format=form))  # type: ignore[arg-type]
        assert len(body.text.split("\n")) == len(expected)
    assert write_body(lines, ObservationConfig()).text.split("\n") == expected
