"""The way confidence reaches a cache inside `generate`: a logits processor that looks and changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import torch
from transformers import LogitsProcessor


class ConfidenceProcessor(LogitsProcessor):
    """Shows raw next-token logits to a cache's `observe`; user processors run before temperature and truncation."""

    def __init__(self, observe: Callable[[torch.Tensor], list[float]]) -> None:
        self.observe = observe

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Observe `scores [B, V]` and return them as they are."""
        self.observe(scores)
        return scores
