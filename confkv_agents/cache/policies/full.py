"""Full KV: every token stays, in full precision."""

from __future__ import annotations

import torch

from confkv_agents.cache.policies.base import Policy, SlotView


class Full(Policy):
    """The reference that every other policy is measured against."""

    name = "full"
    bounded = False

    def score(self, slots: SlotView) -> torch.Tensor:
        """Never called for eviction; all tokens rank alike."""
        return torch.zeros_like(slots.age, dtype=torch.float32)
