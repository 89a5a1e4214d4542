"""The pilot's agent: its prompt, its pages, and the grammar of its answers."""

from __future__ import annotations

import base64
import dataclasses

import pytest

from confkv_agents.evaluation.agents import load_agent, open_agent
from confkv_agents.plugins import find_agent, load_module
from confkv_agents.web.actions import Action, format_action, parse_action
from confkv_agents.web.observation import ObservationConfig, Picture
from tests.agents.test_react import ScriptedModel, page
from tests.evaluation.fakes import FakeTask

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
    agent = load_agent("pilot", model=model, constrained=False)
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
    agent = load_agent("pilot", model=model, constrained=False)
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
    agent = load_agent("pilot", model=ScriptedModel(replies=["I do not know"]), constrained=False)
    agent.reset(FakeTask(), page(1))  # type: ignore[arg-type]
    assert agent.act(page(1)).action == "I do not know"  # type: ignore[arg-type]


@pytest.mark.parametrize("action", ACTIONS, ids=format_action)
def test_the_grammars_admit_every_action_with_and_without_a_note(action: Action):
    pytest.importorskip("llguidance")
    text = format_action(action)
    assert parse_action(text) == action
    plan, now, note, element = "plan: phone of 'A'; message 'B'\n", "now: message 'B'\n", "phone '5'\n", "'Send' [3]\n"
    for first in (plan, plan + element, plan + note):
        assert _accepts(first + text, pilot.FIRST_GRAMMAR), first + text
    for later in (now, note + now, now + element, note + now + element):
        assert _accepts(later + text), later + text


def test_the_first_answer_has_a_plan_and_the_others_say_what_is_done_now():
    pytest.importorskip("llguidance")
    for text in ("click [1]", "now: a\nclick [1]", "note\nplan: a\nclick [1]", "plan: a\nx\ny\nclick [1]"):
        assert not _accepts(text, pilot.FIRST_GRAMMAR), text
    for text in ("click [1]", "note\nclick [1]", "plan: a\nclick [1]", "a\nb\nnow: a\nclick [1]"):
        assert not _accepts(text), text


@pytest.mark.parametrize(
    "answer",
    [
        *("click 12", "click [x]", "I click it", "stop [a]\nmore", "scroll [left]", "type [1]"),
    ],
)
def test_the_grammars_refuse_what_is_no_action(answer: str):
    pytest.importorskip("llguidance")
    assert not _accepts(f"now: a\n{answer}") and not _accepts(f"plan: a\n{answer}", pilot.FIRST_GRAMMAR)


def _accepts(text: str, grammar: str = pilot.GRAMMAR) -> bool:
    """Whether a byte-level matcher takes the whole text and could end there."""
    import llguidance

    tokenizer = llguidance.LLTokenizer("byte")
    matcher = llguidance.LLMatcher(tokenizer, llguidance.LLMatcher.grammar_from_lark(grammar))
    assert not matcher.is_error(), matcher.get_error()
    tokens = tokenizer.tokenize_str(text)
    return matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()
