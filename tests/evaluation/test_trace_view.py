"""A trace's summary by hand, and its picture: panels, nothing cut off, at 1 and at 20,000 steps."""

from __future__ import annotations

from io import StringIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from rich.console import Console

from confkv_agents.cache import CacheConfig, StepTrace, Trace
from confkv_agents.cli import main
from confkv_agents.errors import ConfigError, TraceError
from confkv_agents.evaluation.trace_plot import draw_trace, trace_figure
from confkv_agents.evaluation.trace_view import UNNAMED, Spread, show_trace, summarise

HAND = [
    StepTrace(position=0, tokens=256, kind="read", budget=512, full=256, kv_bytes=3000),
    StepTrace(position=256, tokens=32, kind="probe", budget=512, full=256, kv_bytes=3000),
    StepTrace(
        position=256,
        tokens=100,
        kind="read",
        budget=512,
        full=200,
        int8=100,
        evicted=56,
        demoted=100,
        kv_bytes=5000,
        cold_bytes=2048,
        evicted_by_segment={"observation": 40, "own": 6},
        demoted_by_segment={"observation": 100},
    ),
    StepTrace(
        position=356, tokens=1, kind="decode", confidence=0.2, smoothed=0.2, budget=448, recalled=True, promoted=8
    ),
    StepTrace(position=357, tokens=1, kind="decode", confidence=0.8, smoothed=0.5, budget=512, kv_bytes=4000),
]


def make_trace(records: list[StepTrace]) -> Trace:
    trace = Trace(model="some/model", config=CacheConfig(budget=512))
    trace.extend(records)
    return trace


def long_trace(turns: int, answer: int, recall: bool = True) -> Trace:
    """Turns of three chunks with a probe after each but the last, then `answer` decoded tokens."""
    random = np.random.default_rng(0)
    records, position = [], 0
    for _ in range(turns):
        for chunk in range(3):
            gone = {"observation": 3000, "text": 1000} if position else {}
            records.append(
                StepTrace(
                    position=position,
                    tokens=256,
                    kind="read",
                    budget=512,
                    full=500,
                    int8=400,
                    cold=position,
                    evicted=sum(gone.values()),
                    demoted=2500,
                    kv_bytes=30 << 20,
                    cold_bytes=position * 12000,
                    evicted_by_segment=gone,
                )
            )
            position += 256
            if chunk < 2:
                records.append(StepTrace(position=position, tokens=32, kind="probe", budget=512, full=500, int8=400))
        for step in range(answer):
            confidence = float(random.beta(3, 1.2))
            records.append(
                StepTrace(
                    position=position,
                    tokens=1,
                    kind="decode",
                    confidence=confidence,
                    smoothed=confidence,
                    budget=512 - 256 * confidence,
                    full=250,
                    int8=400,
                    cold=position,
                    recalled=recall and confidence < 0.4,
                    evicted=1000 if step % 16 == 0 else 0,
                    kv_bytes=20 << 20,
                    cold_bytes=position * 12000,
                )
            )
            position += 1
    return make_trace(records)


def test_a_summary_is_what_the_records_add_up_to():
    summary = summarise(HAND)
    assert (summary.steps, summary.tokens) == (
        {"read": 2, "probe": 1, "decode": 2},
        {"read": 356, "probe": 32, "decode": 2},
    )
    assert summary.budget == Spread(448, (4 * 512 + 448) / 5, 512)
    assert summary.confidence == Spread(0.2, 0.5, 0.8)
    assert (summary.recalled, summary.promoted) == (1, 8)
    assert summary.evicted == {"observation": 40, "own": 6, UNNAMED: 10}
    assert summary.demoted == {"observation": 100}
    assert (summary.peak_kv_bytes, summary.peak_position, summary.peak_cold_bytes) == (5000, 356, 2048)


def test_a_trace_without_steps_has_a_summary():
    summary = summarise([])
    assert (summary.budget, summary.confidence, summary.peak_kv_bytes) == (None, None, 0)


@pytest.mark.parametrize("width", [80, 100, 200])
def test_the_tables_fit_the_terminal(width: int):
    stream = StringIO()
    trace = make_trace(HAND)
    trace.cut = True
    show_trace(trace, Path("a" * 90), Console(file=stream, width=width, highlight=False))
    shown = stream.getvalue()
    assert max(map(len, shown.splitlines())) <= min(width, 100)
    for words in (
        "2 read (356 tokens), 1 looked ahead (32 tokens), 2 decoded",
        "448 to 512 slots, mean 499",
        "0.20 to 0.80, mean 0.50",
        "1 of 2 decoded steps (50 %), 8 promoted",
        "4.9 KiB after 356 tokens",
        "2.0 KiB in host memory",
        "The last line is cut off",
    ):
        assert words in " ".join(shown.split())
    rows = {line.split()[0]: line.split()[1:] for line in shown.splitlines() if line.split()}
    assert rows["observation"] == ["40", "71", "%", "100", "100", "%"]
    assert rows["all"] == ["56", "100"]


