"""Words, blocks and pictures that answer to a click are told and can be clicked, whatever element they are."""

from __future__ import annotations

import pytest

from confkv_agents.web.clicks import add_clicks, selector
from confkv_agents.web.outline import outline
from confkv_agents.web.tree import Box, parse_snapshot

from .conftest import Driver

SAYS = "document.title = this.id"


def lines_of(snapshot: str, places: list[list[object]]) -> list[str]:
    root = parse_snapshot(snapshot)
    add_clicks(root, places)
    lines = outline(root, Box(0, 0, 500, 500))
    return [f"{line.role} {line.name}{' ' if line.ref else ''}{line.ref}" for line in lines]


TWO = "- paragraph [ref=e1] [box=0,0,200,20]: see more here\n- paragraph [ref=e2] [box=0,30,200,20]: next"


@pytest.mark.parametrize(
    ("snapshot", "places", "expected"),
    [
        (TWO, [[7, "more", 30, 2, 40, 16]], ["text see more here", "clickable more own-7", "text next"]),
        (TWO, [[7, "see more here", 0, 0, 199, 20]], ["clickable see more here e1", "text next"]),
        (TWO, [[7, "over both", 0, 10, 200, 40]], ["clickable over both own-7", "text see more here", "text next"]),
        (
            '- cell "3 edit" [ref=e1] [box=0,0,90,20]',
            [[1, "edit", 20, 0, 30, 20]],
            ["text 3 edit", "clickable edit own-1"],
        ),
        ('- img "pic" [ref=e1] [box=0,0,50,50]', [[1, "", 0, 0, 50, 50]], ["clickable pic e1"]),
        (
            "- iframe [ref=e1] [box=0,0,90,90]:\n  - text: in",
            [[1, "out", 5, 5, 9, 9]],
            ["clickable out own-1", "text in"],
        ),
        (TWO, [], ["text see more here", "text next"]),
    ],
)
def test_where_a_place_goes(snapshot: str, places: list[list[object]], expected: list[str]) -> None:
    assert sorted(lines_of(snapshot, places)) == sorted(expected)


def test_handles_of_both_kinds() -> None:
    assert (selector("e12"), selector("f1e3"), selector("own-4")) == ("aria-ref=e12", "aria-ref=f1e3", "confkv-own=4")


KINDS = f"""<style>.hand {{ cursor: pointer }}</style>
<p>Some <span id=attribute onclick="{SAYS}">words</span> and <a id=anchor onclick="{SAYS}">a link</a>,
<span id=hand class=hand>a hand</span> and <b id=listener>bold ones</b>.</p>
<div id=block>A block</div><ul><li id=item onclick="{SAYS}">An item</li></ul>
<img id=picture alt="A picture" src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==" width=40
 height=40 onclick="{SAYS}"><table><tr id=row onclick="{SAYS}"><td>1</td><td>2</td><td>3</td></tr></table>
<script>for (const id of ['hand', 'listener', 'block'])
  document.getElementById(id).addEventListener('click', event => {{ document.title = id }});</script>"""


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("words", "attribute"),
        ("a link", "anchor"),
        ("a hand", "hand"),
        ("bold ones", "listener"),
        ("A block", "block"),
        ("An item", "item"),
        ("A picture", "picture"),
        ("1 2 3", "row"),
    ],
)
def test_each_kind_is_told_and_clicked(driver: Driver, name: str, id: str) -> None:
    driver.open(KINDS)
    result = driver.env.step(f"click [{driver.id_of(name, 'clickable')}]")
    assert (result.error, result.observation.title) == (None, id)


@pytest.mark.browser
def test_what_says_so_itself_is_told_once_and_a_listening_page_is_nothing(driver: Driver) -> None:
    """A handler on a whole part of the page, or around fields, is no thing to click."""
    shown = driver.open(
        "<div id=all><p>Text</p><button onclick=1>Go</button><label onclick=1>Name <input></label>"
        "<a href=/x><span onclick=1>In</span></a></div><p class=h hidden onclick=1>gone</p>"
        "<script>all.onclick = document.body.onclick = onclick = () => 1; addEventListener('click', () => 1)</script>"
    )
    assert [(each.role, each.name) for each in shown.elements] == [
        ("button", "Go"),
        ("textbox", "Name"),
        ("link", "In"),
    ]


@pytest.mark.browser
def test_a_handle_means_the_same_element_as_long_as_it_lives(driver: Driver) -> None:
    driver.open(
        "<p id=p>x <b id=first>first</b></p><button id=add>Add</button><script>"
        "first.onclick = () => { document.title = 'first' };"
        "add.onclick = () => { p.insertAdjacentHTML('afterbegin', '<b onclick=1>new</b> ') }</script>"
    )
    before = driver.env.observation
    assert before is not None
    driver.env.step(f"click [{driver.id_of('Add')}]")
    assert driver.id_of("new") != driver.id_of("first")
    number = next(each.id for each in before.elements if each.name == "first")
    assert driver.env.step(f"click [{number}]", seen=before).observation.title == "first"
    seen = driver.env.observation
    number = driver.id_of("first")
    driver.env.browser.call(lambda: driver.env._session.page.evaluate("first.remove()"), 5)  # type: ignore[union-attr]
    result = driver.env.step(f"click [{number}]", seen=seen)
    assert result.error is not None and "is gone" in result.error
