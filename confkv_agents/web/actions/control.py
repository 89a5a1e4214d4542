"""press, dialog, wait: what is not aimed at an element."""

from __future__ import annotations

from confkv_agents.errors import ActionError
from confkv_agents.web.actions.context import ActionContext, reason
from confkv_agents.web.actions.grammar import Action
from confkv_agents.web.dialogs import Answer
from confkv_agents.web.text import quote

_MAX_WAIT = 10
_KEYS = {
    "ctrl": "Control", "control": "Control", "cmd": "Meta", "command": "Meta", "meta": "Meta", "win": "Meta",
    "alt": "Alt", "option": "Alt", "shift": "Shift", "enter": "Enter", "return": "Enter", "esc": "Escape",
    "escape": "Escape", "tab": "Tab", "space": "Space", "spacebar": "Space", "backspace": "Backspace",
    "delete": "Delete", "del": "Delete", "insert": "Insert", "home": "Home", "end": "End", "pageup": "PageUp",
    "pagedown": "PageDown", "up": "ArrowUp", "down": "ArrowDown", "left": "ArrowLeft", "right": "ArrowRight",
    "arrowup": "ArrowUp", "arrowdown": "ArrowDown", "arrowleft": "ArrowLeft", "arrowright": "ArrowRight",
}  # fmt: skip


def normal_keys(text: str) -> str:
    """Spell keys as Playwright does: `ctrl+A` becomes `Control+a`; a command key means Control here."""
    parts = [part.strip() for part in text.split("+")] if text.strip() != "+" else ["+"]
    named = [_KEYS.get(part.lower().replace(" ", "").replace("_", ""), part) for part in parts]
    named = ["Control" if part == "Meta" else part for part in named]
    if len(named) > 1 and len(named[-1]) == 1 and "Shift" not in named:
        named[-1] = named[-1].lower()
    return "+".join("F" + part[1:] if part[:1] == "f" and part[1:].isdigit() else part for part in named)


def press(context: ActionContext, action: Action) -> str:
    """Press a key or a combination where the focus is."""
    from playwright.sync_api import Error

    keys = normal_keys(action.text)
    if not keys or (keys.endswith("+") and keys != "+"):
        raise ActionError("press needs keys, such as press [Enter] or press [Control+a]")
    try:
        context.page.keyboard.press(keys)
    except Error as error:
        if "Unknown key" in str(error):
            raise ActionError(
                f"there is no key {quote(action.text, 40)}; write such as Enter, Tab, Control+a"
            ) from error
        raise ActionError(f"{quote(keys)} could not be pressed: {reason(error)}") from error
    return f"pressed {keys}"


def dialog(context: ActionContext, action: Action) -> str:
    """Decide how the next dialog is answered."""
    context.dialogs.answer_next(Answer(action.accept, action.text))
    with_text = f" with {quote(action.text, 100)}" if action.text else ""
    answer = "accepted" if action.accept else "dismissed"
    return f"the next dialog will be {answer}{with_text}; now do what raises it"


def wait(context: ActionContext, action: Action) -> str:
    """Wait, one second or as long as said (at most 10 s)."""
    seconds = min(_MAX_WAIT, 1 if action.target is None else action.target)
    context.page.wait_for_timeout(seconds * 1000)
    return f"waited {seconds} s"