TRACES = {
    "by hand": make_trace(HAND),
    "one step": make_trace(HAND[:1]),
    "only decoding": make_trace(HAND[3:]),
    "three turns": long_trace(3, 40),
    "no recall": long_trace(2, 20, recall=False),
    "20,000 steps": long_trace(40, 495),
}


@pytest.mark.parametrize("name", TRACES)
def test_nothing_in_the_picture_is_cut_off_or_overlaps(name: str):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = trace_figure(TRACES[name])
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    whole = figure.bbox
    renderer = canvas.get_renderer()
    for axes in figure.axes:
        box = axes.get_tightbbox(renderer)
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= whole.width + 1 and box.y1 <= whole.height + 1
        legend = axes.get_legend()
        if legend is not None:
            names = [text.get_text() for text in legend.get_texts()]
            assert len(names) == len(set(names))
            for other in figure.axes:
                assert not legend.get_window_extent(renderer).overlaps(other.get_window_extent(renderer))
    (last,) = (axes for axes in figure.axes if axes.get_xlabel())
    ticks = [label.get_window_extent(renderer) for label in last.get_xticklabels()]
    assert len(ticks) >= 2 and all(left.x1 < right.x0 for left, right in pairwise(ticks))


def bars(axes: Axes) -> list[Rectangle]:
    return [bar for container in axes.containers for bar in container]


def test_a_panel_shows_what_its_records_hold():
    figure = trace_figure(TRACES["by hand"])
    confidence, slots, evictions, held, cold, _ = figure.axes
    assert [axes.get_ylabel().split()[0] for axes in figure.axes[:5]] == [
        "confidence",
        "tokens",
        "tokens,",
        "MiB",
        "tokens",
    ]
    (marks,) = [line for line in confidence.lines if line.get_label() == "recalled"]
    assert (list(marks.get_xdata()), list(marks.get_ydata())) == ([3.5], [0.2])
    (budget,) = [line for line in slots.lines if line.get_label() == "budget, slots"]
    assert list(budget.get_ydata()) == [512, 512, 512, 448, 512, 512]
    heights = {(round(bar.get_x()), bar.get_height()) for bar in bars(evictions) if bar.get_height()}
    assert {(2, 40), (2, 6), (2, 10), (2, -100)} == heights
    labels = [text.get_text() for text in evictions.get_legend().get_texts()]
    assert labels == ["observation", "own", UNNAMED]
    assert held.get_ylim()[1] > 5000 / 2**20
    assert [label.get_text() for label in cold.get_xticklabels()] == ["0", "256", "256", "356", "357", "358"]


def test_a_recall_of_unknown_confidence_is_marked_where_the_last_known_one_was():
    recalled = [StepTrace(position=at, tokens=1, kind="decode", recalled=True, confidence=None) for at in (0, 2)]
    records = [recalled[0], StepTrace(position=1, tokens=1, kind="decode", confidence=0.7), recalled[1]]
    confidence, *_ = trace_figure(make_trace(records)).axes
    (marks,) = [line for line in confidence.lines if line.get_label() == "recalled"]
    assert list(marks.get_ydata()) == [0.5, 0.7]


def test_bars_end_below_the_panels_edge():
    for name in ("by hand", "three turns"):
        _, _, evictions, *_ = trace_figure(TRACES[name]).axes
        tops = [bar.get_y() + bar.get_height() for bar in bars(evictions)]
        low, high = evictions.get_ylim()
        assert low < min(tops) and max(tops) < high


def test_long_traces_are_drawn_in_bins_that_lose_nothing():
    trace = TRACES["20,000 steps"]
    _, _, evictions, *_ = trace_figure(trace).axes
    assert sum(bar.get_height() for bar in bars(evictions) if bar.get_height() > 0) == sum(
        record.evicted for record in trace.records
    )
    assert len(bars(evictions)) < 1000


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_the_ending_says_the_format(tmp_path: Path, suffix: str, start: bytes):
    assert draw_trace(TRACES["by hand"], tmp_path / f"x{suffix}").read_bytes().startswith(start)


def test_what_cannot_be_drawn_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"x\.bmp ends in \.bmp"):
        draw_trace(TRACES["by hand"], tmp_path / "x.bmp")
    with pytest.raises(TraceError, match="no steps"):
        draw_trace(make_trace([]), tmp_path / "x.png")
    assert list(tmp_path.iterdir()) == []


def test_the_command_prints_and_draws(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    path = TRACES["by hand"].write(tmp_path / "x.jsonl")
    assert main(["trace", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "some/model" in shown
    assert shown.splitlines()[-1] == str(tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert main(["trace", str(path), "--out", str(tmp_path / "y.svg")]) == 0
    assert (tmp_path / "y.svg").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ["does not exist"]),
        ("{}\n", ["line 1", "schema"]),
        ('{"schema": "confkv-trace/1"}\n{"x": 1}\n', ["line 2"]),
    ],
)
def test_a_broken_trace_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str | None, words: list[str]
):
    path = tmp_path / "x.jsonl"
    if content is not None:
        path.write_text(content)
    assert main(["trace", str(path)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    for word in [str(path), *words]:
        assert word in error
    assert not (tmp_path / "x.png").exists()
