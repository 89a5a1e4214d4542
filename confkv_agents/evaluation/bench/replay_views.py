"""A replay's table and plot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confkv_agents.evaluation.bench.plots import new_figure, save, tidy
from confkv_agents.evaluation.bench.tables import column, mib, plain_table, policy_name
from confkv_agents.evaluation.colours import colour_of

if TYPE_CHECKING:
    from rich.table import Table

_MIB = 2**20
_MARKERS = "sovD^PX*"


def replay_table(summary: Mapping[str, Any]) -> Table:
    """One row per policy: likelihood, agreement, divergence, bytes, time."""
    steps, episodes = next(iter(summary["policies"].values()))["steps"], summary["episodes"]
    played = f"{episodes} episode{'s' if episodes != 1 else ''}, {steps} steps"
    if summary["left_out"]:
        played += f" ({summary['left_out']} more are beyond the model's positions)"
    table = plain_table(f"{played}, teacher-forced (95 % intervals over steps)")
    for name in ("policy", "nats/token", "agrees", "with full", "KL", "KV MiB", "of full", "read s", "ms/token"):
        column(table, name)
    for label, row in summary["policies"].items():
        table.add_row(
            policy_name(label),
            _figure(row["log_likelihood"], row["log_likelihood_interval"]),
            f"{row['agreed']}/{row['steps']}",
            f"{row['agreed_with_full']}/{row['steps']}",
            f"{row['divergence']:.2f}",
            mib(row["kv_bytes"]),
            f"{100 * row['kv_bytes'] / row['full_kv_bytes']:.0f} %",
            f"{row['read_s_per_step']:.2f}",
            f"{row['ms_per_token']:.0f}",
        )
    return table


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


def _figure(value: float | None, ends: tuple[float, float] | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" + (f" ({ends[0]:.2f} to {ends[1]:.2f})" if ends else "")
