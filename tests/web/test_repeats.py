"""What counts as the same action again."""

from __future__ import annotations

from confkv_agents.web.actions.grammar import parse_action
from confkv_agents.web.outline import Line
from confkv_agents.web.repeats import Repeats
from confkv_agents.web.tree import Box

BUTTON = Line("button", "More", 0, ref="e1", box=Box(0, 10, 50, 20))
URL = "http://pages.test/"


def counted(*steps: tuple[str, tuple[str, ...], float, list[Line]], url: str = URL) -> list[int]:
    repeats, counts = Repeats(), []
    for action, refs, top, lines in steps:
        repeats.add(parse_action(action), refs, url, top, lines)
        counts.append(repeats.count)
    return counts


def test_the_same_on_an_unchanged_page_is_counted_whatever_the_id():
    page = [BUTTON]
    assert counted(*[(f"click [{number}]", ("e1",), 0.0, page) for number in (1, 2, 2)]) == [1, 2, 3]
    assert counted(("click [1]", ("e1",), 0.0, page), ("click [1]", ("e2",), 0.0, page)) == [1, 1]
    assert counted(("type [1] [a]", ("e1",), 0.0, page), ("type [1] [b]", ("e1",), 0.0, page)) == [1, 1]


def test_a_changed_page_makes_it_another_action():
    shown = [[BUTTON, Line("text", text, 0)] for text in ("1 piece", "2 pieces", "2 pieces")]
    assert counted(*[("click [1]", ("e1",), 0.0, page) for page in shown]) == [1, 1, 2]


def test_what_moved_matters_to_scrolling_only():
    moved = [Line("button", "More", 0, ref="e1", box=Box(0, -40, 50, 20))]
    assert counted(("scroll [down]", (), 0.0, [BUTTON]), ("scroll [down]", (), 0.0, moved)) == [1, 1]
    assert counted(("scroll [down]", (), 0.0, [BUTTON]), ("scroll [down]", (), 90.0, [BUTTON])) == [1, 1]
    assert counted(("scroll [down]", (), 0.0, [BUTTON]), ("scroll [down]", (), 0.0, [BUTTON])) == [1, 2]
    assert counted(("click [1]", ("e1",), 0.0, [BUTTON]), ("click [1]", ("e1",), 0.0, moved)) == [1, 2]


def test_something_between_begins_the_count_anew():
    repeats = Repeats()
    for _ in range(3):
        repeats.add(parse_action("wait"), (), URL, 0.0, [BUTTON])
    assert repeats.count == 3
    repeats.forget()
    repeats.add(parse_action("wait"), (), URL, 0.0, [BUTTON])
    assert repeats.count == 1
