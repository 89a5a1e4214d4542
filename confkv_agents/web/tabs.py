"""Which tabs are open and which one the agent acts on: decided here, never by what the browser has in focus.

A tab that a page opens becomes the active one, and the outcome says so. When the active tab closes, the one
opened last before it takes over; when none is left, an empty one is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from confkv_agents.errors import ActionError
from confkv_agents.web.text import quote
from confkv_agents.web.tree import clean

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Download, Page


class Tabs:
    """The tabs of one context, in order of opening.

    Attributes:
        notes: Sentences about tabs that opened or closed and files that were downloaded since `take_notes`.
        crashed: True once a page's renderer died.
    """

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self._pages: list[Page] = []
        self._active: Page | None = None
        self._hidden = False
        self._notes: list[str] = []
        self.crashed = False
        context.on("page", self._opened)

    @property
    def pages(self) -> list[Page]:
        """Open tabs in order of opening."""
        return list(self._pages)

    @property
    def active(self) -> Page:
        """The tab the agent acts on; an empty one is opened when none is left."""
        if self._active is None or self._active.is_closed():
            if self._pages:
                self._active = self._pages[-1]
            else:
                self.open()
                self._notes.append("the last tab was closed and an empty one opened")
        assert self._active is not None
        return self._active

    @property
    def active_index(self) -> int:
        """Number of the active tab, from 0."""
        return self._pages.index(self.active)

    def take_notes(self) -> list[str]:
        """What happened to the tabs since the last call."""
        notes, self._notes = self._notes, []
        return notes

    def open(self) -> Page:
        """Open an empty tab on the agent's behalf; it becomes the active one."""
        page = self._context.new_page()
        self._notes = [note for note in self._notes if not note.startswith("a new tab")]
        self._active = page
        return page

    def open_hidden(self) -> Page:
        """Open a page of the same context that is no tab of the agent's, for checks."""
        self._hidden = True
        try:
            return self._context.new_page()
        finally:
            self._hidden = False

    def focus(self, index: int) -> Page:
        """Make a tab the active one. Raises ActionError for a number that does not exist."""
        if not 0 <= index < len(self._pages):
            count = len(self._pages)
            raise ActionError(f"there is no tab {index}; tabs are numbered 0 to {count - 1}")
        self._active = self._pages[index]
        self._active.bring_to_front()
        return self._active

    def close(self) -> None:
        """Close the active tab."""
        page = self.active
        page.close()
        self._forget(page)
        self._active.bring_to_front() if self._active is not None else None

    def _opened(self, page: Page) -> None:
        if self._hidden:
            return
        self._pages.append(page)
        self._active = page
        self._notes.append(f"a new tab {len(self._pages) - 1} opened and is now the current one")
        page.on("close", self._closed)
        page.on("crash", self._crashed)
        page.on("download", self._downloaded)

    def _closed(self, page: Page) -> None:
        if page in self._pages:
            self._notes.append(f"tab {self._pages.index(page)} closed")
            self._forget(page)

    def _forget(self, page: Page) -> None:
        if page in self._pages:
            self._pages.remove(page)
        if self._active is page:
            self._active = self._pages[-1] if self._pages else None

    def _crashed(self, page: Page) -> None:
        self.crashed = True

    def _downloaded(self, download: Download) -> None:
        self._notes.append(
            f"the file {quote(clean(download.suggested_filename), 80)} was downloaded; it cannot be read here"
        )
