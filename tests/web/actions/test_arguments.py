"""Actions as calls with named arguments: one definition says form, schema and meaning."""

from __future__ import annotations

import re
from typing import Any

import pytest

from confkv_agents.web.actions import VERBS, Action, ActionParseError, action_of, action_schema, parse_action
from confkv_agents.web.actions.grammar import format_action

CALLS: list[tuple[str, dict[str, Any], Action]] = [
    ("click", {"id": 12}, Action("click", element=12)),
    ("type", {"id": 3, "text": " a b "}, Action("type", element=3, text=" a b ")),
    ("type", {"id": 3, "text": "x", "enter": True}, Action("type", element=3, text="x", enter=True)),
    ("clear", {"id": 3}, Action("clear", element=3)),
    ("select", {"id": 7, "option": "Price"}, Action("select", element=7, text="Price")),
    ("hover", {"id": 7}, Action("hover", element=7)),
    ("drag", {"id": 1, "onto": 2}, Action("drag", element=1, target=2)),
    ("upload", {"id": 4, "file": "photo.png"}, Action("upload", element=4, text="photo.png")),
    ("press", {"keys": "Control+a"}, Action("press", text="Control+a")),
    ("scroll", {"direction": "up"}, Action("scroll", direction="up")),
    ("scroll", {"direction": "down", "id": 5}, Action("scroll", element=5, direction="down")),
    ("goto", {"url": "http://shop.test/cart"}, Action("goto", text="http://shop.test/cart")),
    ("go_back", {}, Action("go_back")),
    ("go_forward", {}, Action("go_forward")),
    ("new_tab", {}, Action("new_tab")),
    ("tab_focus", {"number": 0}, Action("tab_focus", target=0)),
    ("close_tab", {}, Action("close_tab")),
    ("dialog", {"answer": "accept", "text": "Ada"}, Action("dialog", accept=True, text="Ada")),
    ("dialog", {"answer": "dismiss"}, Action("dialog")),
    ("wait", {}, Action("wait")),
    ("wait", {"seconds": 3}, Action("wait", target=3)),
    ("stop", {"answer": "$34.00"}, Action("stop", text="$34.00")),
    ("stop", {}, Action("stop")),
    ("fail", {"reason": "no such product"}, Action("fail", text="no such product")),
]


def test_every_verb_has_a_call_here() -> None:
    assert {name for name, _, _ in CALLS} == set(VERBS)


@pytest.mark.parametrize(("name", "arguments", "action"), CALLS, ids=lambda value: str(value))
def test_a_call_fits_its_schema_and_means_what_the_written_form_means(
    name: str, arguments: dict[str, Any], action: Action
) -> None:
    schema = action_schema(name)
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) <= set(arguments) <= set(schema["properties"])
    for key, value in arguments.items():
        form = schema["properties"][key]
        assert type(value) is {"integer": int, "string": str, "boolean": bool}[form["type"]]
        assert value in form.get("enum", [value])
        assert form["description"]
    assert action_of(name, arguments) == action
    assert parse_action(format_action(action)) == action


@pytest.mark.parametrize("name", VERBS)
def test_the_written_form_names_the_arguments(name: str) -> None:
    """What a form puts in brackets is an argument's name or one of its values."""
    said = re.findall(r"\[(\w+)\]", VERBS[name].form)
    choices = {choice for parameter in VERBS[name].parameters for choice in parameter.choices}
    assert set(said) <= {parameter.name for parameter in VERBS[name].parameters} | choices | {"1"}
    required = sum(parameter.required for parameter in VERBS[name].parameters)
    assert required <= len(said)


@pytest.mark.parametrize(
    ("name", "arguments", "action"),
    [
        ("click", {"id": "[12]"}, Action("click", element=12)),
        ("click", {"id": 12.0}, Action("click", element=12)),
        ("type", {"id": "3", "text": 7, "enter": "true"}, Action("type", element=3, text="7", enter=True)),
        ("type", {"id": 3, "text": "x", "enter": None}, Action("type", element=3, text="x")),
        ("scroll", {"direction": "Down"}, Action("scroll", direction="down")),
        ("stop", {"answer": " ST425 "}, Action("stop", text="ST425")),
    ],
)
def test_types_that_small_models_get_wrong_are_understood(name: str, arguments: dict[str, Any], action: Action) -> None:
    assert action_of(name, arguments) == action


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("fly", {}, "there is no action 'fly'; use one of: click"),
        ("click", {}, "click needs the argument id: the number in brackets"),
        ("click", {"id": "the bag"}, "id of click must be a whole number, not 'the bag'"),
        ("click", {"id": True}, "whole number"),
        ("click", {"id": -1}, "whole number"),
        ("click", {"id": 3, "button": "left"}, "click has no argument 'button'; it takes id"),
        ("go_back", {"steps": 2}, "go_back has no argument 'steps'; it takes nothing"),
        ("scroll", {"direction": "left"}, "direction of scroll must be down or up, not 'left'"),
        ("type", {"id": 3, "text": "x", "enter": "perhaps"}, "true or false"),
        ("goto", {"url": {"href": "x"}}, "url of goto must be text"),
    ],
)
def test_what_is_no_action_is_answered_with_what_to_write(name: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ActionParseError, match=re.escape(message)):
        action_of(name, arguments)
