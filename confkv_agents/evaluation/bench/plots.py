"""Results as PNG pictures. Colours are Okabe and Ito's; lines differ in marker as well."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confkv_agents.evaluation.bench.words import ASKED
from confkv_agents.evaluation.colours import colour_of
from confkv_agents.evaluation.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "sovD^PX*"
_INK, _FAINT = "#1f2933", "#d5dbe1"
_MIB = 2**20


def needle_plot(summary: Mapping[str, Any], path: Path) -> None:
    """A heat map per policy: context by depth, the share found as colour and in figures."""
    policies, contexts, depths = summary["policies"], summary["contexts"], summary["depths"]
    columns = len(policies) if len(policies) <= 4 else -(-len(policies) // 2)
    lines = -(-len(policies) // columns)
    wide = max(1.5, 0.62 * len(contexts) + 0.3)
    high = 0.36 * len(depths) + 1.1
    figure = new_figure(max(5.6, columns * wide + 1.8), lines * high + 0.5)
    panels = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
    picture = None
    for place, axes in enumerate(panels.flat):
        if place >= len(policies):
            axes.set_visible(False)
            continue
        label, row = list(policies.items())[place]
        cells = {(cell["context"], cell["depth"]): cell for cell in row["grid"]}
        share = [[cells[c, d]["accuracy"] if (c, d) in cells else float("nan") for c in contexts] for d in depths]
        picture = axes.imshow(share, aspect="auto", cmap="cividis", vmin=0, vmax=1)
        for (context, depth), cell in cells.items():
            dark = cell["accuracy"] < 0.55
            axes.text(
                contexts.index(context),
                depths.index(depth),
                f"{cell['found']}/{cell['cases']}",
                ha="center",
                va="center",
                fontsize=8.5,
                color="white" if dark else "black",
            )
        axes.set_title(
            f"{_wrapped(label)}\n{row['found']} of {row['cases']}, {row['peak_kv_bytes'] / _MIB:.1f} MiB",
            fontsize=9.5,
            color=_INK,
        )
        axes.set_xticks(range(len(contexts)), [f"{context:,}" for context in contexts])
        axes.set_yticks(range(len(depths)), summary["depth_labels"])
        axes.tick_params(labelsize=8.5, length=0)
        axes.spines[:].set_visible(False)
    figure.supxlabel("prompt, tokens", fontsize=9.5)
    figure.supylabel("where the needle lies", fontsize=9.5)
    if picture is not None:
        bar = figure.colorbar(picture, ax=panels, shrink=0.8, pad=0.02)
        bar.set_label("share found", fontsize=9)
        bar.ax.tick_params(labelsize=8.5)
    figure.suptitle(
        f"Needles found, {ASKED[summary['asked']]} (budget {summary['budget_bytes'] / _MIB:.1f} MiB)", fontsize=11
    )
    save(figure, path)


def perplexity_plot(summary: Mapping[str, Any], path: Path) -> None:
    """Perplexity above full KV by policy: mean with interval, and each text as a small mark; a panel per context."""
    contexts = list(summary["contexts"])
    labels = list(summary["contexts"][contexts[0]]["policies"])
    figure = new_figure(7.6, len(contexts) * (0.5 * len(labels) + 1.0) + 0.4)
    panels = figure.subplots(len(contexts), 1, squeeze=False, sharex=True)[:, 0]
    for axes, context in zip(panels, contexts, strict=True):
        policies = summary["contexts"][context]["policies"]
        for place, label in enumerate(labels):
            row = policies.get(label)
            if row is None or row["difference"] is None:
                continue
            colour = colour_of(labels, label)
            own = [text["difference"] for text in row["texts"].values()]
            axes.plot(own, [place + 0.22] * len(own), "|", color=colour, markersize=7, alpha=0.8)
            low, high = row["difference_interval"] or (row["difference"], row["difference"])
            axes.plot([low, high], [place, place], color=colour, linewidth=2.4, solid_capstyle="butt")
            axes.plot(row["difference"], place, "o", color=colour, markersize=7)
            axes.annotate(
                f"{row['difference']:+.2f}   {row['peak_kv_bytes'] / _MIB:.1f} MiB",
                (1.01, place),
                xycoords=("axes fraction", "data"),
                va="center",
                fontsize=8.5,
                color=_INK,
            )
        tidy(axes)
        axes.axvline(0, color="#9aa5b1", linewidth=1)
        axes.set_yticks(range(len(labels)), [_wrapped(label) for label in labels])
        axes.set_ylim(len(labels) - 0.4, -0.6)
        axes.grid(visible=False, axis="y")
        axes.set_title(f"after {int(context):,} tokens", fontsize=9.5, loc="left", color=_INK)
    panels[-1].set_xlabel("perplexity above full KV (line: 95 %, bars: single texts; right: peak KV)", fontsize=9.5)
    save(figure, path)


def latency_plot(summary: Mapping[str, Any], path: Path) -> None:
    """Reading speed and time per decoded token over the context, a line per contender."""
    contexts = [int(context) for context in summary["contexts"]]
    labels = list(summary["contexts"][str(contexts[0])])
    figure = new_figure(9.6, 3.9)
    left, right = figure.subplots(1, 2)
    for axes, key, name in ((left, "read_tokens_per_s", "reading, tokens/s"), (right, "ms_per_token", "ms per token")):
        for label in labels:
            values = [summary["contexts"][str(context)][label][key] for context in contexts]
            axes.plot(
                contexts,
                values,
                color=colour_of(labels, label),
                marker=_MARKERS[labels.index(label) % len(_MARKERS)],
                markersize=5,
                linewidth=1.6,
                linestyle="--" if label == "stock" else "-",
                label=_wrapped(label),
            )
        tidy(axes)
        axes.set_xscale("log", base=2)
        axes.set_xticks(contexts, [f"{context:,}" for context in contexts])
        axes.minorticks_off()
        axes.set_ylim(0, None)
        axes.set_xlabel("context, tokens", fontsize=9.5)
        axes.set_title(name if axes is left else f"decoding, {name}", fontsize=10, loc="left", color=_INK)
    handles, names = left.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=min(6, len(labels)), frameon=False, fontsize=9)
    save(figure, path)


def _wrapped(label: str) -> str:
    """A policy's label with its settings on lines of their own."""
    return label.replace(":", "\n")


def new_figure(width: float, height: float) -> Figure:
    """Return a figure of that many inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def tidy(axes: Axes) -> None:
    """Give axes the benchmarks' style."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#9aa5b1")
    axes.tick_params(labelsize=9, color="#9aa5b1")
    axes.grid(visible=True, color=_FAINT, linewidth=0.6)
    axes.set_axisbelow(True)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG."""
    stream = BytesIO()
    figure.savefig(stream, format="png", dpi=150, metadata={"Software": None})
    write_bytes(path, stream.getvalue())
