"""The text form of actions: VisualWebArena's bracket grammar, widened.

    click [12]    type [3] [red backpack] [1]    select [7] [Price]    stop [$34.00]

Unlike there, `type` replaces the field's content and presses Enter only when its third group is `[1]`.

A model writes what it likes around it; the last fenced block that is an action counts, else the last line
that is one. Numbers may come without brackets (`click 12`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from confkv_agents.errors import ActionError
from confkv_agents.web.actions.verbs import VERBS


class ActionParseError(ActionError):
    """No action was found in a model's output; the message tells the model what to write."""


@dataclass(frozen=True)
class Action:
    """One action.

    Attributes:
        name: The verb.
        element: Id of the element acted on, where the verb takes one.
        target: Second element of `drag`; tab number of `tab_focus`; seconds of `wait`.
        text: Text, keys, option, file, address, answer or reason.
        enter: `type`: press Enter afterwards.
        direction: `scroll`: "down" or "up".
        accept: `dialog`: whether the next one is accepted.
    """

    name: str
    element: int | None = None
    target: int | None = None
    text: str = ""
    enter: bool = False
    direction: str = ""
    accept: bool = False

    def __str__(self) -> str:
        return format_action(self)


_NUMBER = r"\s*\[?\s*(\d{1,9})\s*\]?"
_TEXT = r"\s*\[(.*)\]"
_FLAG = r"(?:\s*\[\s*([01])\s*\])"
_DIRECTION = r"\s*\[?\s*(down|up)\s*\]?"
_FORMS: dict[str, tuple[str, ...]] = {
    "click": (_NUMBER,),
    "hover": (_NUMBER,),
    "clear": (_NUMBER,),
    "type": (_NUMBER + _TEXT + _FLAG, _NUMBER + _TEXT),
    "select": (_NUMBER + _TEXT,),
    "upload": (_NUMBER + _TEXT,),
    "drag": (_NUMBER + r"(?=[\s\]\[])" + _NUMBER,),
    "press": (_TEXT, r"\s+([^\s\[\]]+)"),
    "scroll": (_DIRECTION, r"\s*\[?\s*page\s*\]?" + _DIRECTION, _NUMBER + _DIRECTION),
    "goto": (_TEXT, r"\s+([^\s\[\]]+)"),
    "tab_focus": (_NUMBER,),
    "dialog": (r"\s*\[?\s*(accept|dismiss)\s*\]?(?:\s*\[(.*)\])?",),
    "wait": (r"(?:\s*\[?\s*(\d{1,3})\s*\]?)?",),
    "stop": (_TEXT, ""),
    "fail": (_TEXT, ""),
    "go_back": (r"(?:\s*\[\s*\])?",),
    "go_forward": (r"(?:\s*\[\s*\])?",),
    "new_tab": (r"(?:\s*\[\s*\])?",),
    "close_tab": (r"(?:\s*\[\s*\])?",),
}
_COMPILED = {
    verb: tuple(re.compile(form, re.DOTALL | re.IGNORECASE) for form in forms) for verb, forms in _FORMS.items()
}
_START = re.compile(
    r"^[ \t>*-]*(?:action\s*:)?[ \t]*[`*]{0,3}[ \t]*(" + "|".join(sorted(VERBS, key=len, reverse=True)) + r")\b",
    re.MULTILINE | re.IGNORECASE,
)
_FENCE = re.compile(r"```[\w-]*[ \t]*\n?(.*?)```", re.DOTALL)
_BLANKS = " \t\r\n"


def parse_action(text: str) -> Action:
    """Find the action in a model's output.

    Raises:
        ActionParseError: There is none; the message shows how actions are written.
    """
    for block in reversed(_FENCE.findall(text)):
        action = _last_action(block)
        if action is not None:
            return action
    action = _last_action(text)
    if action is not None:
        return action
    raise ActionParseError(_explain(text))


