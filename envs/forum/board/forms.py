"""Checks what is written into forms, and makes slugs of titles."""

import re

USERNAME = re.compile(r"[A-Za-z0-9_]{3,25}")
FORUM_NAME = re.compile(r"[A-Za-z0-9_]{3,25}")
LONGEST_TITLE = 200
LONGEST_BODY = 10_000
LONGEST_MESSAGE = 4_000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_WORD = re.compile(r"[a-z0-9]+")
REASONS = ("Spam", "Off topic", "Rude or hateful", "Dangerous advice", "Something else")


def slug(title: str) -> str:
    """A title as it stands in addresses: lower case, hyphens, 60 characters at most; `-` if nothing is left."""
    text = ""
    for word in _WORD.findall(title.lower()):
        if len(text) + len(word) + 1 > 60:
            break
        text = f"{text}-{word}" if text else word
    return text or "-"


def one_line(text: str, longest: int = LONGEST_TITLE) -> str:
    """A single line of text: control characters and runs of blanks removed, cut to `longest`."""
    return " ".join(_CONTROL.sub("", text).split())[:longest]


def lines(text: str) -> str:
    """Several lines of text: line ends made alike, control characters removed."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def check_title(title: str) -> str:
    """What is wrong with a title; empty when nothing is."""
    return "" if title else "Please enter a title."


def check_text(text: str, label: str, *, required: bool = True, longest: int = LONGEST_BODY) -> str:
    """What is wrong with a longer text; empty when nothing is."""
    if required and not text:
        return f"{label} must not be empty."
    return f"{label} may have {longest:,} characters at most." if len(text) > longest else ""


def check_new_password(password: str, repeated: str) -> str:
    """What is wrong with a new password; empty when nothing is."""
    if len(password) < 8:
        return "Please use 8 or more characters."
    if len(password) > 72:
        return "A password may have 72 characters at most."
    return "" if password == repeated else "The two passwords are not the same."
