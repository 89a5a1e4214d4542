"""Figures in words, the same on the terminal and in the report."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any, NamedTuple

MISSING = "-"

STOP_REASONS = {
    "stop": "the agent stopped",
    "max_steps": "no steps were left",
    "parse_failures": "three outputs in a row were not actions",
    "repeated_action": "the same action came five times in a row and changed nothing",
    "timeout": "the time was up",
    "agent_error": "the agent could not go on",
    "infra_error": "the environment failed, which says nothing about the agent",
}


class Verdict(NamedTuple):
    """How something ended: words, why, and a tone (`good`, `bad`, `note` or none) for its colour."""

    words: str
    why: str
    tone: str


def verdict_of(status: str, result: Mapping[str, Any] | None) -> Verdict:
    """The verdict on an episode, given its record's status and result."""
    if result is None:
        return {
            "running": Verdict("Not finished", "it is running, or was killed", "note"),
            "interrupted": Verdict("Interrupted", "stopped from outside before it ended", "note"),
        }.get(status, Verdict("Failed to run", "an unexpected error ended the run", "bad"))
    why = STOP_REASONS.get(result["stop_reason"], result["stop_reason"])
    if result["success"] is None:
        return Verdict("No verdict", why, "note")
    return Verdict("Success", why, "good") if result["success"] else Verdict("No success", why, "bad")


def printable(text: str) -> str:
    """The same text without control characters, which would act on a terminal; line ends and tabs stay."""
    return "".join(each for each in text if each in "\n\t" or unicodedata.category(each) != "Cc")


def count(value: float | None) -> str:
    """A whole number with separators: `12,345`."""
    return MISSING if value is None else f"{value:,.0f}"


def size(value: float | None) -> str:
    """Bytes in binary units: `12.3 MiB`."""
    if value is None:
        return MISSING
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def seconds(value: float | None) -> str:
    """A duration: `4.2 s`, `3 min 05 s`."""
    if value is None:
        return MISSING
    if value < 100:
        return f"{value:.1f} s"
    return f"{int(value // 60)} min {int(value % 60):02d} s"


def span(values: Mapping[str, float] | None, digits: int = 0) -> str:
    """A range: `512`, `64 to 512`."""
    if not values or values.get("min") is None:
        return MISSING
    low, high = (f"{values[key]:,.{digits}f}" for key in ("min", "max"))
    return low if low == high else f"{low} to {high}"


def ratio(part: float | None, whole: float | None) -> str:
    """A share in percent: `27 %`."""
    return MISSING if part is None or not whole else f"{100 * part / whole:.0f} %"
