"""Which function carries out which verb. A new action: function, entry here and in `verbs`, form in the grammar."""

from __future__ import annotations

from collections.abc import Callable

from confkv_agents.web.actions import control, fields, navigation, pointer, scrolling
from confkv_agents.web.actions.context import ActionContext
from confkv_agents.web.actions.grammar import Action

PERFORMERS: dict[str, Callable[[ActionContext, Action], str]] = {
    "click": pointer.click,
    "hover": pointer.hover,
    "drag": pointer.drag,
    "type": fields.type_text,
    "clear": fields.clear,
    "select": fields.select,
    "upload": fields.upload,
    "press": control.press,
    "scroll": scrolling.scroll,
    "goto": navigation.goto,
    "go_back": navigation.go_back,
    "go_forward": navigation.go_forward,
    "new_tab": navigation.new_tab,
    "tab_focus": navigation.tab_focus,
    "close_tab": navigation.close_tab,
    "dialog": control.dialog,
    "wait": control.wait,
}
"""Verb -> function. `stop` and `fail` end the episode and touch no page."""


def execute(context: ActionContext, action: Action) -> str:
    """Carry out an action in the browser's thread.

    Returns:
        What was done, in words.

    Raises:
        ActionError: It could not be done; the message tells the agent why.
    """
    return PERFORMERS[action.name](context, action)