def _last_action(text: str) -> Action | None:
    starts = list(_START.finditer(text))
    if starts and not text[: starts[0].start()].strip():  # the whole of it may be one action over several lines
        action = _parse_one(starts[0][1].lower(), text[starts[0].end(1) :])
        if action is not None:
            return action
    end = len(text)
    for start in reversed(starts):
        verb = start[1].lower()
        line_end = text.find("\n", start.end())
        line_end = len(text) if line_end < 0 else line_end
        for stop in dict.fromkeys((line_end, end, len(text))):
            action = _parse_one(verb, text[start.end(1) : max(stop, line_end)])
            if action is not None:
                return action
        end = start.start()
    return None


def _parse_one(verb: str, rest: str) -> Action | None:
    rest = rest.rstrip(_BLANKS + "`*")
    if rest.endswith("].") or (rest.endswith(".") and verb not in ("press", "goto", "stop", "fail")):
        rest = rest[:-1]
    for form in _COMPILED[verb]:
        match = form.fullmatch(rest)
        if match and ("\n" not in rest or all(_balanced(group) for group in match.groups() if group)):
            return _build(verb, match.groups())
    return None


def _balanced(text: str) -> bool:
    """True when every bracket that closes was opened; else several lines hold more than one action."""
    depth = 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if depth < 0:
            return False
    return depth == 0


def _build(verb: str, groups: tuple[str | None, ...]) -> Action:
    first = groups[0] if groups else None
    match verb:
        case "click" | "hover" | "clear":
            return Action(verb, element=int(first or 0))
        case "type":
            return Action(verb, element=int(first or 0), text=groups[1] or "", enter=groups[2:] == ("1",))
        case "select" | "upload":
            return Action(verb, element=int(first or 0), text=(groups[1] or "").strip())
        case "drag":
            return Action(verb, element=int(first or 0), target=int(groups[1] or 0))
        case "scroll":
            element = int(first) if first and first.isdigit() else None
            return Action(verb, element=element, direction=(groups[-1] or "down").lower())
        case "tab_focus":
            return Action(verb, target=int(first or 0))
        case "wait":
            return Action(verb, target=int(first) if first else None)
        case "dialog":
            return Action(verb, accept=(first or "").lower() == "accept", text=groups[1] or "")
        case "press" | "goto":
            return Action(verb, text=(first or "").strip())
        case _:
            return Action(verb, text=(first or "").strip())


def format_action(action: Action) -> str:
    """Write an action; `parse_action` reads back the same one."""
    name = action.name
    match name:
        case "click" | "hover" | "clear":
            return f"{name} [{action.element}]"
        case "type":
            # Without the flag a text that ends like one would be read as text and flag.
            flag = " [1]" if action.enter else " [0]" if re.search(r"\]\s*\[\s*[01]\s*$", action.text) else ""
            return f"type [{action.element}] [{action.text}]{flag}"
        case "select" | "upload":
            return f"{name} [{action.element}] [{action.text}]"
        case "drag":
            return f"drag [{action.element}] [{action.target}]"
        case "scroll":
            where = "" if action.element is None else f" [{action.element}]"
            return f"scroll{where} [{action.direction}]"
        case "tab_focus":
            return f"tab_focus [{action.target}]"
        case "wait":
            return "wait" if action.target is None else f"wait [{action.target}]"
        case "dialog":
            text = f" [{action.text}]" if action.text else ""
            return f"dialog [{'accept' if action.accept else 'dismiss'}]{text}"
        case "go_back" | "go_forward" | "new_tab" | "close_tab":
            return name
        case _:
            return f"{name} [{action.text}]"


def describe_actions(names: list[str] | None = None) -> str:
    """The actions, one a line, as told to a model; all of them or those named."""
    chosen = VERBS if names is None else {name: VERBS[name] for name in names}
    return "\n".join(f"{verb.form}: {verb.help}{verb.written}" for verb in chosen.values())


def _explain(text: str) -> str:
    starts = list(_START.finditer(text))
    if starts:
        verb = starts[-1][1].lower()
        return f"no action understood: {verb} is written {VERBS[verb].form}"
    word = re.search(r"(?m)^[ \t`>*-]*([a-z_]{2,20})[ \t]*\[", text)
    if word:
        return f"there is no action {word[1]!r}; use one of: {', '.join(VERBS)}"
    return f"no action found: end with one line such as click [3]; actions: {', '.join(VERBS)}"
