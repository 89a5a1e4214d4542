"""Intervals against values computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confkv_agents.evaluation.bench.statistics import (
    bootstrap,
    median,
    perplexity,
    perplexity_difference,
    retention,
    retention_interval,
    wilson,
    wilson_of_groups,
)


def test_wilson_of_eight_of_ten() -> None:
    # z = 1.96: centre (0.8 + 0.19208) / 1.38416 = 0.71674, half width 1.96 / 1.38416 * sqrt(0.016 + 0.009604) = 0.22658
    low, high = wilson(8, 10, z=1.96)
    assert low == pytest.approx(0.49016, abs=1e-4)
    assert high == pytest.approx(0.94332, abs=1e-4)


def test_wilson_of_all_and_none_keeps_the_bound_and_stays_open_at_the_other() -> None:
    low, high = wilson(8, 8, z=2.0)
    assert (low, high) == (pytest.approx(8 / 12), 1.0)  # n / (n + z^2)
    assert wilson(0, 8, z=2.0) == (0.0, pytest.approx(4 / 12))
    assert wilson(0, 0) == (0.0, 1.0)


def test_wilson_refuses_more_successes_than_trials() -> None:
    with pytest.raises(ValueError, match="3 successes of 2 trials"):
        wilson(3, 2)


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share(pair: tuple[int, int]) -> None:
    low, high = wilson(*pair)
    assert 0.0 <= low <= pair[0] / pair[1] <= high <= 1.0


def test_bootstrap_of_equal_blocks_is_a_point() -> None:
    blocks = [[2.0, 1.0]] * 5
    assert bootstrap(blocks, lambda rows: float(rows[:, 0].sum() / rows[:, 1].sum())) == (2.0, 2.0)


def test_bootstrap_of_a_mean_matches_its_standard_error() -> None:
    values = np.random.default_rng(1).normal(5.0, 2.0, size=(400, 1))
    low, high = bootstrap(values, lambda rows: float(rows.mean()), seed=3, samples=4000) or (0.0, 0.0)
    half = 1.96 * values.std() / math.sqrt(400)
    assert low == pytest.approx(values.mean() - half, abs=0.02)
    assert high == pytest.approx(values.mean() + half, abs=0.02)
    assert bootstrap(values, lambda rows: float(rows.mean()), seed=3, samples=4000) == (low, high)


def test_bootstrap_of_one_block_or_of_nothing_finite_is_none() -> None:
    assert bootstrap([[1.0]], lambda rows: float(rows.mean())) is None
    assert bootstrap([[1.0], [2.0]], lambda rows: math.nan) is None


def test_groups_are_resampled_with_all_their_blocks() -> None:
    # Of two draws out of the groups a (0, 0) and b (1): a a with mean 0 (1 in 4), a b with 1/3 (2 in 4), b b with 1.
    blocks, groups = [[0.0], [0.0], [1.0]], ["a", "a", "b"]

    def mean(rows: np.ndarray) -> float:
        return float(rows.mean())

    assert bootstrap(blocks, mean, groups=groups) == (0.0, 1.0)
    assert bootstrap(blocks, mean, groups=groups, level=0.4) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert bootstrap(blocks, mean, groups=["a"] * 3) is None
    assert bootstrap(blocks, mean, groups=["a", "b", "c"]) == bootstrap(blocks, mean)
    with pytest.raises(ValueError, match="2 groups are given for 3 blocks"):
        bootstrap(blocks, mean, groups=["a", "b"])


def test_a_share_of_outcomes_in_groups_is_as_sure_as_the_groups_are_many() -> None:
    assert wilson_of_groups([1, 1, 1, 0, 0, 0], list("aaabbb")) == wilson(1, 2)
    assert wilson_of_groups([1, 1, 0, 0], list("aabb")) == wilson_of_groups([1, 0], list("ab")) == wilson(1, 2)
    assert wilson_of_groups([True, False, True]) == wilson(2, 3)
    assert wilson_of_groups([]) == (0.0, 1.0)


def test_retention_is_relative_to_full_on_the_same_cases() -> None:
    assert retention(np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])) == 1.0
    assert retention(np.array([[0.0, 1.0], [1.0, 1.0]])) == 0.5
    assert math.isnan(retention(np.array([[1.0, 0.0]])))


def test_few_cases_that_all_agree_are_no_certain_retention() -> None:
    low, high = retention_interval(np.ones((7, 2))) or (0.0, 0.0)
    assert (low, high) == (pytest.approx(7 / (7 + 3.8415), abs=1e-3), 1.0)
    found_more = np.array([[1.0, 1.0]] * 6 + [[1.0, 0.0]] * 6)
    assert (retention_interval(found_more) or (0.0, 0.0))[1] > 1.5
    assert retention_interval(np.zeros((4, 2))) is None


def test_perplexity_weighs_blocks_by_their_tokens() -> None:
    sums = np.array([[4 * math.log(2), 4 * math.log(2), 4.0], [2 * math.log(8), 2 * math.log(2), 2.0]])
    assert perplexity(sums[:, [0, 2]]) == pytest.approx(2 ** (10 / 6))
    assert perplexity_difference(sums) == pytest.approx(2 ** (10 / 6) - 2)


def test_median_of_nothing_is_not_a_number() -> None:
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert math.isnan(median([]))
