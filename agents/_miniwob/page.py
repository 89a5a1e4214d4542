"""What a solver of a MiniWoB++ task sees: the latest observation, and words for what to do with it."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confkv_agents.errors import AgentError

if TYPE_CHECKING:
    from confkv_agents.web.observation import Element, Observation

Steps = Generator[str, None, None]
"""Actions as text; when a solver goes on after one, its page shows what came of it."""

_LINE = re.compile(r"\s*(?:clickable|[a-z]+) (?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")")
_ESCAPED = re.compile(r"\\(.)")
_QUOTED = re.compile(r'"([^"]*)"')
_SCROLLS = 6


@dataclass
class Page:
    """The latest observation; solvers keep it and the agent renews it.

    Attributes:
        goal: What the task asks for.
    """

    observation: Observation
    goal: str

    def all(self, role: str, name: str | None = None) -> list[Element]:
        """The elements in view of a role, and of a name where one is given."""
        found = [element for element in self.observation.elements if element.role in role.split("|")]
        return [element for element in found if name is None or element.name == name]

    def find(self, role: str, name: str | None = None, nth: int = 0) -> Element:
        """The nth of them.

        Raises:
            AgentError: It is not in view.
        """
        found = self.all(role, name)
        if nth >= len(found):
            named = "" if name is None else f" {name!r}"
            raise AgentError(f"no {role}{named} number {nth + 1} in view of:\n{self.observation.text}")
        return found[nth]

    def words(self) -> list[str]:
        """What the lines say, in order, elements and texts alike; without the goal."""
        found = (_LINE.match(line) for line in self.observation.body.splitlines())
        texts = [_ESCAPED.sub(r"\1", match[1] if match[1] is not None else match[2]) for match in found if match]
        return [text for text in texts if text and text != self.goal]

    def has(self, role: str, name: str | None = None) -> bool:
        """Whether one is in view."""
        return bool(self.all(role, name))

    def quoted(self) -> list[str]:
        """What stands in quotes in the goal."""
        return _QUOTED.findall(self.goal)

    def asked(self, pattern: str) -> tuple[str, ...]:
        """The groups of a pattern in the goal.

        Raises:
            AgentError: The goal has another form.
        """
        match = re.search(pattern, self.goal)
        if match is None:
            raise AgentError(f"the goal {self.goal!r} is not of the form {pattern!r}")
        return match.groups()


def click(page: Page, role: str, name: str | None = None, nth: int = 0) -> Steps:
    """Click an element, after scrolling to it where it is not in view."""
    for direction in ("down", "up"):
        for _ in range(_SCROLLS):
            if len(page.all(role, name)) > nth:
                break
            yield f"scroll [{direction}]"
            if "cannot be scrolled" in page.observation.outcome:
                break
    yield f"click [{page.find(role, name, nth).id}]"


def fill(page: Page, text: str, nth: int = 0, role: str = "textbox") -> Steps:
    """Type into a field."""
    yield f"type [{page.find(role, None, nth).id}] [{text}]"


def submit(page: Page, name: str = "Submit") -> Steps:
    """Press the button that ends the task."""
    yield from click(page, "button", name)


def ordinal(text: str) -> int:
    """Index from 0 of "1st", "2nd", "3rd"..."""
    return int(re.sub(r"\D", "", text)) - 1
