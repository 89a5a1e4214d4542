"""What scripted notes state, and whether it could be read by then."""

from __future__ import annotations

import re
from collections.abc import Sequence

_QUOTED = re.compile(r"(?<!\w)'(.+?)'(?!\w)")
# Amounts, codes, addresses.
_PLAIN = re.compile(r"\$\d+(?:,\d{3})*(?:\.\d\d)?|\b[A-Z]{2}-?\d{3}[A-Z]?\b|\b[\w.]+@[\w.]+\w\b")
_SERIAL = re.compile(r"serial '\w+'")
_PICTURE = re.compile(r"^\s*img ", re.MULTILINE)


def facts(note: str) -> list[str]:
    """What a note quotes, and the amounts, codes and mail addresses in it."""
    return [*_QUOTED.findall(note), *_PLAIN.findall(_QUOTED.sub(" ", note))]


def unread(note: str, read: Sequence[str], shown: str, pictures: bool = False) -> list[str]:
    """Facts of a note that stand nowhere in what was read.

    Args:
        note: What is jotted down.
        read: The task and every observation so far.
        shown: The observation of the moment, in which a picture must be seen by who quotes a serial number from it.
        pictures: Whether the task is one about pictures.
    """
    known = [_plain(text) for text in read]
    missing = [fact for fact in facts(note) if not any(_plain(fact) in text for text in known)]
    return [] if pictures and _SERIAL.fullmatch(note) and _PICTURE.search(shown) else missing


def _plain(text: str) -> str:
    return " ".join(re.sub(r"['\"\\]", " ", text).split())
