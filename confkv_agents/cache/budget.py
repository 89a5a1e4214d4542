"""From confidence to slots: linear between two budgets, quick to grow, slow to shrink, shared over layers.

Source: CONF-KV, arXiv 2605.24786, for the confidence-driven budget; PyramidKV, arXiv 2406.02069, for the layer slope.
The budget decided from step t's logits holds for step t + 1: the distribution exists only after all layers ran.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from confkv_agents.cache.policies import Policy

Slots = npt.NDArray[np.int64]


def pyramid_shares(layers: int, slope: float) -> npt.NDArray[np.float64]:
    """Return `[layers]` factors with mean 1: `1 + slope` at the first layer down to `1 - slope` at the last."""
    if layers == 1:
        return np.ones(1)
    return 1.0 + slope * (1.0 - 2.0 * np.arange(layers) / (layers - 1))


def share_over_layers(total_per_layer: int, floor: int, layers: int, slope: float) -> Slots:
    """Share `layers * total_per_layer` slots so that each layer has its floor and the total is exact.

    Args:
        total_per_layer: Mean slots per layer.
        floor: Slots that no layer goes below.
        layers: Number of layers that share.
        slope: -1 to 1, positive favours shallow layers.

    Returns:
        `[layers]` slots, summing to `layers * total_per_layer`.
    """
    wanted = floor + (total_per_layer - floor) * pyramid_shares(layers, slope)
    slots = np.floor(wanted).astype(np.int64)
    missing = layers * total_per_layer - int(slots.sum())
    order = np.argsort(slots - wanted, kind="stable")
    slots[order[:missing]] += 1
    return slots


class BudgetSchedule:
    """Slots per layer and row, in full-precision equivalents, following each row's confidence."""

    def __init__(self, policy: Policy, layers: int) -> None:
        config = policy.config
        self.floor = policy.floor
        self.low, self.high = policy.min_budget, config.budget
        self.shrink, self.slope, self.layers = config.shrink, config.pyramid, layers
        self.means: list[int] = []
        self._shared: dict[int, Slots] = {}

    def start(self, rows: int) -> None:
        """Begin with the full budget for `rows` rows, as while a prompt is read."""
        self.means = [self.high] * rows

    def follow(self, confidence: Sequence[float]) -> None:
        """Move each row's budget to what its confidence asks for: up at once, down by at most `shrink`."""
        if len(self.means) != len(confidence):
            self.start(len(confidence))
        wanted = [round(self.high - c * (self.high - self.low)) for c in confidence]
        pairs = zip(wanted, self.means, strict=True)
        self.means = [max(want, mean - self.shrink) for want, mean in pairs]

    def slots(self) -> Slots:
        """Return `[layers, rows]` slots."""
        return np.stack([self._share(mean) for mean in self.means], axis=1)

    def select(self, rows: Sequence[int]) -> None:
        """Keep the rows given, in that order."""
        if self.means:
            self.means = [self.means[row] for row in rows]

    def _share(self, mean: int) -> Slots:
        if mean not in self._shared:
            self._shared[mean] = share_over_layers(mean, self.floor, self.layers, self.slope)
        return self._shared[mean]
