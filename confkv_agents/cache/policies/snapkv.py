"""What the end of the prompt looks at, in whole spans (SnapKV, arXiv 2404.14469), under a bound while reading."""

from __future__ import annotations

import torch

from confkv_agents.cache.policies.base import Policy, SlotView


class SnapKV(Policy):
    """Ranks the prompt once, by the attention of its own last tokens; what is generated stays as long as it can."""

    name = "snapkv"
    default_window = 32
    default_span = 7
    default_probe = 32

    def score(self, slots: SlotView) -> torch.Tensor:
        """Rank by the probe's weight; what came after it is above all else, and of that the oldest goes first."""
        assert slots.probe is not None
        return torch.where(slots.probe < 0, 1.0 + 1e-6 * slots.position, slots.probe)
