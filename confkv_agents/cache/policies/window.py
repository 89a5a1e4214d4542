"""Sinks and a sliding window (StreamingLLM, arXiv 2309.17453)."""

from __future__ import annotations

import torch

from confkv_agents.cache.policies.base import Policy, SlotView


class Window(Policy):
    """Keeps the first tokens and the most recent ones, whatever they say."""

    name = "window"

    def score(self, slots: SlotView) -> torch.Tensor:
        """Rank by position: the oldest go first."""
        return slots.position.float()
