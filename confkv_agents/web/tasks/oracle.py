"""The scripted solution of a task: what a person who knows the answer would do, by roles and names.

An element is named by its role and accessible name as the observation shows them; the oracle agent finds it
there and acts through the ordinary grammar, so that a scripted run exercises the same path as a model's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

PLAN = "plan: "
"""What a plan begins with; it has a line of its own before the first note."""
NOW = "now: "
"""What the plan's part that is being done begins with; it has a line of its own in every later answer."""

_PART = re.compile(r"(?:(?<!\w)'.+?'(?!\w)|.)+?(?=; |$)")  # a name between quotes may hold anything


def parts_of(plan: str) -> list[str]:
    """Return a plan's parts, in the order in which they are done: what stands between `; `, quotes left whole.

    Args:
        plan: As `x_confkv.plan` holds it.
    """
    return [part.removeprefix("; ") for part in _PART.findall(plan)]


def begin(part: int, steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Say of scripted steps that a part of the plan begins with the first of them.

    Args:
        part: Its number, from 0, as `parts_of` counts.
        steps: As `x_confkv.oracle` holds them, one at least.
    """
    return [steps[0] | {"part": part}, *steps[1:]]


class _Step(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    note: str = ""
    """What the actor would jot down before acting; optional."""
    part: int | None = Field(default=None, ge=0)
    """Number, from 0, of the plan's part that begins with this action; the script itself begins with part 0."""


class Target(BaseModel):
    """An element of the observation: role and name, the `nth` of several, or the one closest after a text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: str
    name: str
    nth: int = Field(default=0, ge=0)
    near: str | None = None


class _OnElement(_Step):
    role: str
    name: str
    nth: int = Field(default=0, ge=0)
    near: str | None = None


class Click(_OnElement):
    """Click an element."""

    action: Literal["click"]


class Hover(_OnElement):
    """Move the pointer over an element."""

    action: Literal["hover"]


class Clear(_OnElement):
    """Empty a field."""

    action: Literal["clear"]


class Type(_OnElement):
    """Replace a field's content, then press Enter when asked."""

    action: Literal["type"]
    text: str
    enter: bool = False


class Select(_OnElement):
    """Choose an option of a list by its label."""

    action: Literal["select"]
    option: str


class Drag(_OnElement):
    """Drag an element onto another."""

    action: Literal["drag"]
    to: Target


class Upload(_OnElement):
    """Give a file of the task's folder to a file field."""

    action: Literal["upload"]
    file: str


class Press(_Step):
    """Press a key or a combination."""

    action: Literal["press"]
    keys: str


class Scroll(_Step):
    """Scroll the page, or the container of an element."""

    action: Literal["scroll"]
    direction: Literal["down", "up"]
    role: str | None = None
    name: str | None = None
    nth: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _an_element_or_none(self) -> Self:
        if (self.role is None) != (self.name is None):
            raise ValueError("role and name go together")
        return self


class Goto(_Step):
    """Open an address; may start with a placeholder."""

    action: Literal["goto"]
    url: str


class Plain(_Step):
    """An action without arguments."""

    action: Literal["go_back", "go_forward", "new_tab", "close_tab", "wait"]


class TabFocus(_Step):
    """Switch to a tab by its number."""

    action: Literal["tab_focus"]
    index: int = Field(ge=0)


class Dialog(_Step):
    """Decide how the next dialog is answered."""

    action: Literal["dialog"]
    accept: bool
    text: str = ""


class Stop(_Step):
    """End the episode with an answer."""

    action: Literal["stop"]
    answer: str = ""


class Fail(_Step):
    """End the episode: the task cannot be done."""

    action: Literal["fail"]
    reason: str = ""


OracleAction = Annotated[
    Click
    | Hover
    | Clear
    | Type
    | Select
    | Drag
    | Upload
    | Press
    | Scroll
    | Goto
    | Plain
    | TabFocus
    | Dialog
    | Stop
    | Fail,
    Field(discriminator="action"),
]
