"""Every option of a configuration refuses what no policy could honour, and says what to pass instead."""

from __future__ import annotations

import dataclasses

import pytest

from confkv_agents.cache import POLICIES, CacheConfig
from confkv_agents.errors import ConfigError

BAD = {
    "policy": ["best", ""],
    "budget": [0, -1, 1, 60, 512.0, "512", True],
    "min_budget": [0, 20, 69, 513, 1.5],
    "sinks": [-1, 2.0, 500],
    "window": [0, -1, 600, 1.0],
    "chunk": [0, -8, 16.0],
    "int8_share": [-0.1, 1.1, float("nan"), "half"],
    "pyramid": [-1.01, 1.5, float("nan"), float("inf")],
    "confidence": ["guess", ""],
    "smoothing": [-0.1, 1.0, float("nan")],
    "shrink": [0, -1, 0.5],
    "decay": [0.0, -1.0, 1.1, float("nan")],
    "recency": [-0.1, 1.1],
    "own_share": [-0.1, 1.1],
    "half_life": [0, 1.5],
    "span": [0, 4, -3],
    "probe": [-1, 1.5],
    "probe_weight": [-1.0, float("nan"), float("inf")],
    "evict_every": [0, -2, 1.5],
    "recall": ["sometimes"],
    "recall_share": [-0.1, 1.1],
    "promote": [0, -1],
    "grace": [-1, 0.5],
    "image_floor": [-1],
    "group": ["median"],
}
SWITCHES = {"segments", "recall_again"}  # True, False or the policy's own


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_a_value_out_of_range_is_refused_by_name(name, value):
    with pytest.raises(ConfigError, match=rf"\b{name}\b|below the floor") as caught:
        CacheConfig(**{name: value})
    told = str(caught.value)
    assert any(word in told for word in ("pass ", "choose ")), told


def test_every_option_has_a_value_that_is_refused():
    known = {field.name for field in dataclasses.fields(CacheConfig)}
    assert set(BAD) <= known
    assert known - set(BAD) <= SWITCHES, "a new option needs its bounds, and a line above"


@pytest.mark.parametrize(
    ("name", "value"),
    [("span", 3.0), ("span", "7"), ("policy", []), ("confidence", {}), ("recall", []), ("segments", "yes"),
     ("recall_again", 1), ("int8_share", True), ("budget", True), ("pyramid", "0")],
)  # fmt: skip
def test_a_value_of_another_type_is_refused_by_name(name, value):
    with pytest.raises(ConfigError, match=rf"^{name} (is )?"):
        CacheConfig(**{name: value})


@pytest.mark.parametrize("policy", sorted(set(POLICIES) - {"full"}))
def test_the_smallest_budget_that_is_said_to_do_does(policy):
    with pytest.raises(ConfigError, match=r"pass budget=\d+ or more") as caught:
        CacheConfig(policy=policy, budget=10, window=8)
    least = int(str(caught.value).rpartition("pass budget=")[2].partition(" ")[0])
    CacheConfig(policy=policy, budget=least, window=8)
    if least > 14:  # half of a budget must hold the floor too
        with pytest.raises(ConfigError):
            CacheConfig(policy=policy, budget=13, window=8)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_the_ends_of_each_range_are_taken(policy):
    CacheConfig(policy=policy, pyramid=-1.0, recency=0.0, decay=1.0, smoothing=0.0)
    CacheConfig(policy=policy, pyramid=1, recency=1, decay=1e-3, smoothing=0.999, span=1, probe=0, evict_every=1)
