"""Checks forms on the server: which fields there are, what they must hold, what to tell the visitor."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """A field of a form.

    Attributes:
        name: The form's key, and the id of its element.
        label: What the visitor reads.
        required: Whether it may stay empty.
        kind: text, email, phone, postcode or lines (several lines of text).
        longest: Most characters.
        shortest: Fewest characters, where it is filled in.
        autocomplete: The element's attribute.
    """

    name: str
    label: str
    required: bool = True
    kind: str = "text"
    longest: int = 100
    shortest: int = 0
    autocomplete: str = "off"


_PATTERNS = {
    "email": (re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]{2,}"), "Please enter a valid email address."),
    "postcode": (re.compile(r"[0-9A-Za-z][0-9A-Za-z -]{2,9}"), "Please enter a valid postcode."),
    "phone": (re.compile(r"\+?[0-9][0-9 ()-]{4,}"), "Please enter a valid phone number."),
}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def check(fields: tuple[Field, ...], data: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the values of the fields and a message for each that is not acceptable."""
    values: dict[str, str] = {}
    errors: dict[str, str] = {}
    for field in fields:
        value = _CONTROL.sub("", data.get(field.name, "").replace("\r\n", "\n")).strip()
        if field.kind != "lines":
            value = " ".join(value.split())
        values[field.name] = value
        if not value:
            if field.required:
                errors[field.name] = f"{field.label} is a required field."
        elif len(value) > field.longest:
            errors[field.name] = f"{field.label} may have {field.longest} characters at most."
        elif len(value) < field.shortest:
            errors[field.name] = f"{field.label} needs {field.shortest} characters or more."
        elif field.kind in _PATTERNS and not _PATTERNS[field.kind][0].fullmatch(value):
            errors[field.name] = _PATTERNS[field.kind][1]
    return values, errors


def check_new_password(password: str, repeated: str) -> dict[str, str]:
    """Messages about a new password, under the names `password` and `password2`."""
    if len(password) < 8 or not re.search(r"[0-9]", password) or not re.search(r"[A-Za-z]", password):
        return {"password": "Please use 8 or more characters, with letters and digits."}
    if len(password) > 200:
        return {"password": "Password may have 200 characters at most."}
    return {} if password == repeated else {"password2": "The two passwords are not the same."}


def whole_number(text: str, low: int, high: int) -> int | None:
    """The whole number in `text`, or None if there is none between `low` and `high`."""
    if not re.fullmatch(r"[0-9]{1,9}", text.strip()):
        return None
    number = int(text)
    return number if low <= number <= high else None
