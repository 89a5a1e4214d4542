"""The batch as one function."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from confkv_agents.evaluation.batch.callbacks import BatchCallback
from confkv_agents.evaluation.batch.options import BatchOptions, merged
from confkv_agents.evaluation.batch.results import Results


def evaluate(
    tasks: str | Path | Sequence[str | Path],
    policies: str | Sequence[str] | None = None,
    *,
    seeds: Sequence[int] | None = None,
    callbacks: Sequence[BatchCallback] = (),
    show: bool = False,
    **options: Any,
) -> Results:
    """Play tasks under several cache policies, and compare.

    Continues what the same call has left in the same folder; see `BatchOptions` for what may be said.

        results = evaluate("tasks/shop/*.json", ["full", "confkv"], budget=512, out="runs")
        results.summary["policies"]["confkv"]["success"]
        results.to_pandas()

    Args:
        tasks: Files, folders, patterns or names.
        policies: Cache policies, with settings after colons; not used by agents that need no model.
        seeds: Seeds of sites and sampling; by default each task's own.
        callbacks: Whom to tell how it goes: loggers of your own.
        show: Show progress on the terminal.
        options: Other fields of `BatchOptions`: `agent`, `model`, `budget`, `workers`, `out`...

    Returns:
        A row per episode, a summary, and the folder of records and report.

    Raises:
        ConfKVError: The input is wrong, or no browser or model can be started.
    """
    from confkv_agents.evaluation.batch.progress import BatchConsole
    from confkv_agents.evaluation.batch.running import run_batch

    named = [tasks] if isinstance(tasks, str | Path) else list(tasks)
    if policies is not None and not isinstance(policies, str):
        policies = ",".join(policies)
    if "out" in options:
        options["out"] = Path(options["out"])
    given = {
        **options,
        "tasks": tuple(str(entry) for entry in named),
        "policies": policies,
        "seeds": None if seeds is None else tuple(seeds),
    }
    return run_batch(_options(given), callbacks, BatchConsole() if show else None)


def _options(given: dict[str, Any]) -> BatchOptions:
    return merged({}, given)
