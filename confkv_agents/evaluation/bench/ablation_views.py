"""An ablation's results: a table per part and measure, and every difference with its interval in one picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from confkv_agents.evaluation import words
from confkv_agents.evaluation.bench import plots, tables
from confkv_agents.evaluation.bench.parts import MEASURED, PERPLEXITY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table

_TITLES = {
    "perplexity": "perplexity above full KV",
    "needle": "needles, same prompt",
    "later": "needles, later turn",
    "agent": "needles, transcript",
}
_BETTER, _WORSE, _OPEN = "#007A5A", "#A84300", "#52606d"


def ablation_tables(summary: Mapping[str, Any]) -> list[Table]:
    """One table per part and measure; differences are to the row that has none."""
    found = []
    for name, part in summary["parts"].items():
        for measure, rows in part["measures"].items():
            if rows:
                found.append(_table(f"{name}: {part['question']}; {_TITLES[measure]}", measure, rows))
    return found


def _table(title: str, measure: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    table = tables.plain_table(title)
    more = tables.cold_columns(rows)
    value = "above full" if measure == PERPLEXITY else "found"
    for name in ("variant", value, "difference (95 %)", "slots", "peak MiB", "mean MiB", *more):
        tables.column(table, name)
    for row in rows:
        table.add_row(
            Text(row["name"]),
            _value(measure, row),
            _difference(measure, row),
            f"{row['slots']:,.0f}",
            tables.mib(row["peak_kv_bytes"]),
            tables.mib(row["mean_kv_bytes"]),
            *(show(row) for show in more.values()),
        )
    return table


def _value(measure: str, row: Mapping[str, Any]) -> str:
    if measure == PERPLEXITY:
        return words.MISSING if row["value"] is None else tables.signed(row["value"])
    return f"{row['found']}/{row['items']}"


def _difference(measure: str, row: Mapping[str, Any]) -> str:
    if row["difference"] is None:
        return ""
    if measure == PERPLEXITY:
        return f"{tables.signed(row['difference'])} {tables.span(row['difference_interval'], 2)}".strip()
    return f"{100 * row['difference']:+.0f} {tables.span(row['difference_interval'], percent=True)} %"


def forest_plot(summary: Mapping[str, Any], path: Path) -> None:
    """Every variant's difference to what it is compared with: a column per measure, a group of rows per part."""
    parts = summary["parts"]
    used = [measure for measure in MEASURED if any(part["measures"].get(measure) for part in parts.values())]
    lines: list[tuple[str, str]] = []  # part, name of the variant; an empty name is the part's heading
    for name, part in parts.items():
        rows: Sequence[Mapping[str, Any]] = max(part["measures"].values(), key=len, default=[])
        compared = list(dict.fromkeys(row["name"] for row in rows if row["against"]))
        if compared:
            lines += [(name, ""), *((name, each) for each in compared)]
    figure = plots.new_figure(3.0 + 3.1 * max(1, len(used)), 0.27 * len(lines) + 1.5)
    panels = figure.subplots(1, max(1, len(used)), squeeze=False, sharey=True)[0]
    for axes, measure in zip(panels, used, strict=False):
        _panel(axes, measure, parts, lines)
    panels[0].set_ylim(len(lines) - 0.4, -0.7)
    panels[0].set_yticks(range(len(lines)), [_line(parts, name, each) for name, each in lines])
    for label, (_, each) in zip(panels[0].get_yticklabels(), lines, strict=True):
        label.set_fontweight("normal" if each else "bold")
    limit = summary["budget_bytes"] / 2**20
    contexts = ", ".join(f"{context:,}" for context in summary["contexts"])
    figure.suptitle(
        f"{summary['policy']}: difference that each part makes (budget {limit:.1f} MiB, {contexts} tokens)\n"
        "95 % intervals over items, coloured where they exclude no difference",
        fontsize=10.5,
        x=0.01,
        ha="left",
    )
    plots.save(figure, path)


def _panel(axes: Axes, measure: str, parts: Mapping[str, Any], lines: Sequence[tuple[str, str]]) -> None:
    scale = 1.0 if measure == PERPLEXITY else 100.0
    lower_is_better = measure == PERPLEXITY
    for place, (name, each) in enumerate(lines):
        row = next((row for row in parts[name]["measures"].get(measure, []) if row["name"] == each), None)
        if not each:
            if place:
                axes.axhline(place - 0.5, color="#d5dbe1", linewidth=0.8)
            continue
        if row is None or row["difference"] is None:
            continue
        middle = scale * row["difference"]
        low, high = (scale * end for end in row["difference_interval"] or (row["difference"], row["difference"]))
        certain = low > 0 or high < 0
        better = (middle < 0) == lower_is_better
        colour = (_BETTER if better else _WORSE) if certain else _OPEN
        axes.plot([low, high], [place, place], color=colour, linewidth=2.2, solid_capstyle="butt")
        axes.plot(middle, place, "o" if certain else "D", color=colour, markersize=5.5)
    plots.tidy(axes)
    axes.axvline(0, color="#9aa5b1", linewidth=1, zorder=0)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set_title(_TITLES[measure], fontsize=9.5, loc="left", color="#1f2933")
    unit = "perplexity, left is better" if lower_is_better else "points of 100, right is better"
    axes.set_xlabel(f"difference in {unit}", fontsize=9)


def _line(parts: Mapping[str, Any], name: str, each: str) -> str:
    """Return what stands at the left of a line."""
    if not each:
        return name
    rows = [row for rows in parts[name]["measures"].values() for row in rows]
    own = next(row for row in rows if row["name"] == each)
    other = next((row["name"].strip() for row in rows if row["run"] == own["against"]), "")
    return f"{each}  vs  {other}"
