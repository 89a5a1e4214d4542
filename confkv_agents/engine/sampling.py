"""Choosing the next token: greedy, temperature, top-k, top-p, with the request's own generator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import torch

from confkv_agents.engine.constraint import Constraint
from confkv_agents.errors import ConfigError


@dataclass(frozen=True)
class SamplingConfig:
    """How the next token is chosen from raw logits.

    Attributes:
        temperature: 0 chooses the likeliest token; larger values flatten the distribution.
        top_k: Sample among this many likeliest tokens only; `None` or 0 is all.
        top_p: Sample among the fewest tokens whose probability reaches this; `None` or 1 is all (Holtzman et
            al., "The Curious Case of Neural Text Degeneration", 2020).
        seed: Seed of the request's own generator; `None` draws a fresh one. The global generator is never
            touched.
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        if not _is(self.temperature, Real) or not 0.0 <= self.temperature < float("inf"):
            raise ConfigError(f"temperature must be a finite number >= 0, got {self.temperature!r}")
        if self.top_k is not None and (not _is(self.top_k, Integral) or self.top_k < 0):
            raise ConfigError(f"top_k must be an integer >= 0 (0 or None is all tokens), got {self.top_k!r}")
        if self.top_p is not None and (not _is(self.top_p, Real) or not 0.0 < self.top_p <= 1.0):
            raise ConfigError(f"top_p must be a number in (0, 1], got {self.top_p!r}")
        if self.seed is not None and (not _is(self.seed, Integral) or not -(2**63) <= self.seed < 2**64):
            raise ConfigError(f"seed must be an integer of 64 bits, got {self.seed!r}")


@dataclass(frozen=True)
class Logprob:
    """Natural log of a token's probability under the raw logits.

    Attributes:
        token_id: The token.
        text: What it says by itself.
        logprob: The figure.
        top: The likeliest tokens in its place.
    """

    token_id: int
    text: str
    logprob: float
    top: tuple[Logprob, ...] = ()


class Sampler:
    """Chooses tokens for one request.

    Args:
        config: How to choose.
        constraint: What may be chosen; the caller tells it what was.
    """

    def __init__(self, config: SamplingConfig, constraint: Constraint | None = None):
        self.constraint = constraint
        self._config = config
        self._generator: torch.Generator | None = None

    def choose(self, logits: torch.Tensor) -> torch.Tensor:
        """Choose one token.

        Args:
            logits: Raw next-token logits, `[V]`; they stay as they are.

        Returns:
            The token's id, int64 `[]`, on the logits' device: bringing it to the host is the caller's business.
        """
        if self.constraint is not None:
            logits = self.constraint.mask(logits)
        if self._config.temperature == 0:
            return logits.argmax()
        if self._generator is None:
            self._generator = self._new_generator(logits.device)
        scores = logits.float()
        scores = (scores - scores.amax()) / self._config.temperature  # of no effect, but safe at the least temperature
        probabilities = scores.softmax(-1)
        order: torch.Tensor | None = None
        top_k, top_p = self._config.top_k, self._config.top_p
        if top_k and top_k < probabilities.shape[-1]:
            probabilities, order = probabilities.topk(top_k)
        elif top_p is not None and top_p < 1.0:
            probabilities, order = probabilities.sort(descending=True)
        if order is not None and top_p is not None and top_p < 1.0:
            probabilities = probabilities / probabilities.sum()
            before = probabilities.cumsum(-1) - probabilities
            probabilities = probabilities.masked_fill(before >= top_p, 0.0)
        drawn = torch.multinomial(probabilities, 1, generator=self._generator)
        return (drawn if order is None else order[drawn])[0]

    def _new_generator(self, device: torch.device) -> torch.Generator:
        generator = torch.Generator(device=device)
        if self._config.seed is None:
            generator.seed()
        else:
            generator.manual_seed(self._config.seed)
        return generator


def _is(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def logprob_of(logits: torch.Tensor, token_id: int, top: int, decode: Callable[[list[int]], str]) -> Logprob:
    """Log probability of a token, and the likeliest tokens with theirs.

    Args:
        logits: Raw next-token logits, `[V]`.
        token_id: The token.
        top: How many of the likeliest tokens to name.
        decode: Turns ids into text.
    """
    scores = logits.float().log_softmax(-1)
    best: tuple[Logprob, ...] = ()
    if top > 0:
        values, ids = scores.topk(min(top, scores.shape[-1]))
        best = tuple(
            Logprob(other, decode([other]), value) for other, value in zip(ids.tolist(), values.tolist(), strict=True)
        )
    return Logprob(token_id, decode([token_id]), float(scores[token_id].item()), best)
