"""The pilot's agent: its prompt, its pages, and the grammar of its answers."""

from __future__ import annotations

import base64
import dataclasses

import pytest

from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.agents import load_agent, open_agent
from confkv_agents.plugins import find_agent, load_module
from confkv_agents.web.actions import Action, format_action, parse_action
from confkv_agents.web.observation import Element, Observation, ObservationConfig, Picture, Tab
from tests.agents.test_react import ScriptedModel, page
from tests.evaluation.fakes import FakeTask
from tests.grammars import accepts

pilot = load_module(find_agent("pilot"), "agents.pilot")

ACTIONS = [
    Action("click", 12),
    Action("hover", 3),
    Action("clear", 3),
    Action("type", 2, text="Brisk Red Toolbox", enter=True),
    Action("type", 2, text="it's 5'10\", (50%)"),
    Action("select", 9, text="Price: Low to High"),
    Action("drag", 1, target=2),
    Action("upload", 4, text="teapots.webp"),
    Action("scroll", direction="down"),
    Action("scroll", 4, direction="up"),
    Action("tab_focus", target=1),
    Action("press", text="Control+a"),
    Action("goto", text="http://shop.test/"),
    Action("dialog", accept=True),
    Action("dialog", accept=False),
    Action("stop", text="$51"),
    Action("stop"),
    Action("fail", text="there is none"),
    Action("go_back"),
    Action("go_forward"),
    Action("new_tab"),
    Action("close_tab"),
    Action("wait"),
]


def test_it_asks_for_compact_pages():
    config = ObservationConfig(**open_agent("pilot").observation)
    assert (config.format, config.max_tokens, config.marks) == ("compact", 1024, False)


def test_a_turn_is_a_note_and_an_action():
    model = ScriptedModel(replies=["code 'AB12C', 'Cart' [7]\nclick [7]", "stop [$5]"])
    agent = load_agent("pilot", model=model, constrained="none")
    agent.reset(FakeTask(), page(1))  # type: ignore[arg-type]
    first = agent.act(page(1))  # type: ignore[arg-type]
    assert (first.thought, first.action) == ("code 'AB12C', 'Cart' [7]", "click [7]")
    assert agent.act(page(2)).action == "stop [$5]"  # type: ignore[arg-type]
    system, opening, answer, second = (message.text for message in model.seen[-1])
    assert system == pilot.SYSTEM and len(system) < 140
    assert opening.startswith("Task: ") and opening.endswith("page 1")
    assert (answer, second) == ("code 'AB12C', 'Cart' [7]\nclick [7]", "page 2")


def test_pictures_stand_behind_their_elements_or_their_own_texts():
    shown = [
        Picture(name.encode(), name, number)
        for name, number in (("cup", 2), ("stray", None), ("Tin Rocket, photo 1", None), ("bag", 12))
    ]
    text = "banner [1]-[2] as before\n'Bag' [12]\n'$5'\npicture 'Tin Rocket, photo 1'\n'Cup' [2]\nend"
    model = ScriptedModel(replies=["click [2]"], sees=True)
    agent = load_agent("pilot", model=model, constrained="none")
    observation = dataclasses.replace(page(1), text=text, pictures=tuple(shown))
    agent.reset(FakeTask(), observation)  # type: ignore[arg-type]
    decision = agent.act(observation)  # type: ignore[arg-type]
    blocks = model.seen[0][1].content
    parts = [b["text"] if b["type"] == "text" else base64.b64decode(b["base64"]).decode() for b in blocks]
    assert parts[0].startswith("Task: ") and parts[0].endswith("\n\nbanner [1]-[2] as before\n'Bag' [12]")
    assert parts[1:] == [
        "bag",
        "\n'$5'\npicture 'Tin Rocket, photo 1'",
        "Tin Rocket, photo 1",
        "\n'Cup' [2]",
        "cup",
        "\nend",
        "stray",
    ]
    assert "'Bag' [12] (picture)\n'$5'\n" in decision.prompt


def test_nothing_is_asked_twice():
    agent = load_agent("pilot", model=ScriptedModel(replies=["I do not know"]), constrained="none")
    agent.reset(FakeTask(), page(1))  # type: ignore[arg-type]
    assert agent.act(page(1)).action == "I do not know"  # type: ignore[arg-type]


@pytest.mark.parametrize("action", ACTIONS, ids=format_action)
def test_the_grammars_admit_every_action_with_and_without_a_note(action: Action):
    text = format_action(action)
    assert parse_action(text) == action
    plan, now, note, element = "plan: phone of 'A'; message 'B'\n", "now: message 'B'\n", "phone '5'\n", "'Send' [3]\n"
    for first in (plan, plan + element, plan + note):
        assert accepts(first + text, pilot.FIRST_GRAMMAR), first + text
    for later in (now, note + now, now + element, note + now + element):
        assert accepts(later + text, pilot.GRAMMAR), later + text


def test_the_first_answer_has_a_plan_and_the_others_say_what_is_done_now():
    for text in ("click [1]", "now: a\nclick [1]", "note\nplan: a\nclick [1]", "plan: a\nx\ny\nclick [1]"):
        assert not accepts(text, pilot.FIRST_GRAMMAR), text
    for text in ("click [1]", "note\nclick [1]", "plan: a\nclick [1]", "a\nb\nnow: a\nclick [1]"):
        assert not accepts(text, pilot.GRAMMAR), text


