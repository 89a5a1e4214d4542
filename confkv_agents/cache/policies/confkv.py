"""CONF-KV: confidence-driven budget, age-corrected attention mass with recency, an int8 tier (arXiv 2605.24786).

`confkv+recall` adds to it a cold tier that some steps look at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch

from confkv_agents.cache.policies.base import Policy, SlotView

if TYPE_CHECKING:
    from confkv_agents.cache.config import CacheConfig, RecallMode

import os

MODE = os.environ.get("MODE", "score")
PROBE_HALF_LIFE = 128  # decoded tokens


class ConfKV(Policy):
    """Keeps more when the model is unsure, and the less important in int8."""

    name = "confkv"
    needs_mass = True
    default_int8_share = 0.8
    default_span = 21
    default_own_share = 0.2
    default_decay = 0.99
    default_probe = 32
    default_grace = 16
    default_segments = True

    def __init__(self, config: CacheConfig) -> None:
        super().__init__(config)
        self.recency = self._default(config.recency, 0.1)
        if config.min_budget is None:
            self.min_budget = max(config.budget * 3 // 4, min(config.budget, self.floor))

    def score(self, slots: SlotView) -> torch.Tensor:
        """Rank by mean attention per query, corrected for age, plus what a lookahead probe gave, blended with recency.

        An exponential average that started at zero has seen only `1 - decay ** age` of its weight; dividing by that
        makes tokens of different ages comparable. Figures are scaled by their mean over the row so that the blend means
        the same at any context length.
        """
        assert slots.mass is not None
        age = slots.age.float()
        mass = slots.mass / (1.0 - self.decay**age) if self.decay < 1.0 else slots.mass / age
        rank = mass / self._mean(mass, slots.counted)
        if slots.probe is not None:
            known = slots.probe >= 0
            probe = slots.probe / self._mean(slots.probe, known & slots.counted)
            # What came after the probe counts as the average token: a zero would send the newest text away first.
            # The question that it knew fades as the answer goes on.
            weight = self.config.probe_weight * 0.5 ** (slots.decoded / PROBE_HALF_LIFE)
            rank = rank + weight * torch.where(known, probe, 1.0)
        if self.grace:
            rank = torch.where(slots.age <= self.window + self.grace, rank.clamp_min(1.0), rank)
        recency = torch.exp2(-age / self.config.half_life)
        return (1.0 - self.recency) * rank + self.recency * recency

    @staticmethod
    def _mean(figure: torch.Tensor, counted: torch.Tensor) -> torch.Tensor:
        """Return the mean over a row's slots that count, `[L, B, Hkv, 1]`, never zero."""
        total = (figure * counted).sum(-1, keepdim=True)
        return (total / counted.sum(-1, keepdim=True).clamp_min(1)).clamp_min(1e-12)


class ConfKVRecall(ConfKV):
    """What was evicted stays in host memory, and a share of the steps looks there too."""

    name = "confkv+recall"
    default_recall: ClassVar[RecallMode] = "steady"
