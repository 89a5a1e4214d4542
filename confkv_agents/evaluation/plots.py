"""The plots of a report, as SVG text: KV bytes against full KV, confidence and budget over an episode.

Each plot comes in two shapes, wide for a screen and narrow for a phone, so that its labels stay readable on
both. Colours are Okabe and Ito's, which stay apart for colour-blind readers; lines differ in dash or marker
as well.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = Sequence[Mapping[str, Any]]

_MIB = 1024 * 1024
_HELD, _FULL, _CONFIDENCE, _BUDGET = "#0072B2", "#A84300", "#007A5A", "#8E4585"
_INK, _FAINT = "#1f2933", "#d5dbe1"
_FULL_LABEL = "full KV"
_MOST_POINTS = 3000


def memory_plot(steps: Rows, *, narrow: bool = False) -> str | None:
    """KV bytes held after each step and their peak, against what full KV of the same tokens would hold.

    Args:
        steps: Step records; those without `kv_bytes` are left out.
        narrow: The phone's shape.

    Returns:
        SVG text, or None if no step says how many bytes it held.
    """
    known = [step for step in steps if step.get("kv_bytes") is not None]
    if not known:
        return None
    figure, (axes,) = new_figure(1, narrow, heights=(2.9,))
    numbers = [step["index"] for step in known]
    held = [step["kv_bytes"] / _MIB for step in known]
    full = [(step.get("full_kv_bytes") or step["kv_bytes"]) / _MIB for step in known]
    axes.fill_between(numbers, held, full, color=_FULL, alpha=0.10, linewidth=0)
    axes.plot(numbers, full, color=_FULL, dashes=(4, 2), marker="s", markersize=3.5, label=_FULL_LABEL)
    axes.fill_between(numbers, held, color=_HELD, alpha=0.18, linewidth=0)
    axes.plot(numbers, held, color=_HELD, marker="o", markersize=4, label="held")
    peaks = [(step.get("peak_kv_bytes") or step["kv_bytes"]) / _MIB for step in known]
    axes.plot(numbers, peaks, color=_HELD, dashes=(1, 1.5), marker="^", markersize=4, label="peak so far")
    axes.set_ylabel("KV cache, MiB")
    axes.set_ylim(0, max(full + peaks) * 1.12 or 1)
    _step_ticks(axes, numbers, narrow)
    figure.legend(**outside_legend())
    return svg_text(figure, "KV bytes held after each step, their peak, and full KV bytes")


def confidence_plot(steps: Rows, trace: Rows, *, narrow: bool = False) -> str | None:
    """Confidence and budget over the episode: per decoded token where the trace has it, else per step.

    Args:
        steps: Step records.
        trace: Rows of `trace.jsonl`: `{"step", "tokens": [[confidence, budget, kv_bytes], ...]}`.
        narrow: The phone's shape.

    Returns:
        SVG text, or None if neither says anything.
    """
    if any(row.get("tokens") for row in trace):
        return _per_token(trace, narrow)
    known = [step for step in steps if step.get("confidence") or step.get("budget")]
    if not known:
        return None
    figure, (upper, lower) = new_figure(2, narrow, heights=(1.9, 1.7))
    _band(upper, known, "confidence", _CONFIDENCE)
    _band(lower, known, "budget", _BUDGET)
    _name_panels(upper, lower)
    _step_ticks(lower, [step["index"] for step in known], narrow)
    figure.legend(*upper.get_legend_handles_labels(), **outside_legend())
    return svg_text(figure, "Confidence and budget at each step: mean, and range from least to most")


def comparison_plot(episodes: Rows, *, narrow: bool = False) -> str | None:
    """Peak KV bytes of each episode of a run, against full KV.

    Args:
        episodes: Rows of `episodes.jsonl`; those without `peak_kv_bytes` are left out.
        narrow: The phone's shape.
    """
    known = [row for row in episodes if row.get("peak_kv_bytes") is not None][:60]
    if not known:
        return None
    figure, (axes,) = new_figure(1, narrow, heights=(0.9 + 0.34 * len(known),))
    places = list(range(len(known)))
    full = [(row.get("full_kv_bytes") or 0) / _MIB for row in known]
    held = [row["peak_kv_bytes"] / _MIB for row in known]
    axes.barh(places, full, height=0.72, color=_FULL, alpha=0.22, edgecolor=_FULL, label=_FULL_LABEL)
    axes.barh(places, held, height=0.40, color=_HELD, label="peak held")
    length = 18 if narrow else 44
    axes.set_yticks(places, [_shortened(str(row["task"]), length) for row in known])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("KV cache, MiB")
    figure.legend(**outside_legend())
    return svg_text(figure, "Peak KV bytes of each episode, and full KV bytes")


def _per_token(trace: Rows, narrow: bool) -> str:
    confidence: list[float] = []
    budget: list[float] = []
    borders: list[tuple[int, int]] = []
    for row in trace:
        borders.append((len(confidence), row["step"]))
        for entry in row["tokens"]:
            confidence.append(float("nan") if entry[0] is None else entry[0])
            budget.append(float("nan") if len(entry) < 2 or entry[1] is None else entry[1])
    count = len(confidence)
    stride = -(-count // _MOST_POINTS)
    places = list(range(1, count + 1))[::stride]
    figure, (upper, lower) = new_figure(2, narrow, heights=(1.9, 1.7))
    upper.plot(places, confidence[::stride], color=_CONFIDENCE, linewidth=1.1)
    lower.step(places, budget[::stride], color=_BUDGET, linewidth=1.3, where="mid")
    for axes in (upper, lower):
        axes.grid(visible=False, axis="x")
        for start, _ in borders[1:]:
            axes.axvline(start + 0.5, color=_FAINT, linewidth=0.9, zorder=0)
    every = max(1, -(-len(borders) // (6 if narrow else 16)))
    ends = [*(start for start, _ in borders[1:]), count]
    for place, ((start, step), end) in enumerate(zip(borders, ends, strict=True)):
        if place % every == 0:
            middle = (start + end) / 2
            upper.annotate(
                f"step {step}" if place == 0 and not narrow else str(step),
                (middle, 1.0),
                (0, 3),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=8,
                color="#52606d",
            )
    _name_panels(upper, lower)
    for axes in (upper, lower):
        axes.set_xlim(0.5, max(count, 2) + 0.5)
    lower.set_xlabel("decoded token (numbers above: step)")
    return svg_text(figure, "Confidence and budget at each decoded token, with the steps' borders")


def _band(axes: Axes, steps: Rows, key: str, colour: str) -> None:
    known = [step for step in steps if step.get(key)]
    numbers = [step["index"] for step in known]
    low, mean, high = ([step[key][part] for step in known] for part in ("min", "mean", "max"))
    axes.fill_between(numbers, low, high, color=colour, alpha=0.20, linewidth=0, label="least to most")
    axes.plot(numbers, mean, color=colour, marker="o", markersize=4, label="mean of the step")


def _name_panels(upper: Axes, lower: Axes) -> None:
    upper.set_ylim(0, 1.02)
    upper.set_ylabel("confidence")
    upper.tick_params(labelbottom=False)
    lower.set_ylabel("budget, slots")
    low, high = lower.get_ylim()
    room = max((high - low) * 0.15, high * 0.02, 1)
    lower.set_ylim(max(0, low - room), high + room)


def _step_ticks(axes: Axes, numbers: Sequence[int], narrow: bool) -> None:
    every = max(1, -(-len(numbers) // (8 if narrow else 20)))
    axes.set_xticks(list(numbers)[::every])
    axes.set_xlim(min(numbers) - 0.5, max(numbers) + 0.5)
    axes.set_xlabel("step")


def new_figure(count: int, narrow: bool, *, heights: Sequence[float]) -> tuple[Figure, list[Axes]]:
    """Return a figure of panels below each other, with the look of all of them.

    Args:
        count: Panels.
        narrow: The phone's shape.
        heights: Of each panel, in inches.
    """
    from matplotlib.figure import Figure

    width = 3.7 if narrow else 9.6
    figure = Figure(figsize=(width, sum(heights) + (0.35 if count > 1 else 0)), layout="constrained")
    panels = figure.subplots(count, 1, squeeze=False, gridspec_kw={"height_ratios": list(heights)})
    axes = [row[0] for row in panels]
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
        each.spines[["left", "bottom"]].set_color("#9aa5b1")
        each.tick_params(colors=_INK, labelsize=9, color="#9aa5b1")
        each.grid(visible=True, color=_FAINT, linewidth=0.6, alpha=0.8)
        each.set_axisbelow(True)
        each.xaxis.label.set(color=_INK, fontsize=9.5)
        each.yaxis.label.set(color=_INK, fontsize=9.5)
    return figure, axes


def outside_legend(narrow: bool = False) -> dict[str, Any]:
    """Where a figure's legend goes, for `Figure.legend`: above the panels, in columns that fit."""
    return {
        "loc": "outside upper left",
        "ncols": 2 if narrow else 3,
        "columnspacing": 1.2,
        "frameon": False,
        "fontsize": 9,
        "handlelength": 2.2,
    }


def _shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def svg_text(figure: Figure, description: str) -> str:
    """Return a figure as SVG text, the same for the same figure."""
    from matplotlib import rc_context

    stream = io.StringIO()
    with rc_context({"svg.fonttype": "path", "svg.hashsalt": "confkv"}):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Title": description})
    return stream.getvalue()
