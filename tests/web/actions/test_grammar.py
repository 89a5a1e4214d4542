"""The grammar: what models write is understood, what is written is read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confkv_agents.errors import ActionError
from confkv_agents.web.actions import Action, ActionParseError, describe_actions, format_action, parse_action
from confkv_agents.web.actions.control import normal_keys
from confkv_agents.web.actions.execute import PERFORMERS
from confkv_agents.web.actions.grammar import VERBS


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("click [12]", Action("click", element=12)),
        ("click 12", Action("click", element=12)),
        ("  Click [ 12 ].", Action("click", element=12)),
        ("Action: `hover [3]`", Action("hover", element=3)),
        ("- **click [5]**", Action("click", element=5)),
        ("type [3] [red backpack]", Action("type", element=3, text="red backpack")),
        ("type [3] [red backpack] [1]", Action("type", element=3, text="red backpack", enter=True)),
        ("type [3] [red backpack] [0]", Action("type", element=3, text="red backpack")),
        ("type [3] [see note [1]]", Action("type", element=3, text="see note [1]")),
        ("type 3 [x]", Action("type", element=3, text="x")),
        ("type [3] []", Action("type", element=3)),
        ("select [7] [Price, low [new]]", Action("select", element=7, text="Price, low [new]")),
        ("drag [1] [2]", Action("drag", element=1, target=2)),
        ("drag 1 2", Action("drag", element=1, target=2)),
        ("upload [4] [photo.png]", Action("upload", element=4, text="photo.png")),
        ("press [Control+a]", Action("press", text="Control+a")),
        ("press Enter", Action("press", text="Enter")),
        ("scroll [down]", Action("scroll", direction="down")),
        ("scroll up", Action("scroll", direction="up")),
        ("scroll [page] [down]", Action("scroll", direction="down")),
        ("scroll [9] [up]", Action("scroll", element=9, direction="up")),
        ("goto [http://shop.test/a?b=[c]]", Action("goto", text="http://shop.test/a?b=[c]")),
        ("goto http://shop.test/cart", Action("goto", text="http://shop.test/cart")),
        ("go_back", Action("go_back")),
        ("tab_focus [1]", Action("tab_focus", target=1)),
        ("dialog [accept]", Action("dialog", accept=True)),
        ("dialog [dismiss]", Action("dialog")),
        ("dialog [accept] [Ada]", Action("dialog", accept=True, text="Ada")),
        ("wait", Action("wait")),
        ("wait [3]", Action("wait", target=3)),
        ("stop [a] b]", Action("stop", text="a] b")),
        ("stop", Action("stop")),
        ("fail [no such product]", Action("fail", text="no such product")),
    ],
)
def test_forms_that_models_write(text: str, action: Action) -> None:
    assert parse_action(text) == action


def test_last_fenced_block_wins_over_lines_around_it() -> None:
    text = "For example:\n```click [1]```\nBut I do\n```\nclick [2]\n```\nand later click [3]"
    assert parse_action(text) == Action("click", element=2)


def test_last_line_that_is_an_action_wins_over_prose_with_verbs() -> None:
    text = "click [1] was wrong.\nScroll a bit? No.\nclick [2]\nStop here and wait for it"
    assert parse_action(text) == Action("click", element=2)


def test_text_over_several_lines() -> None:
    letter = "type [3] [Dear shop,\n\nclick [9]\nBye]"
    assert parse_action(f"I fill in the form.\n```\n{letter}\n```").text == "Dear shop,\n\nclick [9]\nBye"
    assert parse_action(f"I fill in the form.\n{letter}") == Action("click", element=9)  # lines stand alone there
    assert parse_action("type [3] [Dear shop,\nBye] [1]") == Action("type", 3, text="Dear shop,\nBye", enter=True)


def test_two_actions_in_a_row_are_not_one_text() -> None:
    assert parse_action("stop [first]\nstop [second]") == Action("stop", text="second")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no action found"),
        ("I will click on the red one", "no action found"),
        ("click [the red one]", "click is written click [id]"),
        ("tap [3]", "there is no action 'tap'"),
        ("drag [12]", "drag is written drag [id] [id]"),
    ],
)
def test_what_cannot_be_read_is_answered_with_how_to_write_it(text: str, message: str) -> None:
    with pytest.raises(ActionParseError) as caught:
        parse_action(text)
    assert message in str(caught.value)
    assert isinstance(caught.value, ActionError)


_ids = st.integers(0, 10**6)
_line = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), max_size=60)
_plain = _line.map(str.strip)
_actions = st.one_of(
    st.builds(Action, st.sampled_from(["click", "hover", "clear"]), element=_ids),
    st.builds(Action, st.just("type"), element=_ids, text=_line, enter=st.booleans()),
    st.builds(Action, st.sampled_from(["select", "upload"]), element=_ids, text=_plain),
    st.builds(Action, st.just("drag"), element=_ids, target=_ids),
    st.builds(Action, st.sampled_from(["press", "goto", "stop", "fail"]), text=_plain),
    st.builds(Action, st.just("scroll"), element=st.none() | _ids, direction=st.sampled_from(["up", "down"])),
    st.builds(Action, st.just("tab_focus"), target=_ids),
    st.builds(Action, st.just("wait"), target=st.none() | st.integers(0, 999)),
    st.builds(Action, st.just("dialog"), accept=st.booleans(), text=_line),
    st.builds(Action, st.sampled_from(["go_back", "go_forward", "new_tab", "close_tab"])),
)


@given(_actions)
def test_every_action_is_read_back_as_it_was_written(action: Action) -> None:
    assert parse_action(format_action(action)) == action


@given(_actions)
def test_every_action_is_read_back_from_a_fenced_block_after_prose(action: Action) -> None:
    written = format_action(action)
    if "```" not in written:
        assert parse_action(f"The cart is empty, so I go on.\n```\n{written}\n```") == action


@given(st.text(max_size=300))
def test_any_text_gives_an_action_or_an_explanation(text: str) -> None:
    try:
        parse_action(text)
    except ActionParseError as error:
        assert str(error)


def test_every_verb_is_told_and_carried_out() -> None:
    assert set(PERFORMERS) | {"stop", "fail"} == set(VERBS)
    told = describe_actions()
    assert all(f"{verb.form}: {verb.help}" in told for verb in VERBS.values())
    for name, verb in VERBS.items():
        example = verb.form.replace("id", "3").replace("number", "1")
        assert parse_action(example).name == name


@pytest.mark.parametrize(
    ("written", "keys"),
    [
        ("ctrl+A", "Control+a"),
        ("cmd + v", "Control+v"),
        ("enter", "Enter"),
        ("shift+Tab", "Shift+Tab"),
        ("Page Down", "PageDown"),
        ("f5", "F5"),
        ("a", "a"),
        ("+", "+"),
    ],
)
def test_keys_are_spelt_as_the_browser_wants(written: str, keys: str) -> None:
    assert normal_keys(written) == keys
