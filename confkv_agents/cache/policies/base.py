"""What a policy chooses: a budget, a protected window, tiers, and a score per stored token."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar

import torch

if TYPE_CHECKING:
    from confkv_agents.cache.config import CacheConfig, RecallMode

T = TypeVar("T")


@dataclass(frozen=True)
class SlotView:
    """What a score may look at; every tensor is `[L, B, Hkv, S]`, layers by rows by KV heads by slots.

    Attributes:
        position: Logical position of the token in each slot, -1 where the slot is empty.
        age: Queries that could have attended to the token, itself included, at least 1.
        counted: Where figures count in an average: a token is stored that is not a sink. Sinks draw most of the mass.
        mass: Attention mass as accumulated with the policy's decay, mean over the query group; None without mass.
        probe: Mean weight that the last lookahead probe gave, -1 for tokens that came later; None without probes.
        decoded: Tokens decoded since that probe.
    """

    position: torch.Tensor
    age: torch.Tensor
    counted: torch.Tensor
    mass: torch.Tensor | None
    probe: torch.Tensor | None
    decoded: int = 0


class Policy(ABC):
    """A policy: declarative fields plus one method, `score`.

    Attributes:
        bounded: False keeps every token.
        needs_mass: Whether attention must report column sums.
        normalized_mass: True weights each query by `1 - decay`, so that mass is an average; False sums.
    """

    name: ClassVar[str]
    bounded: ClassVar[bool] = True
    needs_mass: ClassVar[bool] = False
    normalized_mass: ClassVar[bool] = True
    default_window: ClassVar[int] = 64
    default_int8_share: ClassVar[float] = 0.0
    default_span: ClassVar[int] = 1
    default_own_share: ClassVar[float] = 1e-3  # decides among neighbours that share the same best
    default_decay: ClassVar[float] = 1.0
    default_probe: ClassVar[int] = 0
    default_recall: ClassVar[RecallMode] = "off"
    default_grace: ClassVar[int] = 0
    default_segments: ClassVar[bool] = False

    def __init__(self, config: CacheConfig) -> None:
        self.config = config
        self.window = self._default(config.window, self.default_window)
        self.int8_share = self._default(config.int8_share, self.default_int8_share)
        self.span = self._default(config.span, self.default_span)
        self.own_share = self._default(config.own_share, self.default_own_share)
        self.decay = self._default(config.decay, self.default_decay)
        self.probe = self._default(config.probe, self.default_probe)
        self.recall: RecallMode = self._default(config.recall, self.default_recall)
        self.grace = self._default(config.grace, self.default_grace)
        self.segments = self._default(config.segments, self.default_segments)
        self.min_budget = self._default(config.min_budget, config.budget)
        self.floor = config.sinks + self.window + 2

    @property
    def slack(self) -> int:
        """Slots freed ahead at an eviction while decoding, so that the next ones run without."""
        return max(1, min(self.config.evict_every, (self.min_budget - self.floor) // 4 + 1))

    @abstractmethod
    def score(self, slots: SlotView) -> torch.Tensor:
        """Return `[L, B, Hkv, S]` scores; the lowest go first. Empty and protected slots are handled by the caller."""

    @staticmethod
    def _default(value: T | None, default: T) -> T:
        return default if value is None else value
