"""The form of actions with named arguments, as tool calls have it: a JSON schema per action, and reading a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confkv_agents.web.actions.grammar import Action, ActionParseError
from confkv_agents.web.actions.verbs import VERBS, Parameter
from confkv_agents.web.text import quote

_TYPES = {"number": "integer", "text": "string", "flag": "boolean"}
_TRUE, _FALSE = frozenset({"true", "1", "yes"}), frozenset({"false", "0", "no", ""})


def action_schema(name: str) -> dict[str, Any]:
    """The JSON schema of an action's arguments."""
    parameters = VERBS[name].parameters
    return {
        "type": "object",
        "properties": {parameter.name: _property(parameter) for parameter in parameters},
        "required": [parameter.name for parameter in parameters if parameter.required],
        "additionalProperties": False,
    }


def _property(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _TYPES[parameter.kind], "description": parameter.help}
    return schema | ({"enum": list(parameter.choices)} if parameter.choices else {})


def action_of(name: str, arguments: Mapping[str, Any]) -> Action:
    """The action that a call by name means.

    Small models get types wrong, so a number may come as text, in brackets too.

    Raises:
        ActionParseError: There is no such action, or an argument is missing, unknown or of the wrong kind; the
            message tells the model what to write.
    """
    if name not in VERBS:
        raise ActionParseError(f"there is no action {quote(name, 40)}; use one of: {', '.join(VERBS)}")
    parameters = VERBS[name].parameters
    known = [parameter.name for parameter in parameters]
    for given in arguments:
        if given not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes nothing"
            raise ActionParseError(f"{name} has no argument {quote(str(given), 40)}; {takes}")
    values: dict[str, Any] = {}
    for parameter in parameters:
        value = arguments.get(parameter.name)
        if value is not None:
            values[parameter.field or parameter.name] = _read(name, parameter, value)
        elif parameter.required:
            raise ActionParseError(f"{name} needs the argument {parameter.name}: {parameter.help}")
    if name == "dialog":
        values["accept"] = values["accept"] == "accept"
    return Action(name, **values)


def _read(name: str, parameter: Parameter, value: Any) -> Any:
    text = str(value).strip()
    if parameter.kind == "number":
        digits = text.removeprefix("[").removesuffix("]").strip().removesuffix(".0")
        if isinstance(value, bool) or not (digits.isascii() and digits.isdigit() and len(digits) <= 9):
            raise ActionParseError(f"{parameter.name} of {name} must be a whole number, not {quote(text, 40)}")
        return int(digits)
    if parameter.kind == "flag":
        if text.lower() not in _TRUE | _FALSE:
            raise ActionParseError(f"{parameter.name} of {name} must be true or false, not {quote(text, 40)}")
        return text.lower() in _TRUE
    if isinstance(value, (dict, list)):
        raise ActionParseError(f"{parameter.name} of {name} must be text, not {quote(text, 40)}")
    if parameter.choices:
        if text.lower() not in parameter.choices:
            ways = " or ".join(parameter.choices)
            raise ActionParseError(f"{parameter.name} of {name} must be {ways}, not {quote(text, 40)}")
        return text.lower()
    return str(value) if name == "type" else text
