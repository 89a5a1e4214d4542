"""What a cache is asked to do: one frozen, validated record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from confkv_agents.errors import ConfigError

ConfidenceMeasure = Literal["entropy", "max_probability", "margin", "mean"]
MEASURES: tuple[ConfidenceMeasure, ...] = ("entropy", "max_probability", "margin", "mean")
RecallMode = Literal["off", "gated", "steady", "random", "always"]
RECALL_MODES: tuple[RecallMode, ...] = ("off", "gated", "steady", "random", "always")


@dataclass(frozen=True, kw_only=True)
class CacheConfig:
    """Configuration of a `ConfKVCache`.

    Budgets are slots per layer in full-precision equivalents: an int8 token costs its bytes' share of a slot, so the
    same budget is the same number of bytes whatever the tiers. A field that is None takes the policy's own default,
    which is how a single part is switched on or off for an ablation.

    Attributes:
        policy: Name of the policy: "full", "window", "h2o", "snapkv", "confkv" or "confkv+recall" (see `policies`).
        budget: Slots per layer when the model is unsure; also the budget while a prompt is read.
        min_budget: Slots per layer when the model is sure. Default: three quarters of `budget` for confkv, `budget`
            otherwise.
        sinks: First real tokens that are never evicted.
        window: Most recent tokens that are never evicted. Default: 64, for h2o half of the budget.
        chunk: Most tokens that one reading step may add before eviction runs, in tokens.
        int8_share: Share of the evictable budget spent on the int8 tier, 0 to 1 (0 turns the tier off).
        pyramid: -1 to 1; positive moves slots from deep to shallow layers, negative the other way, same total.
        confidence: Measure that turns next-token logits into confidence.
        smoothing: Weight of the previous confidence in the smoothed one, 0 (none) to below 1.
        shrink: Most slots a budget may lose per step; it grows at once.
        decay: Factor by which attention mass fades per query, above 0 to 1 (1 accumulates for ever).
        recency: Weight of recency against attention mass in the rank, 0 to 1.
        half_life: Tokens after which the recency part of a rank has halved.
        span: Neighbouring stored tokens whose best rank a token shares, odd; 1 turns pooling off.
        own_share: Weight of a token's own rank against the best of its span, 0 to 1. Default: 0.2 for confkv, next to
            nothing otherwise.
        probe: Tokens from the end of a prompt that look ahead at each chunk read before eviction decides; 0 turns
            lookahead off.
        probe_weight: Weight of the probe against attention mass in the rank, at least 0.
        evict_every: Steps between two evictions while decoding; the budget is kept by evicting that many ahead.
        recall: Which decoding steps attend to the cold tier too, where all tokens lie as int8 codes in host memory:
            "off" (no cold tier), "gated" (the unsure ones), "steady" (at even distances), "random", "always".
            Default: "steady" for confkv+recall, "off" otherwise.
        recall_share: Share of decoding steps that "gated", "steady" and "random" aim for, 0 to 1.
        recall_again: With "gated": whether a caller that can should compute an unsure step again with the cold tier
            open; if not, it is open for the next step.
        promote: Most tokens per layer and KV head that one recall brings back to the hot tiers.
        grace: Newest tokens after the window that rank at least as the average token.
        segments: Whether ranks follow what the session says of its tokens (see `ConfKVCache.segment`). Default: yes
            for confkv, no otherwise.
        image_floor: Tokens per picture, layer and KV head that leave after everything else, with segments.
        group: How the mass of the query heads that share a KV head becomes one figure: "mean" or "max".
    """

    policy: str = "confkv"
    budget: int = 512
    min_budget: int | None = None
    sinks: int = 4
    window: int | None = None
    chunk: int = 256
    int8_share: float | None = None
    pyramid: float = 0.0
    confidence: ConfidenceMeasure = "mean"
    smoothing: float = 0.5
    shrink: int = 1
    decay: float | None = None
    recency: float | None = None
    half_life: int = 512
    span: int | None = None
    own_share: float | None = None
    probe: int | None = None
    probe_weight: float = 1.0
    evict_every: int = 16
    recall: RecallMode | None = None
    recall_share: float = 0.25
    recall_again: bool = True
    promote: int = 64
    grace: int | None = None
    segments: bool | None = None
    image_floor: int = 8
    group: Literal["mean", "max"] = "mean"

    def __post_init__(self) -> None:
        """Refuse values that no policy could honour."""
        from confkv_agents.cache.policies import POLICIES

        if not isinstance(self.policy, str) or self.policy not in POLICIES:
            raise ConfigError(f"policy {self.policy!r} is unknown; choose one of {', '.join(sorted(POLICIES))}")
        self._at_least("budget", self.budget, 1)
        self._at_least("sinks", self.sinks, 0)
        self._at_least("window", self.window, 1)
        self._at_least("chunk", self.chunk, 1)
        self._at_least("shrink", self.shrink, 1)
        self._at_least("half_life", self.half_life, 1)
        self._at_least("evict_every", self.evict_every, 1)
        self._at_least("probe", self.probe, 0)
        self._at_least("promote", self.promote, 1)
        self._at_least("grace", self.grace, 0)
        self._at_least("image_floor", self.image_floor, 0)
        self._within("recall_share", self.recall_share, 0.0, 1.0)
        self._within("probe_weight", self.probe_weight, 0.0, 1e6)
        self._within("int8_share", self.int8_share, 0.0, 1.0)
        self._within("pyramid", self.pyramid, -1.0, 1.0)
        self._within("recency", self.recency, 0.0, 1.0)
        self._within("own_share", self.own_share, 0.0, 1.0)
        self._within("smoothing", self.smoothing, 0.0, 0.999)
        self._within("decay", self.decay, 1e-3, 1.0)
        if not isinstance(self.confidence, str) or self.confidence not in MEASURES:
            raise ConfigError(f"confidence {self.confidence!r} is unknown; choose one of {', '.join(MEASURES)}")
        if self.recall is not None and self.recall not in RECALL_MODES:
            raise ConfigError(f"recall {self.recall!r} is unknown; choose one of {', '.join(RECALL_MODES)}")
        if self.group not in ("mean", "max"):
            raise ConfigError(f"group {self.group!r} is unknown; choose mean or max")
        for name in ("recall_again", "segments"):
            value = getattr(self, name)
            if not isinstance(value, bool) and (value is not None or name == "recall_again"):
                raise ConfigError(f"{name} is {value!r}; pass True or False")
        self._at_least("span", self.span, 1)
        if self.span is not None and self.span % 2 == 0:
            raise ConfigError(f"span is {self.span}; pass an odd number of tokens such as 1, 7 or 21")
        policy = POLICIES[self.policy](self)
        if policy.bounded:
            self._check_budgets(policy.window, policy.min_budget)
        if policy.recall != "off" and not (policy.bounded and policy.needs_mass and policy.int8_share > 0):
            raise ConfigError(
                f"recall={policy.recall} with policy {self.policy!r} and int8_share {policy.int8_share:g}: what is "
                "recalled is chosen by attention mass and comes back as int8 codes; use policy confkv with int8_share "
                "above 0, or recall=off"
            )

    def _check_budgets(self, window: int, min_budget: int) -> None:
        floor = self.sinks + window + 2
        if min_budget > self.budget:
            raise ConfigError(f"min_budget is {min_budget}, above budget {self.budget}; pass a smaller min_budget")
        if min_budget < floor:
            name = "budget" if self.min_budget is None else "min_budget"
            need = floor if min_budget == self.budget or self.min_budget is not None else 2 * floor
            raise ConfigError(
                f"{name} leaves {min_budget} slots, below the floor of {floor} "
                f"(sinks {self.sinks} + window {window} + 2); pass {name}={need} or more, or a smaller window"
            )

    @staticmethod
    def _at_least(name: str, value: int | None, low: int) -> None:
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < low):
            raise ConfigError(f"{name} is {value!r}; pass an integer of at least {low}")

    @staticmethod
    def _within(name: str, value: float | None, low: float, high: float) -> None:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (number and low <= value <= high):
            raise ConfigError(f"{name} is {value!r}; pass a number from {low:g} to {high:g}")
