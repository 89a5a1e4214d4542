"""Every action as it is told to a model: the one place that says its form, what it does and what it takes.

`grammar` reads and writes the text form, `arguments` the form with named arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["number", "text", "flag"]


@dataclass(frozen=True)
class Parameter:
    """One argument of an action, for models that give arguments by name.

    Attributes:
        name: As a model writes it.
        kind: A whole number, text, or true and false.
        help: What it is, as told to a model.
        field: The attribute of `Action` that takes it, where that has another name.
        choices: The texts it may be; any if there are none.
        required: False where the action can do without.
    """

    name: str
    kind: Kind
    help: str
    field: str = ""
    choices: tuple[str, ...] = ()
    required: bool = True


@dataclass(frozen=True)
class Verb:
    """How an action is written, and what it does, as told to a model.

    Attributes:
        form: The written form.
        help: What it does.
        parameters: Its arguments, in the order of the written form.
        written: What has to be said of the written form only; follows `help` directly.
    """

    form: str
    help: str
    parameters: tuple[Parameter, ...] = ()
    written: str = ""


_ID = Parameter("id", "number", "the number in brackets of an element on the page", "element")
VERBS: dict[str, Verb] = {
    "click": Verb("click [id]", "click an element", (_ID,)),
    "type": Verb(
        "type [id] [text] [1]",
        "replace a field's content",
        (
            _ID,
            Parameter("text", "text", "the field's new content"),
            Parameter("enter", "flag", "press Enter afterwards", required=False),
        ),
        "; the last [1] presses Enter, leave it out otherwise",
    ),
    "clear": Verb("clear [id]", "empty a field", (_ID,)),
    "select": Verb(
        "select [id] [option]",
        "choose an option of a list by its label",
        (_ID, Parameter("option", "text", "the option's label", "text")),
    ),
    "hover": Verb("hover [id]", "move the pointer over an element", (_ID,)),
    "drag": Verb(
        "drag [id] [id]",
        "drag the first element onto the second",
        (_ID, Parameter("onto", "number", "the number of the second element", "target")),
    ),
    "upload": Verb(
        "upload [id] [file]",
        "give a file to a file field",
        (_ID, Parameter("file", "text", "name of a file of the task", "text")),
    ),
    "press": Verb(
        "press [keys]",
        "press a key or a combination, such as Enter or Control+a",
        (Parameter("keys", "text", "the key or combination", "text"),),
    ),
    "scroll": Verb(
        "scroll [down]",
        "scroll the page",
        (
            Parameter("direction", "text", "which way", choices=("down", "up")),
            Parameter("id", "number", "scroll what this element lies in instead", "element", required=False),
        ),
        " [down] or [up]; scroll [id] [down] scrolls what the element lies in",
    ),
    "goto": Verb("goto [url]", "open an address", (Parameter("url", "text", "the address", "text"),)),
    "go_back": Verb("go_back", "go to the previous page"),
    "go_forward": Verb("go_forward", "go to the next page again"),
    "new_tab": Verb("new_tab", "open an empty tab"),
    "tab_focus": Verb(
        "tab_focus [number]", "switch to a tab", (Parameter("number", "number", "the tab's number", "target"),)
    ),
    "close_tab": Verb("close_tab", "close the current tab"),
    "dialog": Verb(
        "dialog [accept]",
        "say before an action how the dialog it raises is answered",
        (
            Parameter("answer", "text", "how", "accept", choices=("accept", "dismiss")),
            Parameter("text", "text", "what to write where the dialog asks for text", required=False),
        ),
        ": [accept] or [dismiss]; a second [text] fills a prompt",
    ),
    "wait": Verb(
        "wait",
        "wait a second for the page",
        (Parameter("seconds", "number", "or this many seconds, at most 10", "target", required=False),),
    ),
    "stop": Verb(
        "stop [answer]",
        "finish; the answer may be empty",
        (Parameter("answer", "text", "the answer, if the task asks for one", "text", required=False),),
    ),
    "fail": Verb(
        "fail [reason]",
        "finish, since the task cannot be done",
        (Parameter("reason", "text", "why", "text", required=False),),
    ),
}
"""Every verb, in the order in which they are told."""
