"""What can be done on a page, as a part of a grammar: who is held to it names elements, options and tabs that exist.

The parts are expressions of llguidance's Lark dialect for the right side of a terminal; `TERMINALS` are those they use.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from confkv_agents.web.observation import Element, Observation
from confkv_agents.web.outline import EDITABLE

TERMINALS = r"""
TEXT: "[" /[^\n\[\]]{1,300}/ "]"
REASON: "[" /[^\n\[\]]{0,300}/ "]"
"""
_LISTS = ("combobox", "listbox")


def possible(observation: Observation, naming: Callable[[Element], str], *, stop: bool = True) -> str:
    """The actions that a page admits.

    Args:
        observation: The page.
        naming: What stands before an action on an element, such as a line with its name; may be empty.
        stop: Whether the task may be ended as done. That it cannot be done may be said at any time.

    Returns:
        An expression for the right side of a terminal. An element that is disabled admits nothing, only fields are
        typed into, and a list admits the options that it has (any text if one of them has a bracket in it).
    """
    ways = [_after(naming(element), on_element(element)) for element in observation.elements if _works(element)]
    return f"({' | '.join([*ways, elsewhere(observation, stop=stop)])})"


def on_element(element: Element) -> str:
    """What can be done with an element, whatever its state; an expression as of `possible`."""
    number = f" [{element.id}]"
    ways = [_fixed(f"{verb}{number}") for verb in ("click", "hover")]
    ways += [f"{_fixed(f'drag{number} ')} /\\[[0-9]{{1,3}}\\]/", f'{_fixed(f"scroll{number} ")} ("[down]" | "[up]")']
    ways += [f"{_fixed(f'upload{number} ')} TEXT"] if element.role in ("button", "clickable") else []
    if element.role in _LISTS and element.options:
        ways.append(f"{_fixed(f'select{number} ')} {_option(element)}")
    elif element.role in EDITABLE or element.role == "clickable":
        ways += [f'{_fixed(f"type{number} ")} TEXT " [1]"?', _fixed(f"clear{number}")]
    if element.role in _LISTS and not element.options:
        ways.append(f"{_fixed(f'select{number} ')} TEXT")
    return f"({' | '.join(ways)})"


def elsewhere(observation: Observation, *, stop: bool = True) -> str:
    """What can be done that is about no element; an expression as of `possible`."""
    ways = ['"scroll " ("[down]" | "[up]")', '("press " | "goto ") TEXT', '"dialog " ("[accept]" | "[dismiss]")']
    ways += [_fixed(f"tab_focus [{number}]") for number, tab in enumerate(observation.tabs) if not tab.active]
    ways += ['"fail " REASON', '"go_back" | "go_forward" | "new_tab" | "close_tab" | "wait"']
    return " | ".join([*ways, '"stop " REASON'] if stop else ways)


def _works(element: Element) -> bool:
    return "disabled" not in element.states


def _option(element: Element) -> str:
    options = [option for option in dict.fromkeys(element.options) if option.strip()]
    if not options or any(character in option for option in options for character in "[]\n"):
        return "TEXT"
    return f"({' | '.join(_fixed(f'[{option}]') for option in options)})"


def _after(before: str, ways: str) -> str:
    return f"{_fixed(before)} {ways}" if before else ways


def _fixed(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
