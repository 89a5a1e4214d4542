"""What `confkv-agent eval` shows: a live table on a terminal, a line per episode elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from confkv_agents.evaluation import words
from confkv_agents.evaluation.batch.callbacks import BatchCallback, BatchInfo
from confkv_agents.evaluation.batch.options import NO_POLICY, Unit
from confkv_agents.evaluation.console import RunConsole

if TYPE_CHECKING:
    from rich.live import Live

    from confkv_agents.evaluation.batch.results import Results
    from confkv_agents.evaluation.records import StepRecord

_WIDTH = 100


class BatchConsole(BatchCallback):
    """Shows a batch as it runs.

    Args:
        console: Where to; standard output by default.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH)
        self._plain = RunConsole(self.console)
        self._live: Live | None = None
        self._policies: Sequence[str] = ()
        self._total = self._done = self._played = 0
        self._rows: dict[str, list[Mapping[str, Any]]] = {}
        self._running: dict[tuple[Any, ...], str] = {}
        self._began = 0.0

    @contextlib.contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show a status line while something takes its time; nothing when this is no terminal."""
        with self._plain.waiting(text):
            yield

    def on_start(self, info: BatchInfo) -> None:
        """Show what is about to run, and how much of it was played before."""
        from rich.live import Live

        self._policies, self._total, self._done = info.policies, info.total, len(info.rows)
        self._rows = {label: [] for label in info.policies}
        for row in info.rows:
            self._rows[row["policy"]].append(row)
        self._plain.facts(list(info.facts))
        for remark in info.remarks:
            self._plain.remark(remark)
        before = f", {self._done} played before" if self._done else ""
        episodes = f"{self._total} episode{'s' if self._total != 1 else ''}"
        self.console.print(Text(episodes + before, style="dim"))
        self._began = time.monotonic()
        if self.console.is_terminal and self._done < self._total:
            self._live = Live(self._view(), console=self.console, refresh_per_second=4, transient=True)
            self._live.start()

    def on_episode_start(self, unit: Unit, attempt: int) -> None:
        """Show which episode began."""
        self._running[unit.key] = unit.name + (f", try {attempt}" if attempt > 1 else "")
        self._refresh()

    def on_step(self, unit: Unit, step: StepRecord) -> None:
        """Show how far an episode is."""
        if unit.key in self._running:
            self._running[unit.key] = f"{unit.name}: step {step.index}, {' '.join(step.action.split())}"
        self._refresh()

    def on_episode_end(self, unit: Unit, row: Mapping[str, Any], final: bool) -> None:
        """Count an episode."""
        self._running.pop(unit.key, None)
        if final:
            self._done += 1
            self._rows[unit.policy].append(row)
        self._played += 1
        verdict = words.verdict_of("finished", row)
        line = Text.assemble(
            (f"{self._done}/{self._total}", "dim"), "  ", words.printable(unit.name), "  ",
            (verdict.words.lower(), {"good": "green", "bad": "red"}.get(verdict.tone, "yellow")),
            (f"  {row['steps']} steps, {words.seconds(row['seconds'].get('total'))}", "dim"),
        )  # fmt: skip
        if row["peak_kv_bytes"] is not None:
            line.append(f", peak KV {words.size(row['peak_kv_bytes'])}", style="dim")
        if row["success"] is None:
            line.append(f"  {words.printable(' '.join((row['error'] or '').split()))}", style="yellow")
            line.append(" (tried again later)" if not final else "", style="dim")
        if self._live is None:
            line.append(f"  {self._left()}", style="dim")
        if self._live is None or row["success"] is None:
            self.console.print(line, soft_wrap=True)
        self._refresh()

    def on_end(self, results: Results) -> None:
        """Show the table and where the files are."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        show_results(results, self.console)
        if self._done < self._total:
            self._plain.remark(
                f"{self._done} of {self._total} episodes are played and kept; the same command continues"
            )

    def _refresh(self) -> None:
        if self._live is not None:
            self._live.update(self._view())

    def _left(self) -> str:
        left = self._total - self._done
        if not self._played or not left:
            return ""
        return f"about {words.seconds((time.monotonic() - self._began) / self._played * left)} left"

    def _view(self) -> Group:
        head = Text.assemble((f"{self._done} of {self._total} episodes", "bold"), f"  {self._left()}")
        table = Table(box=None, padding=(0, 2), header_style="dim")
        table.add_column("policy")
        for name in ("done", "success", "peak KV", "of full KV"):
            table.add_column(name, justify="right")
        for label in self._policies:
            rows = self._rows[label]
            judged = [row for row in rows if row["success"] is not None]
            known = [row for row in rows if row["peak_kv_bytes"] is not None]
            peak = sum(row["peak_kv_bytes"] for row in known) / len(known) if known else None
            full = sum(row["full_kv_bytes"] or 0 for row in known) / len(known) if known else None
            table.add_row(
                "no model" if label == NO_POLICY else label,
                str(len(rows)),
                words.ratio(sum(row["success"] for row in judged), len(judged)),
                words.size(peak),
                words.ratio(peak, full),
            )
        running = [
            Text("  " + words.printable(name), style="dim", no_wrap=True, overflow="ellipsis")
            for name in self._running.values()
        ]
        return Group(head, table, *running)


def show_results(results: Results, console: Console | None = None) -> None:
    """Show a set's summary as a table, and where its report is.

    Args:
        results: The set.
        console: Where to; standard output by default.
    """
    from confkv_agents.evaluation.batch.tables import summary_table

    console = console or Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH)
    console.print()
    width = max(console.width, _WIDTH)
    wide = Console(file=console.file, width=width, force_terminal=console.is_terminal, highlight=False)
    if results.rows:
        wide.print(summary_table(results.summary))
    failed = results.summary["infra_errors"]
    if failed:
        console.print(Text(f"{len(failed)} without verdict: the environment failed them", style="yellow"))
    console.print()
    RunConsole(console).path("report", results.report)


def show_comparison(comparison: Sequence[Mapping[str, Any]], console: Console | None = None) -> None:
    """Show two sets' comparison: a table, and the cases that only one of them solved.

    Args:
        comparison: As `compare.compare` gives it.
        console: Where to; standard output by default.
    """
    from confkv_agents.evaluation.batch.tables import comparison_table

    console = console or Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH)
    Console(file=console.file, width=max(console.width, _WIDTH), highlight=False).print(comparison_table(comparison))
    for entry in comparison:
        for name, side in (("gained", "only A solved"), ("lost", "only B solved")):
            if entry["figures"] and entry["figures"][name]:
                cases = ", ".join(entry["figures"][name])
                console.print(Text(words.printable(f"{entry['a']}: {side} {cases}"), style="dim"), soft_wrap=True)
