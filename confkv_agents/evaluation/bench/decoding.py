"""Plain decoding for benchmarks: greedy, one row, the budget following confidence."""

from __future__ import annotations

from typing import Any

import torch

from confkv_agents.engine.loading import LoadedModel


def step(model: Any, cache: Any, token: torch.Tensor) -> torch.Tensor:
    """Feed one token `[1, 1]`; returns the raw next-token logits `[1, V]`."""
    output = model(input_ids=token, cache=cache, use_cache=True, logits_to_keep=1)
    logits: torch.Tensor = output.logits[:, -1]
    return logits


def answer(loaded: LoadedModel, cache: Any, logits: torch.Tensor, tokens: int) -> tuple[str, list[float], list[float]]:
    """Decode greedily to the end of the turn, or so many tokens.

    Args:
        loaded: The model.
        cache: A `ConfKVCache` that has read the prompt.
        logits: `[1, V]` of the first token.
        tokens: Most tokens.

    Returns:
        The text, and each step's smoothed confidence and mean budget in slots.
    """
    ids: list[int] = []
    confidences, budgets = [], []
    for number in range(tokens):
        confidences.append(float(cache.observe(logits)[0]))
        token = int(logits.argmax(-1))
        if token in loaded.eos_ids:
            break
        ids.append(token)
        if number + 1 == tokens:
            break
        logits = step(loaded.model, cache, torch.tensor([[token]], device=loaded.device))
        budgets.append(float(cache.usage().budget))
    return str(loaded.tokenizer.decode(ids)), confidences, budgets
