"""Which decoding steps recall: those whose confidence lies below a threshold that keeps their share at a target.

The threshold follows the confidences it sees (a quantile estimated by stochastic approximation: it moves up by
`rate * share` after a step that did not recall and down by `rate * (1 - share)` after one that did), so that no model
needs tuning by hand. It starts where a distribution stops being settled, and moves fast at first.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from confkv_agents.cache.config import CacheConfig

START = 0.8
SLOWEST = 0.02


class RecallGate:
    """Decides for each row and step.

    Args:
        config: `recall_share` is used.
        mode: "off", "gated", "random" or "always"; chance is seeded alike in every cache.
    """

    def __init__(self, config: CacheConfig, mode: str) -> None:
        self.mode, self.share = mode, config.recall_share
        self.thresholds: list[float] = []
        self.steps = 0
        self._chance = random.Random(0)

    def decide(self, confidence: Sequence[float]) -> list[bool]:
        """Return which rows recall, given their raw confidence in [0, 1]."""
        if self.mode == "off":
            return [False] * len(confidence)
        if self.mode == "always":
            return [True] * len(confidence)
        if self.mode == "random":
            return [self._chance.random() < self.share for _ in confidence]
        if len(self.thresholds) != len(confidence):
            self.thresholds, self.steps = [START] * len(confidence), 0
        chosen = [value < limit for value, limit in zip(confidence, self.thresholds, strict=True)]
        rate = max(SLOWEST, 0.5 / (self.steps + 5))
        moved = zip(self.thresholds, chosen, strict=True)
        self.thresholds = [min(1.0, max(0.0, limit + rate * (self.share - hit))) for limit, hit in moved]
        self.steps += 1
        return chosen

    def select(self, rows: Sequence[int]) -> None:
        """Keep the rows given, in that order."""
        if self.thresholds:
            self.thresholds = [self.thresholds[row] for row in rows]

    def state(self) -> dict[str, Any]:
        """Return what `restore` takes."""
        version, numbers, extra = self._chance.getstate()
        return {"thresholds": self.thresholds, "steps": self.steps, "chance": [version, list(numbers), extra]}

    def restore(self, values: dict[str, Any]) -> None:
        """Go on where `state` was taken."""
        self.thresholds, self.steps = list(values["thresholds"]), int(values["steps"])
        version, numbers, extra = values["chance"]
        self._chance.setstate((version, tuple(numbers), extra))
