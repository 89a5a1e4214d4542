"""What an action needs to be carried out, and how it finds the element it is meant for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from confkv_agents.errors import ActionError
from confkv_agents.web.clicks import selector
from confkv_agents.web.dialogs import Dialogs
from confkv_agents.web.network import AllowList
from confkv_agents.web.observation import Element, Observation
from confkv_agents.web.sites import SiteSet
from confkv_agents.web.tabs import Tabs
from confkv_agents.web.text import unquoted

if TYPE_CHECKING:
    from playwright.sync_api import Error, Locator, Page

PATIENCE_MS = 2000
"""How long one interaction may take. A dead element would otherwise cost Playwright's full timeout."""


@dataclass
class ActionContext:
    """The agent's side of a browser context, in the thread that owns it.

    Attributes:
        observation: The one whose ids the agent uses.
        folder: Folder whose files may be uploaded; None for none.
    """

    tabs: Tabs
    dialogs: Dialogs
    sites: SiteSet
    allow: AllowList
    observation: Observation
    folder: Path | None = None
    navigation_ms: int = 10_000

    @property
    def page(self) -> Page:
        """The active tab."""
        return self.tabs.active

    def locate(self, number: int | None) -> tuple[Element, Locator]:
        """The element of an id, and Playwright's handle of it.

        Raises:
            ActionError: The observation has no such id, or the element has left the page.
        """
        element = self.observation.element(number or 0)
        if element is None:
            count = len(self.observation.elements)
            have = f"ids go from 1 to {count}" if count else "this page shows no elements"
            raise ActionError(f"there is no element [{number}]; {have}")
        locator = self.page.locator(selector(element.ref))
        if locator.count() == 0:
            raise ActionError(f"{element} is gone; the page changed meanwhile")
        return element, locator


_REASONS = (
    (re.compile(r"element is not enabled"), "it is disabled"),
    (
        re.compile(r"element is not editable|not an <input>|does not have a role allowing"),
        "it cannot be edited",
    ),
    (re.compile(r"element is not visible"), "it is not visible"),
    (re.compile(r"element is not stable"), "it keeps moving"),
    (re.compile(r"element is outside of the viewport"), "it is outside of the window"),
    (re.compile(r"intercepts pointer events"), "something covers it"),
    (re.compile(r"[Mm]alformed value"), "the text has not the form that the field takes"),
    (re.compile(r"Cannot type text into input\[type=number\]"), "the field takes numbers only"),
    (re.compile(r"element was detached|waiting for locator"), "it is gone"),
)


def reason(error: Error) -> str:
    """Why Playwright could not do something, in words an agent can use."""
    text = str(error)
    for pattern, words in _REASONS:
        if pattern.search(text):
            return words
    first = text.strip().splitlines()[0] if text.strip() else type(error).__name__
    return unquoted(re.sub(r"^\w+\.\w+: ", "", first))  # a page may have raised it
