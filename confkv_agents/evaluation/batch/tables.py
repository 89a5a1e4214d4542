"""A set's summary, and the comparison of two, as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from confkv_agents.evaluation import words
from confkv_agents.evaluation.batch.options import NO_POLICY


def summary_table(summary: Mapping[str, Any]) -> Table:
    """A row per policy."""
    policies = summary["policies"]
    uses_model = any(figures["peak_kv_bytes"] is not None for figures in policies.values())
    table = _table("Episodes by policy", "policy")
    names = ["success", "95 %", "steps", "s"]
    if uses_model:
        names = ["success", "95 %", "points to full", "retention", "peak KV", "of full", "read", "s/step"]
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for label, figures in policies.items():
        success = f"{figures['succeeded']} of {figures['judged']}"
        spread = interval(figures["success_interval"])
        if not uses_model:
            seconds = words.MISSING if figures["seconds"] is None else f"{figures['seconds']:.1f}"
            table.add_row(_name(label), success, spread, number(figures["steps"]), seconds)
            continue
        against = figures.get("against_full")
        table.add_row(
            _name(label),
            success,
            spread,
            difference(against),
            words.MISSING if against is None else share(against["retention"]),
            words.size(figures["peak_kv_bytes"]),
            share(figures["of_full_kv"]),
            words.count(figures["tokens_read"]),
            number(figures["model_seconds_per_step"]),
        )
    return table


def comparison_table(comparison: Sequence[Mapping[str, Any]]) -> Table:
    """A row per pair of policies of two sets."""
    table = _table("A against B, on the cases that both have", "policies")
    for name in ("cases", "A", "B", "A - B", "peak KV A/B", "tokens read A/B", "time A/B"):
        table.add_column(name, justify="right")
    for entry in comparison:
        figures = entry["figures"]
        label = entry["a"] if entry["a"] == entry["b"] else f"{entry['a']} / {entry['b']}"
        if figures is None:
            table.add_row(label, "0", *[words.MISSING] * 6)
            continue
        own, theirs = figures["succeeded"]
        table.add_row(
            label,
            str(figures["cases"]),
            str(own),
            str(theirs),
            difference(figures),
            *(_with_interval(figures, f"{name}_ratio") for name in ("peak_kv", "tokens_read", "seconds")),
        )
    return table


def share(value: float | None) -> str:
    """A share in percent."""
    return words.MISSING if value is None else f"{100 * value:.0f} %"


def interval(ends: Sequence[float] | None) -> str:
    """An interval of shares: `21-79 %`."""
    return words.MISSING if ends is None else f"{100 * ends[0]:.0f}-{100 * ends[1]:.0f} %"


def number(value: float | None, digits: int = 1) -> str:
    """A plain number."""
    return words.MISSING if value is None else f"{value:,.{digits}f}"


def difference(figures: Mapping[str, Any] | None) -> str:
    """A difference of shares in points with its interval: `-8 (-30 to +14)`."""
    if figures is None:
        return words.MISSING
    low, high = figures["difference_interval"]
    return f"{100 * figures['difference']:+.0f} ({100 * low:+.0f} to {100 * high:+.0f})"


def retained(figures: Mapping[str, Any] | None) -> str:
    """Retention with its interval: `95 % (80-104 %)`."""
    if figures is None or figures["retention"] is None:
        return words.MISSING
    return f"{share(figures['retention'])} ({interval(figures['retention_interval'])})"


def _with_interval(figures: Mapping[str, Any], key: str) -> str:
    value, ends = figures[key], figures[f"{key}_interval"]
    if value is None:
        return words.MISSING
    return f"{value:.2f}" + (f" ({ends[0]:.2f}-{ends[1]:.2f})" if ends else "")


def _table(title: str, first: str) -> Table:
    table = Table(title=title, title_justify="left", header_style="dim", box=None, padding=(0, 2, 0, 0))
    table.add_column(first, overflow="fold")
    return table


def _name(label: str) -> str:
    return "no model" if label == NO_POLICY else label
