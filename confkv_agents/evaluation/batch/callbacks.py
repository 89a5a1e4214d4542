"""What a batch tells of itself while it runs, for terminals and for loggers of a user's own."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confkv_agents.evaluation.batch.options import Unit
    from confkv_agents.evaluation.batch.results import Results
    from confkv_agents.evaluation.records import StepRecord

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BatchInfo:
    """What is about to run.

    Attributes:
        directory: The set's folder.
        policies: Labels, in order.
        total: Episodes asked for.
        rows: Rows of those that were played before.
        configuration: What decides the results.
        facts: Names and values to show.
        remarks: What a reader should know.
        workers: Episodes at the same time.
    """

    directory: Path
    policies: Sequence[str]
    total: int
    rows: Sequence[Mapping[str, Any]]
    configuration: Mapping[str, Any]
    facts: Sequence[tuple[str, str]] = ()
    remarks: Sequence[str] = ()
    workers: int = 1


class BatchCallback:
    """Override what you want to hear of; all are called in the thread that runs the batch, one at a time.

    An exception in one of them is logged and changes nothing: a logger that fails must not cost a night's episodes.
    """

    def on_start(self, info: BatchInfo) -> None:
        """Called once, before the first episode."""

    def on_episode_start(self, unit: Unit, attempt: int) -> None:
        """An episode begins; `attempt` is above 1 if the environment failed it before."""

    def on_step(self, unit: Unit, step: StepRecord) -> None:
        """An episode took a step."""

    def on_episode_end(self, unit: Unit, row: Mapping[str, Any], final: bool) -> None:
        """An episode ended; `row` is as in `Results.rows`. If not `final`, it is going to be tried again."""

    def on_end(self, results: Results) -> None:
        """Called once: everything is done and written, or the batch was stopped."""


def tell(callbacks: Sequence[BatchCallback], event: str, *arguments: Any) -> None:
    """Call one method of every callback; what they raise is logged.

    Args:
        callbacks: Whom to tell.
        event: Name of the method.
        arguments: Its arguments.
    """
    for callback in callbacks:
        try:
            getattr(callback, event)(*arguments)
        except Exception:  # noqa: BLE001 - foreign code; see BatchCallback
            _log.exception("%s.%s failed", type(callback).__name__, event)
