"""The compact form says a page's head and foot once, and of a page that stayed only what changed."""

from __future__ import annotations

from dataclasses import replace

from confkv_agents.web.compact import short_outcome, write_line
from confkv_agents.web.observation import ObservationConfig, Scroll, Tab, compose, write_body, write_head
from confkv_agents.web.outline import Line, outline
from confkv_agents.web.tree import Box, parse_snapshot

CONFIG = ObservationConfig(format="compact")
HEAD = [
    Line("link", "Shop", 0, ref="e1", landmark="banner"),
    Line("textbox", "Search", 0, ref="e2", landmark="banner"),
    Line("link", "Cart", 0, ref="e3", landmark="banner"),
]
FOOT = [
    Line("text", "© 2026", 0, landmark="contentinfo"),
    Line("link", "Help", 0, ref="e9", landmark="contentinfo"),
]
PAGE = [
    Line("heading", "Mugs", 0),
    Line("link", "Red Mug", 0, ref="e4"),
    Line("text", "$7", 0),
    Line("spinbutton", "Qty", 0, ref="e5", value="1"),
    Line("checkbox", "Gift", 0, ref="e6", states=("checked",)),
    Line("combobox", "Sort", 0, ref="e7", value="New", options=("New", "Old", "Best")),
    Line("button", "Add", 0, ref="e8"),
]
WRITTEN = [
    "# 'Mugs'",
    "'Red Mug' [4]",
    "'$7'",
    "field 'Qty' [5] = '1'",
    "checkbox 'Gift' [6] checked",
    "list 'Sort' [7] = 'New' of 'New', 'Old', 'Best'",
    "button 'Add' [8]",
]
FIRST = [
    "banner: 'Shop' [1]; field 'Search' [2]; 'Cart' [3]",
    *WRITTEN,
    "contentinfo: '© 2026'; 'Help' [9]",
]


def body(lines: list[Line], known=None, page: str = "http://shop.test/mugs"):
    return write_body(lines, CONFIG, site="shop.test", page=page, known=known)


def test_a_site_seen_first_is_written_out():
    first = body([*HEAD, *PAGE, *FOOT])
    assert first.text.splitlines() == FIRST
    assert [element.name for element in first.elements] == [
        "Shop", "Search", "Cart", "Red Mug", "Qty", "Gift", "Sort", "Add", "Help",
    ]  # fmt: skip


def test_head_and_foot_are_not_repeated_on_the_next_page_but_their_numbers_are_told():
    known = body([*HEAD, *PAGE, *FOOT]).known
    cart = replace(HEAD[2], name="Cart (1)")
    second = body([*HEAD[:2], cart, *PAGE[:2], *FOOT], known, page="http://shop.test/cups")
    assert second.text.splitlines() == [
        "banner [1]-[3] as before, but 'Cart (1)' [3]",
        "# 'Mugs'",
        "'Red Mug' [4]",
        "contentinfo [5] as before",
    ]
    assert second.elements[2].name == "Cart (1)"
    third = body([*HEAD[:2], cart, *PAGE[:2], *FOOT], second.known, page="http://shop.test/bowls")
    assert third.text.splitlines()[0] == "banner [1]-[3] as before"


def test_a_head_with_other_lines_and_another_site_are_written_out():
    known = body([*HEAD, *PAGE]).known
    assert body(HEAD[:2], known).text == "banner: 'Shop' [1]; field 'Search' [2]"
    other = write_body(HEAD, CONFIG, site="forum.test", page="http://forum.test/", known=known)
    assert other.text == FIRST[0]


def test_of_the_same_page_only_what_changed_is_written():
    known = body([*HEAD, *PAGE, *FOOT]).known
    typed = [*PAGE[:3], replace(PAGE[3], value="2"), *PAGE[4:]]
    assert body([*HEAD, *typed, *FOOT], known).text.splitlines() == [
        "banner [1]-[3] as before",
        "page [4]-[8] as before, but field 'Qty' [5] = '2'",
        "contentinfo [9] as before",
    ]
    assert "page [4]-[8] as before\n" in body([*HEAD, *PAGE, *FOOT], known).text


def test_a_page_is_written_out_when_it_changed_much_or_moved_or_was_left_in_between():
    known = body(PAGE).known
    assert body([PAGE[0], *[replace(line, name="x") for line in PAGE[1:4]], *PAGE[4:]], known).text.startswith(
        "# 'Mugs'"
    )
    assert body([Line("text", "Added", 0), *PAGE], known).text.startswith("'Added'\n# 'Mugs'")
    assert body([Line("link", "New", 0, ref="e0"), *PAGE[1:]], known).text.startswith("'New' [1]")
    away = body(PAGE[:2], known, page="http://shop.test/cups").known
    assert body(PAGE, away).text.startswith("# 'Mugs'")


def test_the_bound_holds_and_says_what_is_left_out():
    long = [*HEAD, *[Line("link", f"Mug number {number}", 0, ref=f"f{number}") for number in range(100)]]
    cut = write_body(long, ObservationConfig(format="compact", max_tokens=200), site="s", page="p")
    assert len(cut.text) <= 200 * 4 and cut.left_out > 40
    assert cut.text.endswith(f"({len(long) - len(cut.elements)} elements not shown; scroll down to see them)") or (
        f"cut here: {len(long) - len(cut.elements)} elements not shown" in cut.text
    )


def test_the_head_goes_without_what_the_action_says_already():
    tab = Tab("Mugs", "http://shop.test/mugs", True)
    did = "clicked link 'Red Mug' [4]"
    head = write_head(f"{did}; the page is now http://shop.test/x", [tab], "u", Scroll(), "compact", did)
    assert head == ""
    assert compose(head, "body") == "body"
    refused = write_head("not possible: it is gone", [tab], "u", Scroll(), "compact")
    assert compose(refused, "body") == ("Outcome: not possible: it is gone\n\nbody")
    assert short_outcome(f"{did}; nothing on the page changed", did) == "nothing on the page changed"
    assert short_outcome("a dialog said 'Hello'", "") == "a dialog said 'Hello'"
    two = write_head(did, [tab, Tab("Forum", "f")], "u", Scroll(0, 700, 2000), "compact", did)
    assert two == "Tab 0 (current): 'Mugs' | Tab 1: 'Forum'\nPage 1 of 3 (scroll down for more)"


def test_names_cannot_forge_a_line():
    line = Line("link", "Cart' [3]; banner: 'x", 0, ref="e1")
    assert write_line(line, 1, 200, 20) == "\"Cart' \\[3\\]; banner: 'x\" [1]"


def test_the_outline_knows_head_and_foot():
    snapshot = """\
- generic [ref=e1] [box=0,0,500,500]:
  - banner [ref=e2] [box=0,0,500,50]:
    - navigation [ref=e3] [box=0,0,500,50]:
      - link "Home" [ref=e4] [box=0,0,50,20]
  - link "Red Mug" [ref=e5] [box=0,60,50,20]
  - contentinfo [ref=e6] [box=0,400,500,50]:
    - text: © 2026
"""
    lines = outline(parse_snapshot(snapshot), Box(0, 0, 500, 500))
    assert [(line.name, line.landmark) for line in lines] == [
        ("Home", "banner"),
        ("Red Mug", ""),
        ("© 2026", "contentinfo"),
    ]
