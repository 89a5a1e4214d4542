"""The parts of the cache that an ablation switches: what varies, against what, and by which measure.

A new part is one function here with one line in `PARTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from confkv_agents.cache import CacheConfig
from confkv_agents.cache.budget import BudgetSchedule
from confkv_agents.cache.config import MEASURES
from confkv_agents.cache.policies import POLICIES
from confkv_agents.errors import ConfigError

PERPLEXITY, NEEDLE, LATER, AGENT = "perplexity", "needle", "later", "agent"
MEASURED = (PERPLEXITY, NEEDLE, LATER, AGENT)
Taken = Literal["slots", "recall_share"]


@dataclass(frozen=True)
class Variant:
    """One way to run the policy.

    Attributes:
        name: Shown beside its figures.
        label: Tells runs apart: variants with one label are one run.
        config: Of the cache.
        against: Label of the run that it is compared with; None for what others are compared with.
        leader: Label of the run whose mean of stored slots or share of recalled steps, item by item, it takes over.
        takes: Which of the two.
    """

    name: str
    label: str
    config: CacheConfig
    against: str | None = None
    leader: str | None = None
    takes: Taken | None = None


@dataclass(frozen=True)
class Part:
    """Variants that differ in one thing.

    Attributes:
        name: As in `--parts`.
        question: What the comparison answers, in a few words.
        variants: In the order shown.
        measures: What it is measured by unless asked otherwise, the first of them what it is about.
    """

    name: str
    question: str
    variants: tuple[Variant, ...]
    measures: tuple[str, ...]


@dataclass(frozen=True)
class Base:
    """The policy that is varied: its label and configuration."""

    label: str
    config: CacheConfig

    def variant(self, name: str, against: Variant | None = None, **changes: Any) -> Variant:
        """Return the base with other settings; settings that it has anyway are the base itself.

        Raises:
            ConfigError: The cache refuses the value.
        """
        policy = POLICIES[self.config.policy](self.config)
        differing = {
            name: value
            for name, value in changes.items()
            if value != getattr(self.config, name) and value != getattr(policy, name, None)
        }
        label = ":".join([self.label, *(f"{name}={value}" for name, value in differing.items())])
        config = replace(self.config, **differing)
        return Variant(name, label, config, None if against is None else against.label)


def _confidence(base: Base) -> list[Variant]:
    own = base.variant("follows confidence")
    fixed = _at_its_mean("confidence", own, "fixed, same mean")
    most = base.variant(f"fixed, {base.config.budget}", fixed, min_budget=base.config.budget)
    return [replace(own, against=fixed.label), fixed, most]


def _measures(base: Base) -> list[Variant]:
    found = []
    for measure in MEASURES:
        own = base.variant(measure, confidence=measure)
        fixed = _at_its_mean("measures", own, "  fixed, same mean")
        found += [replace(own, against=fixed.label), fixed]
    return found


def _pyramid(base: Base) -> list[Variant]:
    level = base.variant("0", pyramid=0.0)
    named = {-1.0: "-1 (deep layers)", -0.5: "-0.5", 0.5: "0.5", 1.0: "1 (shallow layers)"}
    others = [base.variant(name, level, pyramid=slope) for slope, name in named.items()]
    return [*others[:2], level, *others[2:]]


def _switch(on: dict[str, Any], off: dict[str, Any]) -> Callable[[Base], list[Variant]]:
    def variants(base: Base) -> list[Variant]:
        without = base.variant("off", **off)
        return [base.variant("on", without, **on), without]

    return variants


def _choice(setting: str, values: Sequence[Any]) -> Callable[[Base], list[Variant]]:
    """Compare every value with the first."""

    def variants(base: Base) -> list[Variant]:
        first = base.variant(str(values[0]), **{setting: values[0]})
        return [first, *(base.variant(str(value), first, **{setting: value}) for value in values[1:])]

    return variants


def _recalling(part: str, base: Base) -> Base:
    if base.label.partition(":")[0].endswith("+recall"):
        return base
    name, colon, settings = base.label.partition(":")
    if f"{name}+recall" not in POLICIES:
        raise ConfigError(f"--parts {part}: policy {name!r} has no form that recalls; ablate confkv")
    return Base(f"{name}+recall{colon}{settings}", replace(base.config, policy=f"{name}+recall"))


def _recall(base: Base) -> list[Variant]:
    recalling = _recalling("recall", base)
    off = recalling.variant("off", recall="off") if recalling is base else base.variant("off")
    gated = recalling.variant("gated", off, recall="gated")
    others = [recalling.variant(f"{mode}, same share", off, recall=mode) for mode in ("steady", "random")]
    others = [
        replace(each, label=f"{each.label}:as gated", leader=gated.label, takes="recall_share") for each in others
    ]
    return [off, gated, *others, recalling.variant("always", off, recall="always")]


def _again(base: Base) -> list[Variant]:
    recalling = _recalling("again", base)
    later = recalling.variant("the next step", recall="gated", recall_again=False)
    return [recalling.variant("the step again", later, recall="gated", recall_again=True), later]


def _at_its_mean(part: str, own: Variant, name: str) -> Variant:
    """Return the same run with a budget that stays where it stores in the mean what the other did while decoding."""
    low = POLICIES[own.config.policy](own.config).min_budget
    if low == own.config.budget:
        raise ConfigError(
            f"--parts {part}: the budget of {own.label!r} does not follow confidence (min_budget is {low}, like "
            "budget), so there is no mean to fix it at; pass a smaller min_budget or leave the part out"
        )
    if POLICIES[own.config.policy](own.config).recall != "off":
        raise ConfigError(
            f"--parts {part}: {own.label!r} recalls by confidence, which a fixed budget cannot be told apart from; "
            "pass --policies confkv"
        )
    return Variant(name, f"{own.label}:at its mean", own.config, leader=own.label, takes="slots")


_BOTH = (PERPLEXITY, NEEDLE)
PARTS: dict[str, tuple[str, Callable[[Base], list[Variant]], tuple[str, ...]]] = {
    "confidence": ("a budget that follows confidence against a fixed one of equal mean", _confidence, (PERPLEXITY,)),
    "measures": ("each measure of confidence against a fixed budget of its own mean", _measures, (PERPLEXITY,)),
    "pyramid": ("slots moved between layers, same total", _pyramid, _BOTH),
    "int8": ("the int8 tier, same bytes", _switch({}, {"int8_share": 0.0}), _BOTH),
    "probe": ("the end of the prompt looks at each chunk", _switch({}, {"probe": 0}), (NEEDLE, PERPLEXITY)),
    "span": ("neighbours that survive together", _choice("span", (1, 7, 21)), (NEEDLE, PERPLEXITY)),
    "grace": ("newcomers count as the average token", _switch({}, {"grace": 0}), _BOTH),
    "group": ("query heads of a KV head together", _choice("group", ("mean", "max")), _BOTH),
    "recall": ("unsure steps look at evicted tokens", _recall, (LATER, PERPLEXITY)),
    "again": ("an unsure step computed again, or the next one opened", _again, (LATER, PERPLEXITY)),
    "segments": (
        "the cache is told what its tokens are",
        _switch({"segments": True}, {"segments": False}),
        (AGENT,),
    ),
}


def make_part(name: str, base: Base) -> Part:
    """Return a part of the policy given.

    Raises:
        ConfigError: There is no such part, or nothing of it to compare in this policy.
    """
    if name not in PARTS:
        raise ConfigError(f"--parts names {name!r}; choose from {', '.join(PARTS)}")
    question, make, measures = PARTS[name]
    variants = make(base)
    labels = [variant.label for variant in variants]
    if len(set(labels)) < len(labels):
        raise ConfigError(
            f"--parts {name}: {base.label!r} has the part switched off or set already; leave it out there"
        )
    return Part(name, question, tuple(variants), measures)


def constant_confidence(config: CacheConfig, mean: float, steps: int) -> float:
    """Return the confidence that, told at every step, makes a run store the mean number of slots wanted.

    A budget that grows stays unfilled until new tokens come, so two runs of equal mean budget do not store alike; what
    they store is what they cost. A run at rest holds its budget less what an eviction frees ahead, half of that in the
    mean. The budget starts where reading leaves it and shrinks no faster than `config.shrink`, as for any other run.

    Args:
        config: Of a policy whose budget follows confidence.
        mean: Mean of stored slots, full-precision equivalents.
        steps: Decoding steps, at least 1.
    """
    policy = POLICIES[config.policy](config)
    low, high = policy.min_budget, config.budget
    mean += policy.slack / 2

    def confidence_of(level: int) -> float:
        return (high - level) / (high - low)

    def mean_of(level: int) -> float:
        schedule = BudgetSchedule(policy, 1)
        schedule.start(1)
        total = 0
        for _ in range(steps):
            schedule.follow([confidence_of(level)])
            total += schedule.means[0]
        return total / steps

    lowest, highest = low, high
    while lowest < highest:  # the mean grows with the level
        middle = (lowest + highest) // 2
        if mean_of(middle) < mean:
            lowest = middle + 1
        else:
            highest = middle
    best = min((level for level in (lowest - 1, lowest) if level >= low), key=lambda level: abs(mean_of(level) - mean))
    return confidence_of(best)
