"""Intervals: Wilson's for a share of successes, the percentile bootstrap for anything else."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Z_95 = 1.959963984540054


def wilson(successes: float, trials: int, z: float = Z_95) -> tuple[float, float]:
    """Return Wilson's score interval of a share (Wilson, 1927), 95 % by default.

    Args:
        successes: How many of the trials succeeded; a fraction where a trial is a mean of several.
        trials: How many there were; the interval of none is (0, 1).
        z: Quantile of the normal distribution.
    """
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes of {trials} trials cannot be")
    if trials == 0:
        return 0.0, 1.0
    share = successes / trials
    scale = 1 + z * z / trials
    middle = (share + z * z / (2 * trials)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    low = 0.0 if successes == 0 else middle - half
    high = 1.0 if successes == trials else middle + half
    return max(0.0, low), min(1.0, high)


def wilson_of_groups(
    outcomes: Sequence[float] | npt.NDArray[Any], groups: Sequence[Hashable] | None = None
) -> tuple[float, float]:
    """Return Wilson's interval of a share where outcomes of one group say no more than one outcome does.

    Args:
        outcomes: 0 or 1 each.
        groups: What each outcome belongs to; the share is taken as that of so many trials as there are groups. None:
            each is a trial.
    """
    values = np.asarray(outcomes, dtype=np.float64)
    trials = len(values) if groups is None else len(set(groups))
    if trials == len(values):
        return wilson(float(values.sum()), trials)
    return wilson(float(values.mean()) * trials, trials)


def bootstrap(
    blocks: Sequence[Sequence[float]] | Array,
    statistic: Callable[[Array], float],
    *,
    groups: Sequence[Hashable] | None = None,
    seed: int = 0,
    samples: int = 2000,
    level: float = 0.95,
) -> tuple[float, float] | None:
    """Return the percentile interval of a statistic over resampled blocks (Efron, 1979).

    Args:
        blocks: `[n, k]`, one row per block, such as a case or a stretch of tokens.
        statistic: Of `[n, k]` rows; a sample for which it is not finite is left out.
        groups: What each block belongs to, `n` of them: groups are resampled, each with all its blocks (the cluster
            bootstrap, Davison and Hinkley 1997, section 3.8). None: blocks are independent of each other.
        seed: Of the resampling.
        samples: How often to resample.
        level: Share of the samples inside.

    Returns:
        Low and high, or None if there are fewer than two blocks (or groups), or no sample has a finite statistic.
    """
    table = np.asarray(blocks, dtype=np.float64)
    members = _members(groups, len(table))
    if table.ndim != 2 or len(members) < 2:
        return None
    generator = np.random.default_rng(seed)
    chosen = generator.integers(0, len(members), size=(samples, len(members)))
    values = np.array([statistic(table[np.concatenate([members[place] for place in places])]) for places in chosen])
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def _members(groups: Sequence[Hashable] | None, count: int) -> list[npt.NDArray[np.int64]]:
    """Places of the blocks of each group, groups in order of their first block."""
    if groups is None:
        return list(np.arange(count).reshape(-1, 1))
    if len(groups) != count:
        raise ValueError(f"{len(groups)} groups are given for {count} blocks")
    found: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        found.setdefault(group, []).append(place)
    return [np.array(places) for places in found.values()]


def retention(pairs: Array) -> float:
    """Return a policy's score over full KV's on the same cases, NaN if that is 0; `pairs [n, 2]`, policy first."""
    reference = float(pairs[:, 1].sum())
    return float(pairs[:, 0].sum()) / reference if reference else math.nan


def retention_interval(
    pairs: Array, seed: int = 0, groups: Sequence[Hashable] | None = None
) -> tuple[float, float] | None:
    """Return a 95 % interval of `retention`: the bootstrap's and Wilson's together, whichever reaches further.

    The bootstrap knows that a policy may find what full KV does not, but takes a few cases that all agree for certain;
    Wilson's is of the cases that full KV found, how many the policy found too. With `groups`, both are over groups of
    cases.
    """
    found = pairs[:, 1] > 0
    if not found.any():
        return None
    of_found = None if groups is None else [groups[int(place)] for place in np.flatnonzero(found)]
    low, high = wilson_of_groups(pairs[found, 0], of_found)
    sampled = bootstrap(pairs, retention, groups=groups, seed=seed) or (low, high)
    return min(low, sampled[0]), max(high, sampled[1])


def paired_share_interval(pairs: Array, seed: int = 0, groups: Sequence[Hashable] | None = None) -> tuple[float, float]:
    """Return a 95 % interval of the difference of two shares over the same cases; `pairs [n, 2]` of 0 and 1.

    It is the wider of the bootstrap over cases and of Wilson's intervals of gains and losses taken together (the method
    of variance estimates recovery, Zou and Donner 2008): where few cases differ, the bootstrap alone is a point. With
    `groups`, both are over groups of cases.
    """
    gained, lost = pairs[:, 0] > pairs[:, 1], pairs[:, 0] < pairs[:, 1]
    gain, loss = float(gained.mean()), float(lost.mean())
    (gain_low, gain_high), (loss_low, loss_high) = wilson_of_groups(gained, groups), wilson_of_groups(lost, groups)
    low = gain - loss - math.hypot(gain - gain_low, loss_high - loss)
    high = gain - loss + math.hypot(gain_high - gain, loss - loss_low)
    sampled = bootstrap(pairs, lambda rows: float((rows[:, 0] - rows[:, 1]).mean()), groups=groups, seed=seed) or (
        low,
        high,
    )
    return max(-1.0, min(low, sampled[0])), min(1.0, max(high, sampled[1]))


def perplexity(sums: Array) -> float:
    """Return the perplexity of blocks `[n, 2]`: negative log likelihood in nats, tokens."""
    return math.exp(float(sums[:, 0].sum()) / float(sums[:, 1].sum()))


def perplexity_difference(sums: Array) -> float:
    """Return perplexity minus the reference's; `sums` is `[n, 3]`: nats, the reference's nats, tokens."""
    return perplexity(sums[:, [0, 2]]) - perplexity(sums[:, [1, 2]])


def median(values: Sequence[float]) -> float:
    """Return the median, NaN of nothing."""
    return float(np.median(values)) if len(values) else math.nan
