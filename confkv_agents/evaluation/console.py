"""What `confkv-agent run` shows on the terminal: a line per step, then tables.

On a terminal a status line tells what is being waited for; into a file or a pipe go plain lines. Lines fit
the width there is, 80 columns when unknown.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from confkv_agents.evaluation import words

if TYPE_CHECKING:
    from rich.status import Status

    from confkv_agents.evaluation.records import EpisodeResult, StepRecord

_PHASES = {
    "model": "the agent decides",
    "environment": "the browser acts",
    "evaluation": "checking the result",
}
_MUCH = 0.8  # of full KV
_MODEL_COLUMNS = (("read", 7), ("reused", 8), ("KV MiB", 8), ("of full", 8), ("conf", 6))
_LEAST_ACTION = 20


class RunConsole:
    """Shows episodes as they run.

    Args:
        console: Where to; standard output by default.
        uses_model: Whether steps have tokens and bytes to show.
    """

    def __init__(self, console: Console | None = None, *, uses_model: bool = True) -> None:
        self.console = console or Console(highlight=False)
        self.uses_model = uses_model
        self._status: Status | None = None
        self._phase_started = time.monotonic()

    def facts(self, rows: Sequence[tuple[str, str | Text]]) -> None:
        """Show what is about to run: name and value, a line each."""
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in rows:
            grid.add_row(name, Text(words.printable(value)) if isinstance(value, str) else value)
        self.console.print(grid)

    def task(self, key: str, goal: str, seed: int) -> None:
        """Show which task begins, and the names of the columns that `step` fills."""
        self.console.print()
        self.facts([("task", f"{key} (seed {seed})"), ("goal", goal)])
        self.heading()

    def remark(self, text: str) -> None:
        """Show something the reader should know, such as that the model is a weak one."""
        self.console.print(Text(words.printable(text), style="yellow"))

    @contextlib.contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show a status line while something takes its time; nothing when this is no terminal."""
        if not self.console.is_terminal:
            yield
            return
        with self.console.status(Text(text, style="dim")) as status:
            self._status = status
            try:
                yield
            finally:
                self._status = None

    def heading(self) -> None:
        """Show the names of the columns that `step` fills."""
        names = [name for name, _ in self._columns()]
        self.console.print(Text(self._line("step", "action", names), style="dim"))

    def phase(self, index: int, phase: str) -> None:
        """Tell on the status line what step `index` is waiting for."""
        if self._status is not None:
            self._status.update(Text(f"step {index}: {_PHASES[phase]}", style="dim"))

    def step(self, step: StepRecord) -> None:
        """Show a finished step."""
        spent = sum(step.seconds.values())
        values = [f"{spent:.1f}"]
        if self.uses_model:
            mean = (step.confidence or {}).get("mean")
            values = [
                words.count(step.tokens_read),
                words.count(step.tokens_reused),
                words.MISSING if step.kv_bytes is None else f"{step.kv_bytes / 2**20:.1f}",
                words.ratio(step.kv_bytes, step.full_kv_bytes),
                words.MISSING if mean is None else f"{mean:.2f}",
                *values,
            ]
        style = "" if step.parsed and not step.error else "red"
        action = " ".join(step.action.split()) or "(nothing)"
        self.console.print(Text(self._line(str(step.index), action, values), style=style))
        if step.error:
            self._below(step.error, "red")
        elif step.target:
            self._below(f"{step.target['role']} {step.target['name']!r}", "dim")

    def result(self, result: EpisodeResult, report: Path, uses_model: bool | None = None) -> None:
        """Show the tables at the end of an episode."""
        uses_model = self.uses_model if uses_model is None else uses_model
        self.console.print()
        if result.checks:
            self.facts(_checks_rows(result.checks))
            self.console.print()
        verdict = words.verdict_of("finished", {"success": result.success, "stop_reason": result.stop_reason})
        style = {"good": "bold green", "bad": "bold red"}.get(verdict.tone, "bold yellow")
        rows: list[tuple[str, Text | str]] = [
            ("result", Text.assemble((verdict.words, style), f" ({verdict.why})")),
            ("stop reason", result.stop_reason),
        ]
        if result.error:
            rows.append(("error", Text(words.printable(result.error), style="red")))
        if result.answer is not None:
            rows.append(("answer", Text(words.printable(result.answer) or "(empty)")))
        rows.append(("steps", _steps_in_words(result)))
        if uses_model:
            share = words.ratio(result.peak_kv_bytes, result.full_kv_bytes)
            # A cache is sized for its budget and the chunk that is read: more than little needs.
            short = ", as the episode hardly outgrew the budget" if _is_short(result) else ""
            rows += [
                ("tokens read", words.count(result.tokens_read)),
                ("tokens reused", words.count(result.tokens_reused)),
                ("tokens generated", words.count(result.tokens_generated)),
                ("peak KV held", words.size(result.peak_kv_bytes)),
                ("full KV would hold", f"{words.size(result.full_kv_bytes)} (peak is {share} of it{short})"),
                ("budget, slots", words.span(result.budget)),
                ("confidence", words.span(result.confidence, 2)),
            ]
        memory = result.peak_memory
        if memory:
            process, browser = (words.size(memory[key]) for key in ("process_bytes", "browser_bytes"))
            rows.append(("peak memory", f"process {process}, browser {browser}"))
        spent = result.seconds
        rows.append(
            (
                "time",
                f"{words.seconds(spent['total'])} (agent {words.seconds(spent['model'])}, "
                f"browser {words.seconds(spent['environment'])})",
            )
        )
        self.facts(rows)
        self.console.print()
        self.path("report", report)

    def path(self, name: str, path: Path) -> None:
        """Show a path on one line, whatever its length, so that it can be copied."""
        self.console.print(Text.assemble((f"{name}  ", "dim"), str(path)), soft_wrap=True)

    def _columns(self) -> tuple[tuple[str, int], ...]:
        return (*(_MODEL_COLUMNS if self.uses_model else ()), ("s", 7))

    def _line(self, index: str, action: str, values: list[str]) -> str:
        columns = self._columns()
        room = max(_LEAST_ACTION, min(self.console.width, 120) - 6 - sum(width for _, width in columns))
        text = Text(words.printable(action))
        text.truncate(room, overflow="ellipsis", pad=True)
        cells = "".join(f"{value:>{width}}" for value, (_, width) in zip(values, columns, strict=True))
        return f"{index:>4}  {text.plain}{cells}"

    def _below(self, words_: str, style: str) -> None:
        text = Text(words.printable(" ".join(words_.split())))
        text.truncate(max(_LEAST_ACTION, min(self.console.width, 120) - 6), overflow="ellipsis")
        self.console.print(Text(f"      {text.plain}", style=style))


def _steps_in_words(result: EpisodeResult) -> str:
    if not result.parse_failures:
        return str(result.steps)
    return f"{result.steps}, of which {result.parse_failures} held no action"


def _is_short(result: EpisodeResult) -> bool:
    """Whether a bounded cache could not show its worth."""
    peak, full = result.peak_kv_bytes, result.full_kv_bytes
    return bool(result.budget and peak and full and peak >= _MUCH * full)


def _checks_rows(checks: list[dict[str, Any]]) -> list[tuple[str, Text | str]]:
    """A few rows per check: a table of five columns would be unreadable on 80 columns."""
    rows: list[tuple[str, Text | str]] = []
    for check in checks:
        mark = ("passed", "bold green") if check["ok"] else ("failed", "bold red")
        rows.append(("check", Text.assemble(_cut(check.get("name")), ": ", mark)))
        for key in ("expected", "got", "why"):
            if check.get(key) is not None:
                rows.append((f"  {key}", _cut(check[key]) or "(empty)"))
    return rows


def _cut(value: Any, length: int = 160) -> str:
    text = "" if value is None else words.printable(" ".join(str(value).split()))
    return text if len(text) <= length else text[: length - 1] + "…"
