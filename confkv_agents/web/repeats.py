"""How often the same action has come in a row without anything having come of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from confkv_agents.web.actions.grammar import Action
from confkv_agents.web.outline import Line


class Repeats:
    """Counts equal actions in a row; one whose page the last one changed is no repetition."""

    def __init__(self) -> None:
        self._last: tuple[Any, ...] = ()
        self.count = 0

    def forget(self) -> None:
        """Begin anew: something else came between."""
        self._last, self.count = (), 0

    def add(self, action: Action, refs: Sequence[str], url: str, top: float, lines: Sequence[Line]) -> None:
        """Count an action that is about to be done.

        Equal are the same verb and text on the same elements of a page that looks the same, whatever their ids.

        Args:
            action: What is done.
            refs: Handles of the elements that it names.
            url: The page's address.
            top: How far the page is scrolled, in CSS pixels.
            lines: What is seen of the page.
        """
        scrolls = action.name == "scroll"  # which may move a part of the page only
        looks = tuple((line.role, line.name, line.value, line.states, line.box if scrolls else None) for line in lines)
        elements = tuple(refs) or (action.element, action.target)
        said = (action.name, elements, action.text, action.direction, action.accept, action.enter)
        key = (*said, url, top if scrolls else None, looks)
        self.count = self.count + 1 if key == self._last else 1
        self._last = key
