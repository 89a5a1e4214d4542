"""The scripted agent finds its elements in the observation, or says clearly that they are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from confkv_agents.errors import AgentError
from confkv_agents.evaluation.agents import load_agent
from confkv_agents.web.actions import parse_action
from confkv_agents.web.observation import Element, Observation, Scroll
from confkv_agents.web.tasks import Task
from confkv_agents.web.tree import Box


def task(*oracle: dict, plan: str = "") -> Task:
    return Task.read(
        {
            "sites": ["shop"],
            "task_id": 1,
            "intent": "buy",
            "start_url": "__SHOPPING__",
            "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "x"}},
            "x_confkv": {"oracle": list(oracle), "plan": plan},
        },
        source=Path("buy.json"),
    )


def page(
    *elements: tuple[str, str], top: int = 0, total: int = 300, texts: dict[int, str] | None = None
) -> Observation:
    found, lines = [], []
    for number, (role, name) in enumerate(elements, start=1):
        found.append(Element(number, f"e{number}{name}", role, name, box=Box(0, number * 20 - top, 100, 18)))
        if texts and number in texts:
            lines.append(f"text '{texts[number]}'")
        lines.append(f"{role} '{name}' [{number}]")
    scroll = Scroll(top=top, height=100, total=total)
    return Observation("\n".join(lines), tuple(found), url="http://shop.test/", scroll=scroll)


def play(script: list[dict], *pages: Observation) -> list[str]:
    agent = load_agent("oracle")
    agent.reset(task(*script), pages[0])
    return [agent.act(each).action for each in pages]


LINKS = page(("link", "Home"), ("link", "Bag"), ("button", "Bag"), ("link", "Bag"))


def test_role_name_and_number_choose_the_element():
    assert play([{"action": "click", "role": "link", "name": "Bag"}], LINKS) == ["click [2]"]
    assert play([{"action": "click", "role": "button", "name": "Bag"}], LINKS) == ["click [3]"]
    assert play([{"action": "click", "role": "link", "name": "Bag", "nth": 1}], LINKS) == ["click [4]"]


def test_near_chooses_the_first_at_or_after_those_words():
    shelf = page(("button", "Add"), ("button", "Add"), ("button", "Add"), texts={2: "Red Canvas Bag", 3: "Blue Bag"})
    step = {"action": "click", "role": "button", "name": "Add"}
    assert play([{**step, "near": "Red Canvas Bag"}], shelf) == ["click [2]"]
    assert play([{**step, "near": "Blue Bag"}], shelf) == ["click [3]"]
    assert play([{**step, "near": "Red Canvas Bag", "nth": 1}], shelf) == ["click [3]"]


def test_what_is_not_in_view_is_scrolled_to():
    script = [{"action": "click", "role": "link", "name": "Deep"}, {"action": "stop", "answer": "x"}]
    upper, middle = page(("link", "Top")), page(("link", "Middle"), top=100)
    lower = page(("link", "Deep"), top=200)
    assert play(script, upper, middle, lower, upper) == [
        "scroll [down]",
        "scroll [down]",
        "click [1]",
        "stop [x]",
    ]


def test_at_the_pages_end_it_looks_upwards():
    script = [{"action": "click", "role": "link", "name": "Top"}]
    lower, middle = page(("link", "Low"), top=200), page(("link", "Middle"), top=100)
    assert play(script, middle, lower, middle, page(("link", "Top"))) == [
        "scroll [down]",
        "scroll [up]",
        "scroll [up]",
        "click [1]",
    ]


def test_a_page_that_does_not_move_is_not_scrolled_for_ever():
    stuck = page(("link", "Low"), top=100)
    agent = load_agent("oracle")
    agent.reset(task({"action": "click", "role": "link", "name": "Ghost"}), stuck)
    assert [agent.act(stuck).action for _ in range(2)] == ["scroll [down]", "scroll [up]"]
    with pytest.raises(AgentError):
        agent.act(stuck)


def test_an_element_that_is_nowhere_is_named_with_what_is_there():
    short = page(("link", "Home"), ("link", "Bag"), total=100)
    agent = load_agent("oracle")
    agent.reset(task({"action": "click", "role": "link", "name": "Ghost"}), short)
    with pytest.raises(AgentError, match=r"buy\.json: oracle action 1: no link 'Ghost' on http://shop\.test/.*'Home'"):
        agent.act(short)


def test_a_decision_says_which_part_of_the_plan_it_serves():
    script = [
        {"action": "click", "role": "link", "name": "Home"},
        {"action": "click", "role": "link", "name": "Home"},
        {"action": "click", "role": "button", "name": "Bag", "note": "price '$5'", "part": 1},
        {"action": "stop", "answer": "5", "part": 2},
    ]
    agent = load_agent("oracle")
    agent.reset(task(*script, plan="price of 'A; B'; 'C' into cart; answer"), LINKS)
    assert [agent.act(LINKS).thought for _ in script] == [
        "plan: price of 'A; B'; 'C' into cart; answer",
        "now: price of 'A; B'",
        "price '$5'\nnow: 'C' into cart",
        "now: answer",
    ]


def test_scrolling_towards_an_element_serves_the_part_that_begins_there():
    script = [
        {"action": "click", "role": "link", "name": "Home"},
        {"action": "click", "role": "link", "name": "Far", "note": "price '$5'", "part": 1},
    ]
    agent = load_agent("oracle")
    start, far = page(("link", "Home"), total=300), page(("link", "Far"), top=100, total=300)
    agent.reset(task(*script, plan="a; b"), start)
    assert [agent.act(each).thought for each in (start, start, far)] == [
        "plan: a; b",
        "looking for link 'Far'\nnow: b",
        "price '$5'\nnow: b",
    ]


def test_a_script_that_ends_without_stop_is_an_error():
    agent = load_agent("oracle")
    agent.reset(task({"action": "go_back"}), LINKS)
    agent.act(LINKS)
    with pytest.raises(AgentError, match="script is at its end"):
        agent.act(LINKS)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"action": "hover", "role": "link", "name": "Bag"}, "hover [2]"),
        ({"action": "clear", "role": "link", "name": "Bag"}, "clear [2]"),
        (
            {"action": "type", "role": "link", "name": "Bag", "text": "red", "enter": True},
            "type [2] [red] [1]",
        ),
        ({"action": "type", "role": "link", "name": "Bag", "text": "a] [1]"}, "type [2] [a] [1]]"),
        ({"action": "select", "role": "link", "name": "Bag", "option": "Price"}, "select [2] [Price]"),
        ({"action": "upload", "role": "link", "name": "Bag", "file": "a.png"}, "upload [2] [a.png]"),
        (
            {"action": "drag", "role": "link", "name": "Bag", "to": {"role": "link", "name": "Home"}},
            "drag [2] [1]",
        ),
        ({"action": "press", "keys": "Enter"}, "press [Enter]"),
        ({"action": "scroll", "direction": "up"}, "scroll [up]"),
        ({"action": "scroll", "direction": "down", "role": "link", "name": "Bag"}, "scroll [2] [down]"),
        ({"action": "goto", "url": "__SHOPPING__/cart"}, "goto [__SHOPPING__/cart]"),
        ({"action": "go_back"}, "go_back"),
        ({"action": "go_forward"}, "go_forward"),
        ({"action": "new_tab"}, "new_tab"),
        ({"action": "close_tab"}, "close_tab"),
        ({"action": "wait"}, "wait"),
        ({"action": "tab_focus", "index": 1}, "tab_focus [1]"),
        ({"action": "dialog", "accept": True, "text": "yes"}, "dialog [accept] [yes]"),
        ({"action": "dialog", "accept": False}, "dialog [dismiss]"),
        ({"action": "stop", "answer": "$34"}, "stop [$34]"),
        ({"action": "stop"}, "stop []"),
        ({"action": "fail", "reason": "sold out"}, "fail [sold out]"),
    ],
)
def test_every_scripted_action_is_written_in_the_ordinary_grammar(step: dict, expected: str):
    (action,) = play([step], LINKS)
    assert action == expected
    parse_action(action)


def test_a_task_without_a_script_is_refused_before_anything_starts():
    with pytest.raises(AgentError, match=r"no x_confkv\.oracle"):
        load_agent("oracle", task=task())
