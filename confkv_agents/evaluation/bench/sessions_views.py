"""The results of conversations: ratios, figures by turn, conversations at once; and the turns as a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from confkv_agents.evaluation import words
from confkv_agents.evaluation.bench import plots, tables
from confkv_agents.evaluation.colours import colour_of

_MARKERS = "sovD^PX*"
_STOCK = "stock"


def sessions_tables(summary: Mapping[str, Any]) -> list[Table]:
    """The ratios of all contenders, tokens read and time to the first token by turn, and conversations at once."""
    found: list[Table] = []
    if summary["contenders"]:
        found = [
            _ratios(summary),
            _by_turn(summary, "Tokens read", "read", lambda value: f"{value:,.0f}"),
            _by_turn(summary, "Seconds to first token", "first_s", lambda value: f"{value:.2f}"),
            _by_turn(summary, "MiB of KV cache", "kv_bytes", tables.mib),
        ]
    return [*found, *([_at_once(summary)] if summary["parallel"] else [])]


def _ratios(summary: Mapping[str, Any]) -> Table:
    seen = "a picture each" if summary["pictures"] else "text only, since the model takes no pictures"
    rounds = "" if summary["rounds"] == 1 else f", {summary['rounds']} rounds"
    early, late = summary["early"], summary["late"]
    table = tables.plain_table(
        f"{summary['turns']} turns with pages of {summary['observation']} tokens, {seen}{rounds}\n"
        f"late: turns {late[0]}-{late[-1]}, early: {early[0]}-{early[-1]}; {_STOCK} reads all again"
    )
    for name in ("cache", "read/new", "late/early", "by CPU", "late s", "first s", "tok/s", "KV MiB", "peak MiB"):
        tables.column(table, name)
    for label, row in summary["contenders"].items():
        table.add_row(
            tables.policy_name(label),
            f"{row['read_ratio']:.2f}",
            _ratio(row["latency_ratio"]),
            _ratio(row["cpu_ratio"]),
            _ratio(row["late_latency_s"]),
            f"{row['late_first_s']:.2f}",
            _ratio(row["late_tokens_per_s"], 1),
            tables.mib(row["last_kv_bytes"]),
            tables.mib(row["peak_kv_bytes"]),
        )
    return table


def _ratio(value: float | None, digits: int = 2) -> str:
    return words.MISSING if value is None else f"{value:.{digits}f}"


def _by_turn(summary: Mapping[str, Any], title: str, figure: str, form: Callable[[float], str]) -> Table:
    turns = summary["turns"]
    shown = sorted({1, *range(5, turns + 1, 5), turns} if turns > 8 else range(1, turns + 1))
    table = tables.plain_table(f"{title}, by turn")
    for name in ("cache", *map(str, shown)):
        tables.column(table, name)
    for label, row in summary["contenders"].items():
        values = [row["series"][figure][turn - 1] for turn in shown]
        table.add_row(tables.policy_name(label), *(words.MISSING if value is None else form(value) for value in values))
    return table


def _at_once(summary: Mapping[str, Any]) -> Table:
    table = tables.plain_table(f"{summary['at_once']} conversations at once against one after the other")
    for name in ("cache", "throughput x", "by CPU", "tok/s at once", "tok/s in turn", "equal answers"):
        tables.column(table, name)
    for label, row in summary["parallel"].items():
        table.add_row(
            tables.policy_name(label),
            f"{row['throughput_ratio']:.2f}",
            f"{row['cpu_ratio']:.2f}",
            f"{row['together_tokens_per_s']:.1f}",
            f"{row['serial_tokens_per_s']:.1f}",
            f"{row['equal']}/{row['answers']}",
        )
    return table


def sessions_plot(summary: Mapping[str, Any], path: Path) -> None:
    """Four panels over the turns, a line per contender."""
    contenders = summary["contenders"]
    labels = list(contenders)
    figure = plots.new_figure(9.6, 6.4)
    panels = figure.subplots(2, 2, sharex=True)
    named: tuple[tuple[str, str, float], ...] = (
        ("read", "tokens read", 1),
        ("first_s", "seconds to the first token", 1),
        ("tokens_per_s", "tokens per second after it", 1),
        ("kv_bytes", "KV cache after the answer, MiB", 2**20),
    )
    for axes, (key, name, unit) in zip(panels.flat, named, strict=True):
        for label in labels:
            values = contenders[label]["series"][key]
            axes.plot(
                range(1, len(values) + 1),
                [float("nan") if value is None else value / unit for value in values],
                color=colour_of(labels, label),
                marker=_MARKERS[labels.index(label) % len(_MARKERS)],
                markersize=4.5,
                linewidth=1.6,
                linestyle="--" if label == _STOCK else "-",
                label=label.replace(":", "\n"),
            )
        plots.tidy(axes)
        axes.set_ylim(0, None)
        axes.set_title(name, fontsize=10, loc="left", color="#1f2933")
        axes.xaxis.get_major_locator().set_params(integer=True)
    for axes in panels[1]:
        axes.set_xlabel("turn", fontsize=9.5)
    handles, names = panels[0][0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, names, loc="outside upper left", ncols=min(6, len(labels)), frameon=False, fontsize=9)
    plots.save(figure, path)
