"""A replay's tables and plot."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confkv_agents.evaluation.bench.plots import new_figure, save, tidy
from confkv_agents.evaluation.bench.tables import column, mib, plain_table, policy_name
from confkv_agents.evaluation.colours import colour_of
from confkv_agents.evaluation.files import write_text

if TYPE_CHECKING:
    from rich.table import Table

_MIB = 2**20
_MARKERS = "sovD^PX*"


_COLUMNS = (
    *("policy", "nats/token", "to full", "agrees", "points to full", "with full", "KL"),
    *("KV MiB", "peak MiB", "of full", "read s", "ms/token"),
)


_SHOWN = ("policy", "nats/token", "to full", "agrees", "points to full", "KV MiB", "peak MiB", "of full")
"""What a terminal has room for."""


def replay_table(summary: Mapping[str, Any]) -> Table:
    """One row per policy: likelihood, agreement, bytes; `table.md` has more."""
    table = plain_table(_title(summary))
    for name in _SHOWN:
        column(table, name)
    for row in table_rows(summary):
        short = row | {name: row[name].partition(" (")[0] for name in ("nats/token", "points to full")}
        table.add_row(*(short[name] for name in _SHOWN))
    return table


def table_rows(summary: Mapping[str, Any]) -> list[dict[str, str]]:
    """The table's cells by column, a row per policy."""
    found: list[dict[str, str]] = []
    for label, row in summary["policies"].items():
        against = row["against_full"] or {}
        cells = (
            str(policy_name(label)),
            _figure(row["log_likelihood"], row["log_likelihood_interval"]),
            _figure(against.get("log_likelihood"), against.get("log_likelihood_interval"), signed=True),
            f"{row['agreed']}/{row['steps']}",
            _figure(against.get("agreement"), against.get("agreement_interval"), 100, 0, signed=True),
            f"{row['agreed_with_full']}/{row['steps']}",
            f"{row['divergence']:.2f}",
            mib(row["kv_bytes"]),
            mib(row["peak_kv_bytes"]),
            f"{100 * row['kv_bytes'] / row['full_kv_bytes']:.0f} %",
            f"{row['read_s_per_step']:.2f}",
            f"{row['ms_per_token']:.0f}",
        )
        found.append(dict(zip(_COLUMNS, cells, strict=True)))
    return found


def write_tables(summary: Mapping[str, Any], folder: Path) -> None:
    """Write `table.md`, the table as it is shown, and `table.csv`, its figures in full."""
    rows = table_rows(summary)
    lines = [
        f"{_title(summary)}: agent {summary['agent']}, model {summary['model']}, {summary['budget']} slots a layer "
        f"({mib(summary['budget_bytes'])} MiB)",
        "",
        "| " + " | ".join(_COLUMNS) + " |",
        "| --- |" + " ---: |" * (len(_COLUMNS) - 1),
        *("| " + " | ".join(row.values()) + " |" for row in rows),
    ]
    write_text(folder / "table.md", "\n".join(lines) + "\n")
    flat = [
        {"policy": label} | {key: value for key, value in _flat(row) if key not in ("by_step", "against_full")}
        for label, row in summary["policies"].items()
    ]
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(dict.fromkeys(key for row in flat for key in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    write_text(folder / "table.csv", stream.getvalue())


def _flat(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Figures by name; an interval becomes two, and what is below a name gets it in front."""
    for key, value in row.items():
        if key.endswith("_interval"):
            yield from zip((f"{before}{key[:-9]}_low", f"{before}{key[:-9]}_high"), value or ("", ""), strict=True)
        elif key == "against_full" and value:
            yield from _flat(value, "to_full_")
        else:
            yield before + key, value


def _title(summary: Mapping[str, Any]) -> str:
    steps, episodes = next(iter(summary["policies"].values()))["steps"], summary["episodes"]
    played = f"{episodes} episode{'s' if episodes != 1 else ''}, {steps} steps"
    if summary["left_out"]:
        played += f" ({summary['left_out']} more are beyond the model's positions)"
    return f"{played}, teacher-forced (95 % intervals over {'episodes' if episodes > 1 else 'steps'})"


def replay_plot(summary: Mapping[str, Any], path: Path) -> None:
    """Over the steps: KV bytes held, the likelihood of the recorded action, and the time to read."""
    labels = list(summary["policies"])
    figure = new_figure(12.0, 3.9)
    panels = figure.subplots(1, 3)
    drawn = (
        ("kv_bytes", "KV held, MiB", 1 / _MIB),
        ("log_likelihood", "log-likelihood, nats per token", 1.0),
        ("seconds", "reading the step's page, s", 1.0),
    )
    for axes, (key, name, scale) in zip(panels, drawn, strict=True):
        for place, (label, row) in enumerate(summary["policies"].items()):
            numbers = [int(number) for number in row["by_step"]]
            axes.plot(
                numbers,
                [scale * each[key] for each in row["by_step"].values()],
                color=colour_of(labels, label),
                marker=_MARKERS[place % len(_MARKERS)],
                markersize=5,
                linewidth=1.6,
                label=label.replace(":", "\n"),
            )
        tidy(axes)
        last = max((int(number) for row in summary["policies"].values() for number in row["by_step"]), default=1)
        axes.set_xticks(range(1, last + 1, max(1, -(-last // 12))))
        axes.set_xlabel("step", fontsize=9.5)
        axes.set_title(name, fontsize=10, loc="left")
    for axes in (panels[0], panels[2]):
        axes.set_ylim(0, None)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=min(6, len(labels)), frameon=False, fontsize=9)
    save(figure, path)


def _figure(
    value: float | None, ends: tuple[float, float] | None, scale: float = 1, digits: int = 2, signed: bool = False
) -> str:
    if value is None:
        return "-"
    form = f"{'+' if signed else ''}.{digits}f"
    spread = f" ({scale * ends[0]:{form}} to {scale * ends[1]:{form}})" if ends else ""
    return f"{scale * value:{form}}{spread}"
