"""Confidence of a next-token distribution, in [0, 1], from its raw logits.

Measures: entropy (1 - H / log V), max probability, margin (p1 - p2) and the mean of the three. All are computed in
fp32 from logits before temperature or truncation, so that sampling settings do not change the budget.
Source: CONF-KV, arXiv 2605.24786; the exact mixture there could not be checked, so each part is offered by name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from confkv_agents.cache.config import ConfidenceMeasure


def confidence(logits: torch.Tensor, measure: ConfidenceMeasure = "mean") -> torch.Tensor:
    """Return how sure the model is of its next token.

    Args:
        logits: `[B, V]` raw next-token logits; `-inf` entries count as impossible tokens.
        measure: Which measure to use.

    Returns:
        `[B]` fp32 values from 0 (uniform) to 1 (certain).
    """
    top = None
    log_probability = logits.float().log_softmax(-1)
    probability = log_probability.exp()
    parts = []
    if measure in ("entropy", "mean"):
        entropy = -(probability * log_probability.clamp_min(-1e4)).sum(-1)
        parts.append(1.0 - entropy / math.log(max(logits.shape[-1], 2)))
    if measure in ("max_probability", "margin", "mean"):
        top = probability.topk(min(2, logits.shape[-1]), dim=-1).values
    if top is not None and measure in ("max_probability", "mean"):
        parts.append(top[:, 0])
    if top is not None and measure in ("margin", "mean"):
        parts.append(top[:, 0] - top[:, 1] if top.shape[-1] > 1 else top[:, 0])
    return torch.stack(parts).mean(0).clamp(0.0, 1.0)


class Smoother:
    """Exponential smoothing of confidence, one state per row."""

    def __init__(self, weight: float) -> None:
        self.weight = weight
        self.values: list[float] = []

    def update(self, values: Sequence[float]) -> list[float]:
        """Take one step's raw confidence per row and return the smoothed one."""
        if len(self.values) != len(values):
            self.values = list(values)
        else:
            mixed = zip(self.values, values, strict=True)
            self.values = [self.weight * old + (1 - self.weight) * new for old, new in mixed]
        return list(self.values)

    def select(self, rows: Sequence[int]) -> None:
        """Keep the rows given, in that order (beam search, batch repeat)."""
        if self.values:
            self.values = [self.values[row] for row in rows]

    def reset(self) -> None:
        """Forget every row."""
        self.values = []
