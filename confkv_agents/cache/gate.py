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
        mode: "off", "gated", "steady" (at even distances), "random" or "always"; chance is seeded alike in every cache.
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
        if self.mode == "steady":
            self.steps += 1
            due = int(self.steps * self.share) > int((self.steps - 1) * self.share)
            return [due] * len(confidence)
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


class Recalls:
    """When a cache looks at its cold tier: what the gate says of each step, kept for the forward that it is about.

    Args:
        config: The cache's configuration.
        mode: The gate's mode.

    Attributes:
        gate: Decides.
        decoded: Decoding steps decided on.
        recalled: How many of those look, in any row.
        asked: The step just computed is to be computed again.
    """

    def __init__(self, config: CacheConfig, mode: str) -> None:
        self.gate = RecallGate(config, mode)
        self.decoded = self.recalled = 0
        self.asked = False
        self._rows: list[bool] = []
        self._next_forward = self._decided = False

    def next_forward(self) -> None:
        """Let all rows of the next forward look, whatever its length."""
        self._next_forward = self.gate.mode != "off"

    def take(self, rows: int, length: int) -> list[bool]:
        """Return which of `rows` look in the forward of `length` tokens that begins now."""
        chosen = [True] * rows if self._next_forward else self._rows if length == 1 else []
        self._rows, self._next_forward, self.asked = [], False, False
        return chosen

    def ask(self, values: Sequence[float]) -> bool:
        """Decide on the step just computed, `values` being its raw confidence by row; says whether any row looks."""
        self._decide(values)
        self._decided, self.asked = True, any(self._rows)
        return self.asked

    def observed(self, values: Sequence[float], mirrored: bool) -> None:
        """Decide on the next step, unless this one was decided on by itself; `mirrored` if there is anything to see."""
        if not self._decided and mirrored:
            self._decide(values)
        elif not self._decided:
            self.decoded += 1
        self._decided = False

    def _decide(self, values: Sequence[float]) -> None:
        self._rows = self.gate.decide(values)
        self.decoded += 1
        self.recalled += any(self._rows)

    def state(self) -> dict[str, Any]:
        """Return what `restore` takes."""
        return {**self.gate.state(), "decoded": self.decoded, "recalled": self.recalled}

    def restore(self, values: dict[str, Any]) -> None:
        """Go on where `state` was taken."""
        self.gate.restore(values)
        self.decoded, self.recalled = int(values["decoded"]), int(values["recalled"])
