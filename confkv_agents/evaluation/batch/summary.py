"""Rows of a set summed up: per policy, against full KV, and by site, kind and length.

A case is a task and a seed. Policies are compared on the cases that both have a verdict on; episodes that the
environment failed have none and are listed apart. Seeds of one task are no independent cases: intervals are over tasks,
each with all its seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from confkv_agents.evaluation.batch.kinds import KINDS, LENGTHS
from confkv_agents.evaluation.batch.store import row_key
from confkv_agents.evaluation.bench.statistics import (
    bootstrap,
    paired_share_interval,
    retention,
    retention_interval,
    wilson_of_groups,
)

SUMMARY_SCHEMA = "confkv-batch-summary/1"
REFERENCE = "full"
Row = Mapping[str, Any]
Figures = dict[str, Any]


def summarize(content: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    """Sum up a set.

    Args:
        content: Its record.
        rows: As `store.read_set` gives them.

    Returns:
        `policies` (figures by label), `by` (`site`, `kind` and `length`: figures by group and label), `infra_errors`,
        `missing` (what was asked for last and has no row), `asked`; JSON-safe.
    """
    labels = [label for label in content["policies"] if any(row["policy"] == label for row in rows)]
    have = {row_key(row) for row in rows}
    asked = [(task, seed, policy) for task, seed, policy in content["asked"]]
    groups: dict[str, Callable[[Row], Sequence[str]]] = {
        "site": lambda row: ["+".join(sorted(set(row["sites"])))],
        "kind": lambda row: row["kinds"],
        "length": lambda row: [row["length"]],
    }
    return {
        "schema": SUMMARY_SCHEMA,
        "configuration": content["configuration"],
        "configuration_hash": content["configuration_hash"],
        "status": content["status"],
        "reference": REFERENCE if REFERENCE in labels else None,
        "policies": _by_policy(rows, labels),
        "by": {name: _grouped(rows, labels, group) for name, group in groups.items()},
        "infra_errors": [_failure(row) for row in rows if row["success"] is None],
        "asked": len(asked),
        "missing": sum(key not in have for key in asked),
    }


def _grouped(
    rows: Sequence[Row], labels: Sequence[str], group: Callable[[Row], Sequence[str]]
) -> dict[str, dict[str, Figures]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        for name in group(row):
            found.setdefault(name, []).append(row)
    known = [*KINDS, *LENGTHS]
    ordered = sorted(found, key=lambda name: (known.index(name) if name in known else len(known), name))
    return {name: _by_policy(found[name], labels) for name in ordered}


def _by_policy(rows: Sequence[Row], labels: Sequence[str]) -> dict[str, Figures]:
    own = {label: [row for row in rows if row["policy"] == label] for label in labels}
    return {label: _figures(own[label], own.get(REFERENCE, []), label) for label in labels}


def _figures(rows: Sequence[Row], reference: Sequence[Row], label: str) -> Figures:
    judged = [row for row in rows if row["success"] is not None]
    succeeded = sum(row["success"] for row in judged)
    peaks = [row["peak_kv_bytes"] for row in judged if row["peak_kv_bytes"] is not None]
    figures = {
        "episodes": len(rows),
        "judged": len(judged),
        "infra_errors": len(rows) - len(judged),
        "succeeded": succeeded,
        "success": succeeded / len(judged) if judged else None,
        "success_interval": wilson_of_groups([row["success"] for row in judged], _tasks(judged)) if judged else None,
        "steps": _mean(judged, "steps"),
        "parse_failures": _mean(judged, "parse_failures"),
        "peak_kv_bytes": _mean(judged, "peak_kv_bytes"),
        "most_kv_bytes": max(peaks, default=None),
        "of_full_kv": _ratio(judged),
        "tokens_read": _mean(judged, "tokens_read"),
        "tokens_reused": _mean(judged, "tokens_reused"),
        "tokens_generated": _mean(judged, "tokens_generated"),
        "seconds": _seconds(judged, "total", per_step=False),
        "model_seconds_per_step": _seconds(judged, "model", per_step=True),
    }
    if label != REFERENCE and reference:
        figures["against_full"] = compare_cases(judged, [row for row in reference if row["success"] is not None])
    return figures


def compare_cases(rows: Sequence[Row], reference: Sequence[Row]) -> Figures | None:
    """Compare two lists of judged rows on the cases that they share; None if there are none.

    Returns:
        `cases`, `difference` of success with `difference_interval`, `retention` with `retention_interval`, `gained` and
        `lost` cases by name, and ratios of means: `peak_kv_ratio`, `tokens_read_ratio`, `seconds_ratio`, each with an
        interval where there are two tasks or more.
    """
    other = {row_key(row)[:2]: row for row in reference}
    both = [(row, other[row_key(row)[:2]]) for row in rows if row_key(row)[:2] in other]
    if not both:
        return None
    tasks = _tasks([own for own, _ in both])
    pairs = np.array([[float(own["success"]), float(theirs["success"])] for own, theirs in both])
    kept = retention(pairs)
    found: Figures = {
        "cases": len(both),
        "succeeded": [int(pairs[:, 0].sum()), int(pairs[:, 1].sum())],
        "difference": float((pairs[:, 0] - pairs[:, 1]).mean()),
        "difference_interval": paired_share_interval(pairs, groups=tasks),
        "retention": kept if np.isfinite(kept) else None,
        "retention_interval": retention_interval(pairs, groups=tasks) if np.isfinite(kept) else None,
        "gained": [_case(own) for own, theirs in both if own["success"] and not theirs["success"]],
        "lost": [_case(own) for own, theirs in both if theirs["success"] and not own["success"]],
    }
    values: dict[str, Callable[[Row], Any]] = {
        "peak_kv": lambda row: row["peak_kv_bytes"],
        "tokens_read": lambda row: row["tokens_read"],
        "seconds": lambda row: row["seconds"].get("total"),
    }
    for name, value in values.items():
        known = [(value(own), value(theirs)) for own, theirs in both]
        table = np.array([pair for pair in known if None not in pair], dtype=np.float64)
        groups = [task for task, pair in zip(tasks, known, strict=True) if None not in pair]
        found[f"{name}_ratio"] = _ratio_of_sums(table) if len(table) and table[:, 1].sum() else None
        found[f"{name}_ratio_interval"] = (
            bootstrap(table, _ratio_of_sums, groups=groups) if found[f"{name}_ratio"] else None
        )
    return found


def _ratio_of_sums(table: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    below = float(table[:, 1].sum())
    return float(table[:, 0].sum()) / below if below else float("nan")


def _mean(rows: Sequence[Row], key: str) -> float | None:
    known = [row[key] for row in rows if row[key] is not None]
    return sum(known) / len(known) if known else None


def _ratio(rows: Sequence[Row]) -> float | None:
    known = [row for row in rows if row["peak_kv_bytes"] is not None and row["full_kv_bytes"]]
    full = sum(row["full_kv_bytes"] for row in known)
    return sum(row["peak_kv_bytes"] for row in known) / full if full else None


def _seconds(rows: Sequence[Row], part: str, *, per_step: bool) -> float | None:
    known = [row for row in rows if row["seconds"].get(part) is not None]
    count = sum(row["steps"] for row in known) if per_step else len(known)
    return sum(row["seconds"][part] for row in known) / count if count else None


def _tasks(rows: Sequence[Row]) -> list[str]:
    """The task of each row, its file's hash with it."""
    return [row_key(row)[0] for row in rows]


def _case(row: Row) -> str:
    return f"{row['task']} seed {row['seed']}"


def _failure(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in ("task", "seed", "policy", "error", "attempts", "link")}
