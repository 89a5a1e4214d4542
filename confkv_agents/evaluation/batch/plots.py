"""The plots of a batch's report, as SVG text: success against memory, KV bytes over steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from confkv_agents.evaluation.colours import colour_of
from confkv_agents.evaluation.plots import new_figure, outside_legend, svg_text

_MIB = 2**20
_MARKERS = "sovD^PX*"
_FULL = "#1f2933"


def tradeoff_plot(policies: Mapping[str, Mapping[str, Any]], *, narrow: bool = False) -> str | None:
    """Success of each policy against its mean peak of KV bytes, with 95 % intervals of success.

    Args:
        policies: Figures by label, as `summary.summarize` gives them; those without bytes are left out.
        narrow: The phone's shape.
    """
    known = {
        label: figures
        for label, figures in policies.items()
        if figures["peak_kv_bytes"] is not None and figures["success"] is not None
    }
    if not known:
        return None
    figure, (axes,) = new_figure(1, narrow, heights=(3.2,))
    labels = list(policies)
    for place, (label, figures) in enumerate(known.items()):
        low, high = figures["success_interval"]
        value, across = 100 * figures["success"], figures["peak_kv_bytes"] / _MIB
        axes.errorbar(
            [across],
            [value],
            yerr=[[max(0.0, value - 100 * low)], [max(0.0, 100 * high - value)]],
            color=colour_of(labels, label),
            marker=_MARKERS[place % len(_MARKERS)],
            markersize=8,
            capsize=3,
            linewidth=1.2,
            linestyle="none",
            label=label,
        )
    axes.set_ylim(-4, 104)
    right = max(figures["peak_kv_bytes"] for figures in known.values()) / _MIB
    axes.set_xlim(0, right * 1.12 or 1)
    axes.set_xlabel("peak KV held, MiB (mean of the episodes)")
    axes.set_ylabel("success, %")
    figure.legend(**outside_legend(narrow))
    return svg_text(figure, "Success of each policy against its peak of KV bytes")


def steps_plot(curves: Mapping[str, Mapping[int, Sequence[Mapping[str, Any]]]], *, narrow: bool = False) -> str | None:
    """KV bytes held after each step, the mean over the episodes that got so far, and what full KV would hold.

    Args:
        curves: By label and number of the step, the step records.
        narrow: The phone's shape.
    """
    known = {
        label: {
            number: [step for step in steps if step.get("kv_bytes") is not None] for number, steps in by_step.items()
        }
        for label, by_step in curves.items()
    }
    known = {label: {n: steps for n, steps in by_step.items() if steps} for label, by_step in known.items()}
    known = {label: by_step for label, by_step in known.items() if by_step}
    if not known:
        return None
    figure, (axes,) = new_figure(1, narrow, heights=(3.2,))
    labels = list(curves)
    full: dict[int, list[float]] = {}
    for place, (label, by_step) in enumerate(known.items()):
        numbers = sorted(by_step)
        for number in numbers:
            full.setdefault(number, []).extend(step.get("full_kv_bytes") or 0 for step in by_step[number])
        means = [sum(step["kv_bytes"] for step in by_step[n]) / len(by_step[n]) / _MIB for n in numbers]
        axes.plot(
            numbers,
            means,
            color=colour_of(labels, label),
            marker=_MARKERS[place % len(_MARKERS)],
            markersize=4,
            linewidth=1.4,
            label=label,
        )
    if "full" not in known:
        numbers = sorted(full)
        means = [sum(full[n]) / len(full[n]) / _MIB for n in numbers]
        axes.plot(numbers, means, color=_FULL, dashes=(4, 2), linewidth=1.2, label="full KV would hold")
    last = max(number for by_step in known.values() for number in by_step)
    axes.set_xticks(range(1, last + 1, max(1, -(-last // (8 if narrow else 20)))))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("step")
    axes.set_ylabel("KV held, MiB")
    figure.legend(**outside_legend(narrow))
    return svg_text(figure, "KV bytes held after each step, mean of the episodes")
