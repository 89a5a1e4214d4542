"""Dialogs never stop an episode: each is answered at once, by a policy set beforehand, and told.

A dialog left open blocks the page and every call on it. So the agent says before the action that raises a
dialog how the next one is to be answered (`dialog [accept]`); without that it is dismissed, as Chromium
itself would do. Dialogs raised while a page loads are answered in the same way.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confkv_agents.web.observation import DialogRecord
from confkv_agents.web.text import quote
from confkv_agents.web.tree import clean

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Dialog

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answer:
    """How the next dialog is answered; `text` goes into a prompt."""

    accept: bool
    text: str = ""


class Dialogs:
    """Answers and records the dialogs of one context."""

    def __init__(self, context: BrowserContext) -> None:
        self._next: Answer | None = None
        self._records: list[DialogRecord] = []
        context.on("dialog", self._answer)

    def answer_next(self, answer: Answer) -> None:
        """Decide how the next dialog is answered; holds for one dialog."""
        self._next = answer

    def take(self) -> list[DialogRecord]:
        """The dialogs since the last call."""
        records, self._records = self._records, []
        return records

    def _answer(self, dialog: Dialog) -> None:
        from playwright.sync_api import Error

        if dialog.type in (
            "alert",
            "beforeunload",
        ):  # only one answer; leaving the page is the agent's own wish
            accept, text = True, ""
        else:
            answer, self._next = self._next or Answer(accept=False), None
            accept, text = answer.accept, answer.text
        self._records.append(DialogRecord(dialog.type, clean(dialog.message), "accepted" if accept else "dismissed"))
        try:
            if accept:
                dialog.accept(text if dialog.type == "prompt" else None)
            else:
                dialog.dismiss()
        except Error as error:  # the page went away with its dialog
            logger.info("a dialog was gone before it was answered: %s", error)


def describe(record: DialogRecord) -> str:
    """A sentence for the outcome."""
    text = f"a dialog ({record.type}) said {quote(record.message, 300)} and was {record.answer}"
    if record.answer == "dismissed":
        return text + "; to accept it, use dialog [accept] and then repeat the action"
    return text
