"""Plain decoding for benchmarks: greedy, one row, the budget following confidence, the cache's figures noted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any

import torch

from confkv_agents.engine.loading import LoadedModel
from confkv_agents.engine.reading import again_if_unsure, feed


def step(model: Any, cache: Any, token: torch.Tensor) -> torch.Tensor:
    """Feed one token `[1, 1]`; returns the raw next-token logits `[1, V]`."""
    return feed(model, cache, {"input_ids": token})


@dataclass
class Computed:
    """Tokens that a model has computed: those fed, and those run only to look ahead or once more."""

    tokens: int = 0

    def take(self) -> int:
        """Return the tokens since the last call."""
        taken, self.tokens = self.tokens, 0
        return taken


@contextlib.contextmanager
def counting(model: torch.nn.Module) -> Iterator[Computed]:
    """Count the tokens of every forward inside."""
    found = Computed()

    def count(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        ids = kwargs["input_ids"] if "input_ids" in kwargs else args[0]
        found.tokens += int(ids.shape[-1])

    handle = model.register_forward_pre_hook(count, with_kwargs=True)
    try:
        yield found
    finally:
        handle.remove()


@dataclass
class Decoder:
    """Decodes with a cache and notes its figures at each step.

    Args:
        loaded: The model.
        cache: A `ConfKVCache` that has read the prompt.
        last: `[1, 1]`, the last token that it has read.
        constant: Confidence that the cache is told at every step in place of what the logits say, for a budget that
            does not follow the model; None follows it.
    """

    loaded: LoadedModel
    cache: Any
    last: torch.Tensor
    constant: float | None = None
    confidences: list[float] = field(default_factory=list)
    budgets: list[float] = field(default_factory=list)
    slots: list[float] = field(default_factory=list)
    kv_bytes: list[int] = field(default_factory=list)
    cold_bytes: int = 0

    def __post_init__(self) -> None:
        self._before = self.cache.recalled_steps, self.cache.decoded_steps

    def observe(self, logits: torch.Tensor) -> torch.Tensor:
        """Let the cache see a step's raw logits `[1, V]`; returns them, or those of the step computed again."""
        if self.constant is None:
            logits = again_if_unsure(self.loaded.model, self.cache, self.last, logits)
            self.confidences.append(float(self.cache.observe(logits)[0]))
        else:
            self.confidences.append(float(self.cache.observe_confidence([self.constant])[0]))
        return logits

    def feed(self, token: torch.Tensor) -> torch.Tensor:
        """Feed one token `[1, 1]`; returns raw logits `[1, V]`."""
        logits = step(self.loaded.model, self.cache, token)
        self.last = token
        usage = self.cache.usage()
        self.budgets.append(float(usage.budget))
        self.slots.append(float(usage.stored_slots))
        self.kv_bytes.append(usage.kv_bytes)
        self.cold_bytes = max(self.cold_bytes, usage.cold_bytes)
        return logits

    def figures(self) -> dict[str, Any]:
        """Return the figures over the steps so far.

        `budget` and `slots` are means in full-precision slots a layer, `held_kv_bytes` and `mean_kv_bytes` the most and
        the mean held while decoding, `cold_kv_bytes` the most in host memory, `recalled` of `steps` read it, and `fed`
        counts the tokens fed.
        """
        usage = self.cache.usage()
        return {
            "confidence": fmean(self.confidences) if self.confidences else 0.0,
            "budget": fmean(self.budgets) if self.budgets else float(usage.budget),
            "slots": fmean(self.slots) if self.slots else float(usage.stored_slots),
            "held_kv_bytes": max(self.kv_bytes, default=usage.kv_bytes),
            "mean_kv_bytes": fmean(self.kv_bytes) if self.kv_bytes else float(usage.kv_bytes),
            "cold_kv_bytes": max(self.cold_bytes, usage.cold_bytes),
            "recalled": self.cache.recalled_steps - self._before[0],
            "steps": self.cache.decoded_steps - self._before[1],
            "fed": len(self.budgets),
            "usage": asdict(usage),
        }


def answer(decoder: Decoder, logits: torch.Tensor, tokens: int) -> str:
    """Decode greedily to the end of the turn, or so many tokens.

    Args:
        decoder: What decodes, and keeps the figures.
        logits: `[1, V]` of the first token.
        tokens: Most tokens.

    Returns:
        The text.
    """
    loaded = decoder.loaded
    ids: list[int] = []
    for number in range(tokens):
        logits = decoder.observe(logits)
        token = int(logits.argmax(-1))
        if token in loaded.eos_ids:
            break
        ids.append(token)
        if number + 1 < tokens:
            logits = decoder.feed(torch.tensor([[token]], device=loaded.device))
    return str(loaded.tokenizer.decode(ids))
