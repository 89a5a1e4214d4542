"""Results as tables that fit 100 columns; "peak" counts the reading buffer, "held" is what stays after reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from confkv_agents.evaluation import words
from confkv_agents.evaluation.bench.words import ASKED

LONGEST = 22  # characters of a policy on one line


def needle_table(summary: Mapping[str, Any]) -> Table:
    """One row per policy: found with Wilson's interval, retention of full KV, bytes, recall, tokens probed."""
    table = plain_table(f"Needles found, {ASKED[summary['asked']]} (95 % intervals, in %)")
    rows = summary["policies"]
    more = _more(list(rows.values()))
    for name in ("policy", "found", "retention", "peak MiB", "held MiB", *more, "probed"):
        column(table, name)
    for policy, row in rows.items():
        table.add_row(
            policy_name(policy),
            f"{row['found']}/{row['cases']} {span(row['interval'], percent=True)}",
            f"{_percent(row['retention'])} {span(row['retention_interval'], percent=True)}".strip(),
            mib(row["peak_kv_bytes"]),
            mib(row["held_kv_bytes"]),
            *(show(row) for show in more.values()),
            f"{row['probed']:,.0f}",
        )
    return table


def needle_parts_table(summary: Mapping[str, Any]) -> Table:
    """One row per policy: accuracy by context and by form of needle."""
    table = plain_table("Needles found by context and by form")
    some = next(iter(summary["policies"].values()))
    names = [(kind, name) for kind in ("contexts", "forms") for name in some[kind]]
    column(table, "policy")
    for kind, name in names:
        column(table, f"{int(name):,}" if kind == "contexts" else name)
    for policy, row in summary["policies"].items():
        parts = [row[kind][name] for kind, name in names]
        table.add_row(policy_name(policy), *(f"{part['found']}/{part['cases']}" for part in parts))
    return table


def perplexity_table(summary: Mapping[str, Any], context: str) -> Table:
    """One row per policy: perplexity, its difference to full KV with a bootstrap interval, budget, bytes."""
    part = summary["contexts"][context]
    texts = len(part["texts"])
    few = ", too few to judge by" if summary["few_texts"] else ""
    table = plain_table(
        f"Perplexity of {summary['scored']:,} tokens after {int(context):,}, "
        f"{texts} text{'s' if texts != 1 else ''}{few} (95 % intervals)"
    )
    more = _more(list(part["policies"].values()))
    for name in ("policy", "ppl", "above full", "budget", "peak MiB", "held MiB", *more):
        column(table, name)
    for policy, row in part["policies"].items():
        difference = row["difference"]
        table.add_row(
            policy_name(policy),
            f"{row['perplexity']:.2f}",
            words.MISSING if difference is None else f"{signed(difference)} {span(row['difference_interval'], 2)}",
            f"{row['budget']:,.0f}",
            mib(row["peak_kv_bytes"]),
            mib(row["held_kv_bytes"]),
            *(show(row) for show in more.values()),
        )
    return table


def latency_table(summary: Mapping[str, Any], context: str) -> Table:
    """One row per contender: both speeds, their ratio to the stock cache, the bookkeeping's share of a step, bytes."""
    table = plain_table(f"Speed at {int(context):,} tokens (x: times the stock cache's; medians)")
    rows = summary["contexts"][context]
    more = cold_columns([row for row in rows.values() if "recalled" in row])
    for name in ("cache", "read tok/s", "x", "ms/token", "x (95 %)", "own work", "peak MiB", *more):
        column(table, name)
    for label, row in rows.items():
        stock = "observe_share" not in row
        table.add_row(
            policy_name(label),
            f"{row['read_tokens_per_s']:,.0f}",
            f"{row['read_speedup']:.2f}",
            f"{row['ms_per_token']:.1f}",
            f"{row['decode_speedup']:.2f} {'' if stock else span(row['decode_speedup_interval'], 2)}".strip(),
            words.MISSING if stock else f"{row['observe_share'] + row['settle_share']:.1%}",
            mib(row["peak_kv_bytes"]),
            *(words.MISSING if stock else show(row) for show in more.values()),
        )
    return table


def cold_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, Callable[[Mapping[str, Any]], str]]:
    """Return the columns of the cold tier, if any row has one, by name with what they show of a row."""
    if not any(row["cold_kv_bytes"] or row["recalled"] for row in rows):
        return {}
    return {
        "cold MiB": lambda row: mib(row["cold_kv_bytes"]),
        "recalled": lambda row: _percent(row["recalled"]),
    }


def _more(rows: Sequence[Mapping[str, Any]]) -> dict[str, Callable[[Mapping[str, Any]], str]]:
    """Return the cold tier's columns, or the share of full KV's bytes where there is room for it."""
    return cold_columns(rows) or {"of full": lambda row: words.ratio(row["peak_kv_bytes"], row["full_kv_bytes"])}


def plain_table(title: str) -> Table:
    """Return an empty table in the benchmarks' style."""
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )


def policy_name(label: str) -> Text:
    """A policy's label in a table, its settings one below the other if they are long."""
    return Text(label if len(label) <= LONGEST else label.replace(":", "\n  "))


def column(table: Table, name: str) -> None:
    """Add a column: names to the left, which may fold, figures to the right."""
    first = name in ("policy", "cache", "variant")
    table.add_column(
        name, justify="left" if first else "right", no_wrap=not first, overflow="fold", min_width=9 if first else None
    )


def mib(value: float) -> str:
    """Return bytes as MiB with one digit."""
    return f"{value / 2**20:,.1f}"


def _percent(value: float | None) -> str:
    return words.MISSING if value is None else f"{100 * value:.0f} %"


def signed(value: float) -> str:
    """Return a difference with its sign and two digits, or as a power of ten where that would be long."""
    return f"{value:+{_form(value, 2)}}"


def _form(value: float, digits: int) -> str:
    return f".{digits}f" if abs(value) < 1000 else ".0e"


def span(interval: Sequence[float] | None, digits: int = 0, *, percent: bool = False) -> str:
    """Return an interval in brackets, nothing for None."""
    if interval is None:
        return ""
    scale = 100 if percent else 1
    low, high = (f"{scale * value:{_form(scale * value, digits)}}" for value in interval)
    return f"[{low}, {high}]"
