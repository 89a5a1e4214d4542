"""What `confkv-agent bench` shows: a bar on a terminal, a line now and then elsewhere, tables at the end."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.text import Text

from confkv_agents.evaluation.console import RunConsole

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from rich.table import Table

_QUIET_S = 10.0
_WIDTH = 100


class Reporter:
    """Shows a benchmark as it runs; a context manager around the measuring.

    Args:
        console: Where to; standard output by default.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH)
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._total = self._done = 0
        self._began = self._said = 0.0
        self._measured = 0

    @contextlib.contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show a status line while something takes its time; nothing when this is no terminal."""
        if not self.console.is_terminal:
            yield
            return
        with self.console.status(Text(text, style="dim")):
            yield

    def begin(self, name: str, facts: list[tuple[str, str]], total: int, done: int) -> None:
        """Show what is about to be measured, and how much of it was measured before."""
        RunConsole(self.console).facts([("bench", name), *facts])
        self._total, self._done = total, done
        items = f"{total} item{'s' if total != 1 else ''}"
        if done:
            items += f", {done} measured before (--fresh measures them again)"
        self.console.print(Text(items, style="dim"))

    def __enter__(self) -> Self:
        """Start the bar."""
        self._began = time.monotonic()
        if self.console.is_terminal and self._done < self._total:
            self._progress, self._task = self._bar()
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bar away."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def at(self, key: str) -> None:
        """Show which item is being measured."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, description=key)

    def part(self, text: str) -> None:
        """Show which part of a long item is being measured; a line now and then where there is no bar."""
        if self._progress is not None:
            self.at(text)
        elif time.monotonic() - self._said >= _QUIET_S:
            self._said = time.monotonic()
            self.console.print(Text(f"{self._done}/{self._total}  {text}", style="dim"))

    def finished(self, key: str) -> None:
        """Count an item."""
        self._done += 1
        self._measured += 1
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=self._done)
        elif time.monotonic() - self._said >= _QUIET_S or self._done == self._total:
            self._said = time.monotonic()
            left = (self._said - self._began) / self._measured * (self._total - self._done)
            rest = f", about {left:.0f} s left" if self._done < self._total else ""
            self.console.print(Text(f"{self._done}/{self._total}  {key}{rest}", style="dim"))

    def interrupted(self, done: int, total: int) -> None:
        """Say how to go on."""
        self.console.print(
            Text(f"{done} of {total} items are measured and kept; the same command continues", style="yellow")
        )

    def results(self, tables: Sequence[Table], folder: Path) -> None:
        """Show the tables and where the files are."""
        # A narrow terminal wraps lines then; squeezed columns would lose what they say.
        width, terminal = max(self.console.width, _WIDTH), self.console.is_terminal
        wide = Console(file=self.console.file, width=width, force_terminal=terminal, highlight=False)
        for table in tables:
            self.console.print()
            wide.print(table)
        self.console.print()
        for name in ("result.json", "plot.png"):
            RunConsole(self.console).path(name, folder / name)

    def _bar(self) -> tuple[Progress, TaskID]:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        progress = Progress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
            console=self.console,
            transient=True,
        )
        return progress, progress.add_task("", total=self._total, completed=self._done)
