"""Needle retrieval: a grid of contexts and places, several forms of needle, exact match, retention of full KV."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.bench.asking import ANSWER_TOKENS, Asker, Grid
from confkv_agents.evaluation.bench.needles import FORMS
from confkv_agents.evaluation.bench.policies import REFERENCE
from confkv_agents.evaluation.bench.statistics import retention, retention_interval, wilson
from confkv_agents.evaluation.bench.suite import Common, Item, Row, Setup, check_context
from confkv_agents.evaluation.bench.words import AGENT, LATER, SAME

if TYPE_CHECKING:
    from rich.table import Table


@dataclass
class NeedleBench:
    """Hides needles in real text and asks for them.

    Args:
        common: What every benchmark is told; `limit` is the most cases per context and policy.
        depths: Number of depths, evenly from the beginning of the text to its end; with `agent` the task and
            `depths - 1` pages.
        repeats: Cases per context and depth; the forms take turns.
        forms: Names of the forms.
        later_turn: Ask in a turn of its own, when no reader of the text could know the question.
        agent: Hide the needle in an agent's transcript and ask at its end.
    """

    common: Common
    depths: int = 8
    repeats: int = 3
    forms: tuple[str, ...] = tuple(FORMS)
    later_turn: bool = False
    agent: bool = False
    name = "needle"

    def __post_init__(self) -> None:
        if self.later_turn and self.agent:
            raise ConfigError("--later-turn and --agent exclude each other: a transcript asks in its last turn")
        asked = AGENT if self.agent else LATER if self.later_turn else SAME
        self._grid = Grid(self.depths, self.repeats, self.forms, asked)
        self._asker: Asker | None = None

    def settings(self) -> dict[str, Any]:
        """Return what decides how a case of a given number looks."""
        return {
            "depths": self.depths,
            "forms": list(self.forms),
            "asked": self._grid.asked,
            "answer_tokens": ANSWER_TOKENS,
        }

    def items(self, setup: Setup) -> list[Item]:
        """Return every case for every policy; the policies of a case follow one another."""
        check_context(setup, max(self.common.contexts) + ANSWER_TOKENS)
        items = []
        for context in self.common.contexts:
            self._ask(setup).prompt(self._grid.case(context, 0))  # refuses texts that are too short
            for case in self._grid.cases(context, self.common.limit):
                for policy in setup.configs:
                    key = f"{context} {case['number']:03d} {case['form']} at {case['depth']:.0%} {policy}"
                    items.append(Item(key, {**case, "policy": policy}))
        return items

    def measure(self, setup: Setup, item: Item) -> Row:
        """Ask one case under one policy."""
        policy = item.what["policy"]
        case = {key: value for key, value in item.what.items() if key != "policy"}
        return {"policy": policy, **self._ask(setup).ask(case, setup.configs[policy])}

    def summarize(self, setup: Setup, rows: Sequence[Row]) -> dict[str, Any]:
        """Return accuracy, retention and bytes by policy, in all, by context, by form and by cell of the grid."""
        reference = {row["key"].removesuffix(f" {REFERENCE}"): row["ok"] for row in rows if row["policy"] == REFERENCE}
        policies: dict[str, Any] = {}
        for policy in setup.configs:
            own = [row for row in rows if row["policy"] == policy]
            if not own:
                continue
            pairs = [
                (float(row["ok"]), float(reference[case]))
                for row in own
                if (case := row["key"].removesuffix(f" {policy}")) in reference
            ]
            table = np.array(pairs).reshape(-1, 2)
            kept = retention(table)
            policies[policy] = {
                **_accuracy(own),
                "retention": kept if math.isfinite(kept) else None,
                "retention_interval": retention_interval(table, self.common.seed),
                "peak_kv_bytes": max(row["usage"]["peak_kv_bytes"] for row in own),
                "held_kv_bytes": max(row["held_kv_bytes"] for row in own),
                "full_kv_bytes": max(row["usage"]["full_kv_bytes"] for row in own),
                "cold_kv_bytes": max(row["cold_kv_bytes"] for row in own),
                "recalled": share_recalled(own),
                "probed": fmean(row["probed"] for row in own),
                "read_s": fmean(row["read_s"] for row in own),
                "contexts": {str(c): _accuracy(_where(own, context=c)) for c in self.common.contexts},
                "forms": {form: _accuracy(_where(own, form=form)) for form in self.forms},
                "grid": [
                    {"context": c, "depth": d, **_accuracy(cell)}
                    for c in self.common.contexts
                    for d in self._grid.places()
                    if (cell := _where(own, context=c, depth=d))
                ],
            }
        return {
            "contexts": list(self.common.contexts),
            "depths": self._grid.places(),
            "depth_labels": self._grid.labels(),
            "asked": self._grid.asked,
            "budget_bytes": setup.equal_bytes,
            "policies": policies,
        }

    def tables(self, summary: Mapping[str, Any]) -> list[Table]:
        """Return the whole, and its parts by context and form."""
        from confkv_agents.evaluation.bench.tables import needle_parts_table, needle_table

        return [needle_table(summary), needle_parts_table(summary)]

    def plot(self, summary: Mapping[str, Any], path: Path) -> None:
        """Draw a heat map per policy."""
        from confkv_agents.evaluation.bench.plots import needle_plot

        needle_plot(summary, path)

    def _ask(self, setup: Setup) -> Asker:
        if self._asker is None or self._asker.setup is not setup:
            self._asker = Asker(self._grid, setup)
        return self._asker


def share_recalled(rows: Sequence[Row]) -> float | None:
    """Return the share of decoding steps that read the cold tier, None if none was made."""
    steps = sum(row["steps"] for row in rows)
    return sum(row["recalled"] for row in rows) / steps if steps else None


def _where(rows: Sequence[Row], **wanted: Any) -> list[Row]:
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def _accuracy(rows: Sequence[Row]) -> dict[str, Any]:
    hits = sum(row["ok"] for row in rows)
    return {
        "cases": len(rows),
        "found": hits,
        "accuracy": hits / len(rows) if rows else None,
        "interval": wilson(hits, len(rows)),
    }
