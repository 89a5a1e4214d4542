"""Two sets or runs against each other, on the cases that both have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from confkv_agents.errors import RecordError
from confkv_agents.evaluation.batch.options import NO_POLICY
from confkv_agents.evaluation.batch.store import BATCH_FILE, read_set
from confkv_agents.evaluation.batch.summary import compare_cases
from confkv_agents.evaluation.records import RUN_SCHEMA, read_record, read_rows
from confkv_agents.paths import user_path

COMPARISON_SCHEMA = "confkv-comparison/1"
Rows = dict[str, list[dict[str, Any]]]


def compare(a: Path, b: Path, policies: Sequence[str] = (), *, changed_tasks: bool = False) -> list[dict[str, Any]]:
    """Pair two sets on common cases (task, seed).

    Args:
        a: Folder of a set or of a run.
        b: The other one.
        policies: Pairs to compare: `label` for the same of both, or `label/label`. By default all that both have, or
            the only one of each.
        changed_tasks: Pair tasks by name alone, also where their files differ.

    Returns:
        `{"a": label, "b": label, "figures": ...}` per pair, see `summary.compare_cases`.

    Raises:
        RecordError: A folder holds neither, a policy is in none of them, or there is nothing to pair.
    """
    left, right = _rows(user_path(a), changed_tasks), _rows(user_path(b), changed_tasks)
    pairs = [_pair(text) for text in policies]
    if not pairs:
        pairs = [(label, label) for label in left if label in right]
    if not pairs and len(left) == len(right) == 1:
        pairs = [(next(iter(left)), next(iter(right)))]
    if not pairs:
        raise RecordError(
            f"{a} has {', '.join(left) or 'nothing'} and {b} has {', '.join(right) or 'nothing'}: no policy is in "
            "both; pass --policies A/B to pair two"
        )
    found = []
    for own, other in pairs:
        for label, rows, folder in ((own, left, a), (other, right, b)):
            if label not in rows:
                named = [row for row in rows if row != NO_POLICY]
                has = f"it has: {', '.join(named)}" if named else "its agent used no model"
                raise RecordError(f"{folder} has no policy {label!r}; {has}")
        found.append({"a": own, "b": other, "figures": compare_cases(left[own], right[other])})
    if all(entry["figures"] is None for entry in found):
        raise RecordError(
            f"{a} and {b} have no case (task file and seed) in common; if task files changed, pass --changed-tasks"
        )
    return found


def _pair(text: str) -> tuple[str, str]:
    own, slash, other = text.partition("/")
    return own.strip(), other.strip() if slash else own.strip()


def _rows(folder: Path, changed_tasks: bool) -> Rows:
    """Judged rows by policy."""
    if (folder / BATCH_FILE).is_file():
        rows = read_set(folder)[1]
    elif (folder / "run.json").is_file():
        policy = read_record(folder / "run.json", RUN_SCHEMA)["configuration"].get("policy") or NO_POLICY
        rows = [{"policy": policy, **row} for row in read_rows(folder / "episodes.jsonl")]
    else:
        raise RecordError(f"{folder} is neither the folder of a batch (batch.json) nor of a run (run.json)")
    found: Rows = {}
    for row in rows:
        if row["success"] is not None:
            found.setdefault(row["policy"], []).append(row | ({"task_sha256": ""} if changed_tasks else {}))
    return found
