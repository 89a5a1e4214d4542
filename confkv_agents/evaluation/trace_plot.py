"""A trace as a picture: confidence, stored tokens, evictions, bytes, one above the other.

Every step takes the same width, whether it reads 256 tokens or decodes one, since otherwise an answer would be a hair
at the end of its prompt; the axis says the position, and reading is shaded. Long traces are drawn in bins: lines
as means with their range, bars as sums. Colours are Okabe and Ito's; lines differ in dash or marker as well.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from confkv_agents.errors import ConfigError, TraceError
from confkv_agents.evaluation.files import write_bytes
from confkv_agents.evaluation.trace_view import UNNAMED, by_segment

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from confkv_agents.cache import StepTrace, Trace

Values = npt.NDArray[np.float64]

FORMATS = (".png", ".svg", ".pdf")
_MOST_POINTS, _MOST_BARS, _MOST_MARKS = 1200, 160, 300
_MIB = 2**20
_INK, _FAINT, _READING = "#1f2933", "#d5dbe1", "#e9edf1"
_CONFIDENCE, _RECALLED, _BUDGET = "#007A5A", "#D55E00", "#1f2933"
_FULL, _INT8, _COLD = "#0072B2", "#7fc4ee", "#8E4585"
_SEGMENTS = {
    "pinned": "#1f2933",
    "observation": "#0072B2",
    "own": "#E69F00",
    "text": "#56B4E9",
    "image": "#CC79A7",
    UNNAMED: "#9aa5b1",
}
_OTHERS = ("#009E73", "#D55E00", "#F0E442", "#8E4585")


def draw_trace(trace: Trace, path: Path) -> Path:
    """Draw a trace to a file; its ending says the format.

    Returns:
        The file.

    Raises:
        ConfigError: The ending is none of `FORMATS`.
        TraceError: The trace has no steps.
        RecordError: The file cannot be written.
    """
    if path.suffix.lower() not in FORMATS:
        raise ConfigError(f"{path} ends in {path.suffix or 'nothing'}; pictures are written as {', '.join(FORMATS)}")
    if not trace.records:
        raise TraceError("the trace has no steps, so there is nothing to draw")
    stream = io.BytesIO()
    figure = trace_figure(trace)
    figure.savefig(stream, format=path.suffix[1:].lower(), dpi=150)
    write_bytes(path, stream.getvalue())
    return path


def trace_figure(trace: Trace) -> Figure:
    """Return the picture of a trace with at least one step."""
    from matplotlib.figure import Figure

    records = trace.records
    cold = any(record.cold_bytes or record.cold for record in records)
    panels = [(_draw_confidence, 1.5), (_draw_slots, 1.9), (_draw_evictions, 1.7), (_draw_bytes, 1.3)]
    panels += [(_draw_cold, 1.2)] if cold else []
    heights = [height for _, height in panels]
    figure = Figure(figsize=(11, sum(heights) * 1.12 + 0.9), layout="constrained")
    rows = figure.subplots(len(panels), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    for axes, (draw, _) in zip(rows, panels, strict=True):
        _style(axes)
        _shade_reading(axes, records)
        draw(axes, records)
        _legend(axes)
    figure.align_ylabels(rows)
    _name_positions(rows[-1], records)
    figure.suptitle(_title(trace), fontsize=10.5, color=_INK, x=0.01, ha="left")
    return figure


# ---------------------------------------------------------------------- panels


def _draw_confidence(axes: Axes, records: Sequence[StepTrace]) -> None:
    raw = _values([record.confidence for record in records])
    smoothed = _values([record.smoothed for record in records])
    _line(axes, raw, label="confidence", color=_CONFIDENCE, linewidth=0.9, alpha=0.55)
    _line(axes, smoothed, label="smoothed", color=_CONFIDENCE, linewidth=1.6, band=False)
    recalled = np.array([record.recalled for record in records])
    places = np.flatnonzero(recalled)
    if 0 < len(places) <= _MOST_MARKS:
        heights = _carried_on(np.where(np.isnan(raw), smoothed, raw))[places]
        axes.plot(
            places + 0.5, heights, "v", color=_RECALLED, markersize=5, linestyle="none", label="recalled", zorder=3
        )
    elif len(places):
        _share_of_recalls(axes, recalled)
    axes.set_ylim(-0.02, 1.04)
    axes.set_yticks([0, 0.5, 1])
    axes.set_ylabel("confidence")
    if np.isnan(raw).all() and np.isnan(smoothed).all():
        _say(axes, "no step's logits were observed")


def _share_of_recalls(axes: Axes, recalled: npt.NDArray[np.bool_]) -> None:
    """Where there are too many recalls for marks of their own, draw their share."""
    edges = _edges(len(recalled), _MOST_BARS)
    share = np.add.reduceat(recalled.astype(float), edges[:-1]) / np.diff(edges)
    axes.stairs(share, edges, fill=True, color=_RECALLED, alpha=0.75, label="recalled, share of steps")


def _draw_slots(axes: Axes, records: Sequence[StepTrace]) -> None:
    full, int8 = _values([record.full for record in records]), _values([record.int8 for record in records])
    places, (full, int8, budget) = _binned(full, int8, _values([record.budget for record in records]))
    axes.fill_between(places, full, color=_FULL, linewidth=0, label="full precision", step="post")
    if int8.any():
        axes.fill_between(places, full, full + int8, color=_INT8, linewidth=0, label="int8", step="post")
    axes.step(places, budget, color=_BUDGET, linewidth=1.4, dashes=(4, 2), label="budget, slots", where="post")
    top = max(float(np.nanmax(full + int8)), float(np.nanmax(budget)))
    axes.set_ylim(0, top * 1.08 or 1)
    axes.set_ylabel("tokens stored\nper layer, head")
    _thousands(axes)


def _draw_evictions(axes: Axes, records: Sequence[StepTrace]) -> None:
    edges = _edges(len(records), _MOST_BARS)
    evicted = _sums([by_segment(record.evicted, record.evicted_by_segment) for record in records], edges)
    demoted = _sums([by_segment(record.demoted, record.demoted_by_segment) for record in records], edges)
    names = _ordered({**evicted, **demoted})
    colours = _colours(names)
    gap = 0.12 if len(edges) - 1 < _MOST_BARS else 0.0
    left, width = edges[:-1] + gap * np.diff(edges) / 2, np.diff(edges) * (1 - gap)
    for sign, sums in ((1, evicted), (-1, demoted)):
        base = np.zeros(len(edges) - 1)
        for name in names:
            if name in sums:
                label = name if sign == 1 or name not in evicted else None
                axes.bar(
                    left, sign * sums[name], width, base, align="edge", color=colours[name], linewidth=0, label=label
                )
                base = base + sign * sums[name]
    axes.axhline(0, color=_INK, linewidth=0.8)
    if not names:
        axes.set_ylim(-1, 1)
        axes.set_yticks([])
        _say(axes, "nothing was evicted or demoted")
    else:
        low, high = (float(np.sum(list(sums.values()), axis=0).max()) if sums else 0.0 for sums in (demoted, evicted))
        axes.set_ylim(-1.2 * max(low, 0.1 * high), 1.2 * max(high, 0.1 * low))
    axes.set_ylabel("tokens, over\nall layers, heads")
    for height, where, text in ((1.0, "top", "evicted"), (0.0, "bottom", "demoted")) if names else ():
        axes.annotate(
            text,
            (1.0, height),
            (-4, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right",
            va=where,
            fontsize=9,
            color=_INK,
        )
    _thousands(axes)


def _draw_bytes(axes: Axes, records: Sequence[StepTrace]) -> None:
    places, (held,) = _binned(_values([record.kv_bytes / _MIB for record in records]), keep="max")
    axes.fill_between(places, held, color=_FULL, alpha=0.25, linewidth=0, step="post")
    axes.step(places, held, color=_FULL, linewidth=1.3, label="hot tiers", where="post")
    axes.set_ylim(0, float(np.nanmax(held)) * 1.15 or 1)
    axes.set_ylabel("MiB held")


def _draw_cold(axes: Axes, records: Sequence[StepTrace]) -> None:
    places, (tokens, held) = _binned(
        _values([float(record.cold) for record in records]),
        _values([record.cold_bytes / _MIB for record in records]),
        keep="max",
    )
    axes.fill_between(places, tokens, color=_COLD, alpha=0.25, linewidth=0, step="post")
    axes.step(places, tokens, color=_COLD, linewidth=1.3, label="cold tier, tokens", where="post")
    axes.set_ylim(0, float(np.nanmax(tokens)) * 1.15 or 1)
    axes.set_ylabel("tokens in\nhost memory")
    _thousands(axes)
    other = axes.twinx()
    _style(other)
    other.grid(visible=False)
    other.spines["right"].set_visible(True)
    other.spines["right"].set_color("#9aa5b1")
    other.step(places, held, color=_COLD, linewidth=1.3, dashes=(4, 2), where="post")
    axes.plot([], [], color=_COLD, linewidth=1.3, dashes=(4, 2), label="MiB (right)")
    other.set_ylim(0, float(np.nanmax(held)) * 1.3 or 1)
    _thousands(other)


# ---------------------------------------------------------------------- binning


def _edges(count: int, most: int) -> npt.NDArray[np.int64]:
    """Return borders of at most `most` bins over `count` steps, all but the last of the same width."""
    width = -(-count // most)
    return np.append(np.arange(0, count, width), count)


def _binned(*series: Values, keep: str = "mean") -> tuple[Values, list[Values]]:
    """Return borders and values to draw as steps between them, in bins if there are many steps."""
    count = len(series[0])
    edges = _edges(count, _MOST_POINTS)
    combine = np.maximum if keep == "max" else np.add
    out = [combine.reduceat(values, edges[:-1]) for values in series]
    if keep == "mean":
        out = [values / np.diff(edges) for values in out]
    return edges.astype(float), [np.append(values, values[-1]) for values in out]


def _line(axes: Axes, values: Values, *, label: str, band: bool = True, **look: Any) -> None:
    """Draw values that some steps lack; a line breaks there. In bins: mean, and range as a band."""
    places = np.flatnonzero(~np.isnan(values))
    if not len(places):
        return
    known = values[places]
    if len(places) <= _MOST_POINTS:
        gaps = np.flatnonzero(np.diff(places) > 1) + 1  # reading lies between two answers
        marker = "o" if len(places) <= 60 or 2 * len(gaps) > len(places) else None
        points, values = np.insert(places + 0.5, gaps, np.nan), np.insert(known, gaps, np.nan)
        axes.plot(points, values, marker=marker, markersize=2.5, label=label, **look)
        return
    edges = _edges(len(places), _MOST_POINTS // 3)
    middles = places[(edges[:-1] + edges[1:]) // 2] + 0.5
    mean = np.add.reduceat(known, edges[:-1]) / np.diff(edges)
    if band:
        low, high = (ufunc.reduceat(known, edges[:-1]) for ufunc in (np.minimum, np.maximum))
        axes.fill_between(middles, low, high, color=look["color"], alpha=0.18, linewidth=0, label=f"{label}, range")
        return
    axes.plot(middles, mean, label=f"{label}, mean", **look)


def _carried_on(values: Values) -> Values:
    """Return values with each unknown one as the last known before it, or in the middle if there is none."""
    last = np.maximum.accumulate(np.where(np.isnan(values), -1, np.arange(len(values))))
    return np.where(last < 0, 0.5, values[last])


def _sums(counts: Sequence[dict[str, int]], edges: npt.NDArray[np.int64]) -> dict[str, Values]:
    names = sorted({name for each in counts for name in each})
    return {
        name: np.add.reduceat(np.array([each.get(name, 0) for each in counts], dtype=float), edges[:-1])
        for name in names
    }


def _values(values: Sequence[float | None]) -> Values:
    return np.array([np.nan if value is None else value for value in values], dtype=float)


# ---------------------------------------------------------------------- looks


def _shade_reading(axes: Axes, records: Sequence[StepTrace]) -> None:
    reads = np.array([False, *(record.kind != "decode" for record in records), False])
    changes = np.flatnonzero(reads[1:] != reads[:-1])
    starts, stops = changes[::2], changes[1::2]
    least = len(records) / 2000  # a band narrower than this would not be seen
    for start, stop in zip(starts, stops, strict=True):
        axes.axvspan(start, max(stop, start + least), color=_READING, linewidth=0, zorder=0)


def _name_positions(axes: Axes, records: Sequence[StepTrace]) -> None:
    count = len(records)
    axes.set_xlim(0, count)
    every = max(1, -(-count // 12))
    places = list(range(0, count, every))
    if count - places[-1] < 0.7 * every and len(places) > 1:
        places.pop()
    end = records[-1].position + (records[-1].tokens if records[-1].kind != "probe" else 0)
    labels = [f"{records[place].position:,}" for place in places]
    axes.set_xticks([*places, count], [*labels, f"{end:,}"])
    axes.set_xlabel(f"position, tokens fed ({count:,} steps of equal width; shaded: reading)")


def _title(trace: Trace) -> str:
    facts = trace.facts
    budget = (facts.get("config") or {}).get("budget")
    parts = [facts.get("model"), facts.get("policy"), None if budget is None else f"budget {budget:,} slots"]
    text = ", ".join(str(part) for part in parts if part)
    return text if len(text) <= 120 else "…" + text[-119:]


def _ordered(names: dict[str, Any]) -> list[str]:
    known = [name for name in _SEGMENTS if name in names and name != UNNAMED]
    return [*known, *sorted(set(names) - set(_SEGMENTS)), *([UNNAMED] if UNNAMED in names else [])]


def _colours(names: Sequence[str]) -> dict[str, str]:
    others = [name for name in names if name not in _SEGMENTS]
    return {**_SEGMENTS, **{name: _OTHERS[place % len(_OTHERS)] for place, name in enumerate(others)}}


def _style(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#9aa5b1")
    axes.tick_params(colors=_INK, labelsize=9, color="#9aa5b1")
    axes.grid(visible=True, axis="y", color=_FAINT, linewidth=0.6, alpha=0.8)
    axes.set_axisbelow(True)
    axes.xaxis.label.set(color=_INK, fontsize=9.5)
    axes.yaxis.label.set(color=_INK, fontsize=9.5)


def _legend(axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        axes.legend(
            handles,
            labels,
            loc="center left",
            bbox_to_anchor=(1.06, 0.5),
            frameon=False,
            fontsize=9,
            handlelength=1.8,
        )


def _thousands(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter

    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{abs(value):,.0f}"))


def _say(axes: Axes, text: str) -> None:
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", fontsize=9, color="#52606d")
