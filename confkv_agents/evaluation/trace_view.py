"""What a trace says in figures: a summary, and its tables on the terminal, within 100 columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from confkv_agents.evaluation import words

if TYPE_CHECKING:
    from confkv_agents.cache import StepTrace, Trace

WIDTH = 100
UNNAMED = "without segment"
_KINDS = {"read": "read", "probe": "looked ahead", "decode": "decoded"}


@dataclass(frozen=True)
class Spread:
    """Least, mean and largest of some values."""

    least: float
    mean: float
    largest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """The spread of values; None of none."""
        return cls(min(values), sum(values) / len(values), max(values)) if values else None


@dataclass(frozen=True, kw_only=True)
class TraceSummary:
    """A trace in figures.

    Attributes:
        steps: Steps by kind.
        tokens: Tokens fed by kind; a probe's are fed a second time.
        budget: Slots over all steps.
        confidence: Raw confidence over the steps that have one.
        recalled: Decoding steps that attended to the cold tier.
        promoted: Tokens brought back, summed over layers and heads.
        evicted: Tokens that left the hot tiers by segment, summed alike.
        demoted: Tokens that became int8 codes by segment, summed alike.
        peak_kv_bytes: Most bytes in the hot tiers.
        peak_cold_bytes: Most bytes in host memory.
        peak_position: Tokens fed at the hot peak.
    """

    steps: Mapping[str, int]
    tokens: Mapping[str, int]
    budget: Spread | None
    confidence: Spread | None
    recalled: int
    promoted: int
    evicted: Mapping[str, int]
    demoted: Mapping[str, int]
    peak_kv_bytes: int
    peak_cold_bytes: int
    peak_position: int


def by_segment(total: int, parts: Mapping[str, int]) -> dict[str, int]:
    """Return counts by segment, what belongs to none under `UNNAMED`, zeros left out."""
    rest = total - sum(parts.values())
    return {name: count for name, count in [*parts.items(), (UNNAMED, rest)] if count > 0}


def summarise(records: Sequence[StepTrace]) -> TraceSummary:
    """Work out the summary of a trace's records."""
    steps: Counter[str] = Counter(record.kind for record in records)
    tokens: Counter[str] = Counter()
    evicted: Counter[str] = Counter()
    demoted: Counter[str] = Counter()
    for record in records:
        tokens[record.kind] += record.tokens
        evicted.update(by_segment(record.evicted, record.evicted_by_segment))
        demoted.update(by_segment(record.demoted, record.demoted_by_segment))
    peak = max(records, key=lambda record: record.kv_bytes, default=None)
    return TraceSummary(
        steps=steps,
        tokens=tokens,
        budget=Spread.of([record.budget for record in records]),
        confidence=Spread.of([record.confidence for record in records if record.confidence is not None]),
        recalled=sum(record.recalled for record in records if record.kind == "decode"),
        promoted=sum(record.promoted for record in records),
        evicted=evicted,
        demoted=demoted,
        peak_kv_bytes=peak.kv_bytes if peak else 0,
        peak_cold_bytes=max((record.cold_bytes for record in records), default=0),
        peak_position=peak.position + (peak.tokens if peak.kind != "probe" else 0) if peak else 0,
    )


def show_trace(trace: Trace, path: Path, console: Console | None = None) -> None:
    """Print a trace's summary.

    Args:
        trace: What was read.
        path: From where.
        console: Where to; standard output by default.
    """
    console = console or Console(highlight=False)
    summary = summarise(trace.records)
    parts: list[Any] = [_grid(_facts(trace, path)), Text(), _grid(_figures(summary))]
    if summary.evicted or summary.demoted:
        parts += [Text(), _segments(summary)]
    if trace.cut:
        parts.append(Text("The last line is cut off, as when its writer was stopped; it is left out.", style="yellow"))
    console.print(Group(*parts), width=min(WIDTH, console.width))


def _facts(trace: Trace, path: Path) -> list[tuple[str, str]]:
    facts = trace.facts
    rows = [("trace", str(path))]
    rows += [(name, str(facts[name])) for name in ("model", "policy") if facts.get(name)]
    extra = {name: value for name, value in facts.items() if name not in ("model", "policy", "config", "versions")}
    rows += [(name, str(value)) for name, value in extra.items() if value is not None]
    return rows


def _figures(summary: TraceSummary) -> list[tuple[str, str]]:
    steps = [
        f"{summary.steps[kind]:,} {name} ({_count(summary.tokens[kind], 'token')})"
        for kind, name in _KINDS.items()
        if summary.steps.get(kind)
    ]
    decoded = summary.steps.get("decode", 0)
    recalled = f"{summary.recalled:,} of {_count(decoded, 'decoded step')} ({words.ratio(summary.recalled, decoded)})"
    rows = [
        ("steps", ", ".join(steps) or "none"),
        ("budget", _spread(summary.budget, lambda value: f"{value:,.0f}", "slots")),
        ("confidence", _spread(summary.confidence, lambda value: f"{value:.2f}", "")),
        ("recalled", f"{recalled}, {summary.promoted:,} promoted" if decoded else words.MISSING),
        ("hot peak", f"{words.size(summary.peak_kv_bytes)} after {_count(summary.peak_position, 'token')}"),
    ]
    if summary.peak_cold_bytes:
        rows.append(("cold peak", f"{words.size(summary.peak_cold_bytes)} in host memory"))
    return rows


def _segments(summary: TraceSummary) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("segment", overflow="fold")
    for name in ("evicted", "share", "demoted", "share"):
        table.add_column(name, justify="right")
    gone, coded = sum(summary.evicted.values()), sum(summary.demoted.values())
    names = sorted(
        {**summary.evicted, **summary.demoted},
        key=lambda name: (name == UNNAMED, -summary.evicted.get(name, 0), -summary.demoted.get(name, 0)),
    )
    for name in names:
        out, down = summary.evicted.get(name, 0), summary.demoted.get(name, 0)
        table.add_row(Text(name), f"{out:,}", words.ratio(out, gone), f"{down:,}", words.ratio(down, coded))
    if len(names) > 1:
        table.add_row("all", f"{gone:,}", "", f"{coded:,}", "")
    table.caption, table.caption_justify = "tokens, summed over layers and KV heads", "left"
    return table


def _grid(rows: Sequence[tuple[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(Text(name), Text(words.printable(value)))
    return grid


def _spread(spread: Spread | None, show: Callable[[float], str], unit: str) -> str:
    if spread is None:
        return words.MISSING
    if spread.least == spread.largest:
        return f"{show(spread.mean)} {unit}".strip()
    return f"{show(spread.least)} to {show(spread.largest)} {unit}, mean {show(spread.mean)}".replace(" ,", ",")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
