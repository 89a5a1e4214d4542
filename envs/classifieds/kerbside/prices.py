"""Amounts of money: read from forms, written for people. In the database they are cents."""

import re

_AMOUNT = re.compile(r"\$?\s*([0-9]{1,6})(?:[.,]([0-9]{1,2}))?")


def parse_price(text: str) -> int | None:
    """Cents of an amount such as "85", "85.5" or "$85.50"; None if the text is none."""
    found = _AMOUNT.fullmatch(text.strip())
    return int(found[1]) * 100 + int((found[2] or "0").ljust(2, "0")) if found else None


def price(cents: int) -> str:
    """An amount as pages write it: `$85.50`; nothing costs "Free"."""
    return f"${cents / 100:.2f}" if cents else "Free"


def amount(cents: int) -> str:
    """An amount as fields hold it: `85.50`."""
    return f"{cents / 100:.2f}"
