"""A replay summed up: figures of a policy, and against full KV on the same steps.

Steps of one episode share its pages, so where there are two episodes or more, intervals are over episodes, each with
all its steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from confkv_agents.evaluation.bench.statistics import bootstrap, paired_share_interval, wilson_of_groups
from confkv_agents.evaluation.bench.suite import Row


def summed(rows: Sequence[Row], reference: Sequence[Row] = ()) -> dict[str, Any]:
    """Sum up one policy's episodes, with 95 % intervals.

    Args:
        rows: Of the policy: `episode` and its `steps`.
        reference: Of full KV; with them come the differences to it, on the steps that both have.
    """
    steps = [step for row in rows for step in row["steps"]]
    groups = [row["episode"] for row in rows for _ in row["steps"]] if len(rows) > 1 else None
    sums = np.array([[-each["nats"], each["tokens"]] for each in steps], dtype=np.float64).reshape(-1, 2)
    spread = np.array([[each["divergence"], 1.0] for each in steps], dtype=np.float64).reshape(-1, 2)
    count = len(steps)
    agreed, with_full = (sum(each[key] for each in steps) for key in ("agrees", "agrees_with_full"))
    numbers = sorted({each["step"] for each in steps})
    by_step = {number: [each for each in steps if each["step"] == number] for number in numbers}
    return {
        "steps": count,
        "log_likelihood": _share(sums) if count else None,
        "log_likelihood_interval": bootstrap(sums, _share, groups=groups),
        "agreed": agreed,
        "agreement": agreed / count if count else None,
        "agreement_interval": wilson_of_groups([each["agrees"] for each in steps], groups) if count else None,
        "agreed_with_full": with_full,
        "agreement_with_full": with_full / count if count else None,
        "agreement_with_full_interval": (
            wilson_of_groups([each["agrees_with_full"] for each in steps], groups) if count else None
        ),
        "against_full": _against(rows, reference),
        "token_agreement": _mean(steps, "token_agreement"),
        "divergence": _mean(steps, "divergence"),
        "divergence_interval": bootstrap(spread, _share, groups=groups),
        "kv_bytes": _mean(steps, "kv_bytes"),
        "peak_kv_bytes": max((each["peak_kv_bytes"] for each in steps), default=None),
        "full_kv_bytes": _mean(steps, "full_kv_bytes"),
        "cold_bytes": _mean(steps, "cold_bytes"),
        "read_s_per_step": _mean(steps, "read_s"),
        "ms_per_token": 1000 * (_mean(steps, "token_s") or 0.0) if count else None,
        "by_step": {
            str(number): {
                "kv_bytes": _mean(each, "kv_bytes"),
                "log_likelihood": -sum(one["nats"] for one in each) / sum(one["tokens"] for one in each),
                "divergence": _mean(each, "divergence"),
                "seconds": _mean(each, "read_s"),
            }
            for number, each in by_step.items()
        },
    }


def _against(rows: Sequence[Row], reference: Sequence[Row]) -> dict[str, Any] | None:
    """Differences to full KV, step by step: of agreement, a share, and of nats per token."""
    other = {(row["episode"], step["step"]): step for row in reference for step in row["steps"]}
    both = [
        (row["episode"], step, other[row["episode"], step["step"]])
        for row in rows
        for step in row["steps"]
        if (row["episode"], step["step"]) in other
    ]
    if not both or rows == reference:
        return None
    groups = [episode for episode, _, _ in both] if len(rows) > 1 else None
    pairs = np.array([[float(own["agrees"]), float(theirs["agrees"])] for _, own, theirs in both])
    nats = np.array([[theirs["nats"] - own["nats"], own["tokens"]] for _, own, theirs in both], dtype=np.float64)
    return {
        "agreement": float((pairs[:, 0] - pairs[:, 1]).mean()),
        "agreement_interval": paired_share_interval(pairs, groups=groups),
        "log_likelihood": _share(nats),
        "log_likelihood_interval": bootstrap(nats, _share, groups=groups),
        "gained": int((pairs[:, 0] > pairs[:, 1]).sum()),
        "lost": int((pairs[:, 0] < pairs[:, 1]).sum()),
    }


def _share(table: Any) -> float:
    return float(table[:, 0].sum()) / float(table[:, 1].sum())


def _mean(rows: Sequence[Mapping[str, Any]], key: str) -> float | None:
    return sum(row[key] for row in rows) / len(rows) if rows else None