@pytest.mark.parametrize(
    "answer",
    [
        *("click 12", "click [x]", "I click it", "stop [a]\nmore", "scroll [left]", "type [1]"),
    ],
)
def test_the_grammars_refuse_what_is_no_action(answer: str):
    assert not accepts(f"now: a\n{answer}", pilot.GRAMMAR)
    assert not accepts(f"plan: a\n{answer}", pilot.FIRST_GRAMMAR)


def shop_page() -> Observation:
    elements = (
        Element(1, "a", "link", "Larkspur"),
        Element(2, "b", "searchbox", "Search"),
        Element(3, "c", "combobox", "Sort by", options=("Best match", "Price: Low to High")),
        Element(4, "d", "button", "Buy", states=("disabled",)),
        Element(5, "e", "link", "it's a [3]"),
        Element(6, "f", "link", ""),
        Element(7, "g", "link", "Tent, long " + 90 * "x"),
    )
    return Observation("a page", elements, tabs=(Tab("Shop", "http://s"), Tab("Forum", "http://f", active=True)))


NOW_A, NOW_B, NOW_C = "now: 'A; b' into cart\n", "now: look\n", "now: cart\n"
PARTS = ["'A; b' into cart", "look", "cart"]


@pytest.mark.parametrize(
    "answer",
    [
        "'Larkspur' [1]\nclick [1]",
        "'Search' [2]\ntype [2] [Tent] [1]",
        "'Search' [2]\nclear [2]",
        "'Sort by' [3]\nselect [3] [Price: Low to High]",
        '"it\'s a \\[3\\]" [5]\nclick [5]',
        "click [6]",
        pilot.write_reply("", "click [7]", ("Tent, long " + 90 * "x", 7)),
        "tab_focus [0]",
        "scroll [down]",
        "fail [no such thing]",
    ],
)
def test_what_the_page_admits_is_admitted_under_each_part_that_may_be_done(answer: str):
    grammar = pilot.later_grammar(shop_page(), PARTS, 0)
    for before in (NOW_A, NOW_B, f"colour 'Red', \"it's\"\n{NOW_A}", f"north\n{NOW_B}", f"nowhere\n{NOW_B}"):
        assert accepts(before + answer, grammar), before + answer
    first = pilot.first_grammar(shop_page())
    plan = "plan: 'A; b' into cart; look; cart\n"
    noted = f"price '$5', {answer}" if answer.startswith(("'", '"')) else f"price '$5'\n{answer}"
    for text in (plan + answer, plan + noted):
        assert accepts(text, first), text


@pytest.mark.parametrize(
    "answer",
    [
        "'Search' [1]\ntype [1] [Tent] [1]",
        "'Search' [2]\nclick [1]",
        "'Larkspur' [1]\ntype [1] [Tent]",
        "'Basket' [9]\nclick [9]",
        "'Sort by' [3]\nselect [3] [Cheapest]",
        "'Sort by' [3]\ntype [3] [Price]",
        "'Buy' [4]\nclick [4]",
        "click [1]",
        "click [12]",
        "tab_focus [1]",
        "tab_focus [2]",
        "stop []",
    ],
)
def test_what_the_page_does_not_admit_is_refused(answer: str):
    assert not accepts(NOW_A + answer, pilot.later_grammar(shop_page(), PARTS, 0))
    if not answer.startswith("stop"):
        assert not accepts(f"plan: a\n{answer}", pilot.first_grammar(shop_page()))


def test_parts_are_done_in_order_and_the_task_is_done_at_the_last():
    grammars = [pilot.later_grammar(shop_page(), PARTS, at) for at in range(3)]
    allowed = {
        (now, stop): [accepts(now + ("stop []" if stop else "wait"), grammar) for grammar in grammars]
        for now in (NOW_A, NOW_B, NOW_C)
        for stop in (False, True)
    }
    assert allowed == {
        (NOW_A, False): [True, False, False],
        (NOW_B, False): [True, True, False],
        (NOW_C, False): [False, True, True],
        (NOW_A, True): [False, False, False],
        (NOW_B, True): [False, False, False],
        (NOW_C, True): [False, True, True],
    }
    assert not accepts(f"now: look\n{NOW_A}wait", grammars[0])
    free = pilot.later_grammar(shop_page(), [], 0)
    assert accepts("now: anything\nstop [$5]", free) and not accepts("stop [$5]", free)


def test_the_agent_follows_its_own_plan():
    asked: list[str] = []

    class Model(ScriptedModel):
        def bind(self, *, grammar: str) -> Model:  # type: ignore[override]
            asked.append(grammar)
            return self

    replies = ["plan: a; a; 'b; c'; d\nwait", "now: a\nwait", "now: 'b; c'\nwait", "now: a\nwait", "now: d\nstop []"]
    agent = load_agent("pilot", model=Model(replies=[*replies, "plan: e\nwait", "now: e\nstop []"]), constrained="page")
    here = shop_page()
    for _ in replies:
        if not asked:
            agent.reset(FakeTask(), here)  # type: ignore[arg-type]
        agent.act(here)
    parts = ["a", "'b; c'", "d"]
    later = [pilot.later_grammar(here, parts, at) for at in (0, 0, 1, 1)]
    assert asked == [pilot.first_grammar(here), *later]
    agent.reset(FakeTask(), here)  # type: ignore[arg-type]
    for _ in range(2):
        agent.act(here)
    assert asked[5:] == [pilot.first_grammar(here), pilot.later_grammar(here, ["e"], 0)]


def test_only_what_there_is_to_choose_can_be_chosen():
    with pytest.raises(ConfigError, match="constrained is 'much'; choose one of auto, page, form, none"):
        load_agent("pilot", model=ScriptedModel(replies=[]), constrained="much")
