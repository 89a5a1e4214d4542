"""What a batch found, for programs: rows, a summary, and where the files are."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confkv_agents.errors import ExtraMissingError


@dataclass(frozen=True)
class Results:
    """Everything recorded in a set.

    Attributes:
        directory: The set's folder.
        rows: One per episode, in order of tasks, seeds and policies: see `records.EpisodeResult`, and `policy`,
            `sites`, `kinds`, `length`, `attempts`, `link`.
        summary: As in `summary.json`.
        complete: Whether every episode asked for has a verdict.
    """

    directory: Path
    rows: list[dict[str, Any]]
    summary: Mapping[str, Any]
    complete: bool

    @property
    def report(self) -> Path:
        """The page to open first."""
        return self.directory / "report.html"

    def to_pandas(self) -> Any:
        """The rows as a `pandas.DataFrame`.

        Raises:
            ExtraMissingError: pandas is not installed; it is no dependency of this package.
        """
        try:
            pandas = importlib.import_module("pandas")  # looked for by name: no dependency, so no types of it
        except ImportError as error:
            raise ExtraMissingError("to_pandas() needs pandas, which is not installed: pip install pandas") from error
        return pandas.DataFrame(self.rows)
