"""Heavy hitters by accumulated attention, half of the budget recent (H2O, arXiv 2306.14048)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from confkv_agents.cache.policies.base import Policy, SlotView

if TYPE_CHECKING:
    from confkv_agents.cache.config import CacheConfig


class H2O(Policy):
    """Keeps what drew the most attention in all, beside a recent window of half the budget."""

    name = "h2o"
    needs_mass = True
    normalized_mass = False

    def __init__(self, config: CacheConfig) -> None:
        self.default_window = max(1, config.budget // 2)  # type: ignore[misc]
        super().__init__(config)

    def score(self, slots: SlotView) -> torch.Tensor:
        """Rank by the plain sum of attention received."""
        assert slots.mass is not None
        return slots.mass
