"""Confidence, budgets, codes, selection and configuration against hand-computed values."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from confkv_agents.cache import CacheConfig, confidence
from confkv_agents.cache.budget import BudgetSchedule, share_over_layers
from confkv_agents.cache.confidence import Smoother
from confkv_agents.cache.policies import POLICIES
from confkv_agents.cache.quantize import decode_keys, decode_values, encode_keys, encode_values, pair_amplitude
from confkv_agents.cache.selection import first_true, lowest, pool_spans
from confkv_agents.errors import ConfigError

# ---------------------------------------------------------------- confidence


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("entropy", 1 - (0.5 * math.log(2) + 0.5 * math.log(4)) / math.log(4)),
        ("max_probability", 0.5),
        ("margin", 0.25),
        ("mean", ((1 - 0.75 * math.log(4) / math.log(4)) + 0.5 + 0.25) / 3),
    ],
)
def test_confidence_of_a_known_distribution(measure, expected):
    logits = torch.tensor([[0.5, 0.25, 0.125, 0.125]]).log()
    if measure in ("entropy", "mean"):
        entropy = -(0.5 * math.log(0.5) + 0.25 * math.log(0.25) + 2 * 0.125 * math.log(0.125))
        part = 1 - entropy / math.log(4)
        expected = part if measure == "entropy" else (part + 0.5 + 0.25) / 3
    assert confidence(logits, measure).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("measure", ["entropy", "max_probability", "margin", "mean"])
def test_confidence_ends_at_uniform_and_certain(measure):
    uniform, certain = torch.zeros(1, 50), torch.full((1, 50), -torch.inf)
    certain[0, 3] = 0
    low = 1 / 50 if measure == "max_probability" else (1 / 150 if measure == "mean" else 0)
    assert confidence(uniform, measure).item() == pytest.approx(low, abs=1e-5)
    assert confidence(certain, measure).item() == 1.0


def test_confidence_does_not_depend_on_the_other_rows_or_the_dtype():
    logits = torch.randn(4, 100)
    alone = torch.cat([confidence(row[None]) for row in logits])
    assert torch.allclose(confidence(logits), alone)
    assert torch.allclose(confidence(logits.bfloat16()), alone, atol=2e-2)


def test_smoothing_starts_at_the_first_value_and_follows_rows():
    smoother = Smoother(0.75)
    assert smoother.update([0.0, 1.0]) == [0.0, 1.0]
    assert smoother.update([1.0, 1.0]) == [0.25, 1.0]
    smoother.select([1, 1, 0])
    assert smoother.values == [1.0, 1.0, 0.25]


# ---------------------------------------------------------------- budget


@given(st.integers(1, 40), st.floats(-1, 1), st.integers(10, 600))
def test_the_pyramid_keeps_total_and_floor(layers, slope, mean):
    slots = share_over_layers(mean, 10, layers, slope)
    assert slots.sum() == layers * mean
    assert slots.min() >= 10


def test_the_pyramid_by_hand():
    assert share_over_layers(30, 10, 3, 0.5).tolist() == [40, 30, 20]
    assert share_over_layers(30, 10, 3, -1.0).tolist() == [10, 30, 50]
    assert share_over_layers(30, 10, 1, 1.0).tolist() == [30]


def test_budget_grows_at_once_and_shrinks_slowly():
    config = CacheConfig(budget=200, min_budget=100, shrink=10)
    schedule = BudgetSchedule(POLICIES["confkv"](config), layers=2)
    schedule.start(2)
    assert schedule.means == [200, 200]
    schedule.follow([1.0, 0.5])
    assert schedule.means == [190, 190]
    schedule.follow([1.0, 0.95])
    assert schedule.means == [180, 180]
    schedule.follow([0.0, 0.95])
    assert schedule.means == [200, 170]
    assert schedule.slots().tolist() == [[200, 170], [200, 170]]


# ---------------------------------------------------------------- int8 codes


def rotate(keys: torch.Tensor) -> torch.Tensor:
    """Rotary embedding of `[H, S, D]` keys at positions 0..S-1."""
    half = keys.shape[-1] // 2
    frequency = 10000 ** (-torch.arange(half) / half)
    angle = torch.arange(keys.shape[-2])[:, None] * frequency
    first, second = keys[..., :half], keys[..., half:]
    cos, sin = angle.cos(), angle.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def per_channel_blocks(keys: torch.Tensor) -> torch.Tensor:
    """The usual scheme, for comparison: per channel, asymmetric, over blocks of 64 tokens."""
    blocks = keys.unflatten(-2, (-1, 64))
    low, high = blocks.amin(-2, keepdim=True), blocks.amax(-2, keepdim=True)
    scale = (high - low) / 255
    return (((blocks - low) / scale).round() * scale + low).flatten(-3, -2)


@pytest.mark.parametrize(
    ("bias", "allowed"),
    [({}, 0.0125), ({5: 50.0}, 0.02), ({5: 100.0, 20: 200.0, 70: 300.0, 100: 150.0}, 0.045)],
    ids=["no outliers", "one outlier channel", "Qwen2-like outliers"],
)
def test_attention_over_codes_is_close_to_attention_over_keys(bias, allowed):
    generator = torch.Generator().manual_seed(0)
    keys = torch.randn(8, 512, 128, generator=generator) * (0.5 + 1.5 * torch.rand(8, 1, 128, generator=generator))
    for channel, value in bias.items():
        keys[..., channel] += value
    keys = rotate(keys)
    values, query = torch.randn(8, 512, 128, generator=generator), torch.randn(8, 32, 128, generator=generator)
    amplitude = pair_amplitude(keys[None, :, :256], torch.ones(1, 8, 256, dtype=torch.bool))
    ours = decode_keys(*encode_keys(keys[None], amplitude), amplitude)[0]
    coded = decode_values(*encode_values(values[None]))[0]

    def output(k, v):
        return (query @ k.transpose(-1, -2) / 128**0.5).softmax(-1) @ v

    def error(k):
        return ((output(k, coded) - output(keys, values)).norm() / output(keys, values).norm()).item()

    assert error(ours) < allowed
    assert error(ours) < 1.25 * error(per_channel_blocks(keys))


def test_codes_survive_equal_and_zero_tokens():
    keys = torch.zeros(1, 1, 3, 8)
    keys[0, 0, 1] = 5.0
    amplitude = pair_amplitude(keys, torch.ones(1, 1, 3, dtype=torch.bool))
    assert torch.isfinite(decode_keys(*encode_keys(keys, amplitude), amplitude)).all()
    assert torch.allclose(decode_keys(*encode_keys(keys, amplitude), amplitude), keys, atol=1e-4)
    assert torch.equal(decode_values(*encode_values(keys * 0)), keys * 0)


def test_amplitude_counts_only_marked_tokens_and_odd_widths():
    keys = torch.tensor([[[[3.0, 1.0, 4.0, 0.0, 2.0], [100.0] * 5]]])
    amplitude = pair_amplitude(keys, torch.tensor([[[True, False]]]))
    assert torch.allclose(amplitude.flatten(), torch.tensor([5.0, 1.0, 5.0, 1.0, 2.0]))


# ---------------------------------------------------------------- selection


def test_lowest_by_hand():
    keys = torch.tensor([[3.0, 1.0, 2.0, torch.inf, 1.0]])
    among = torch.tensor([[True, True, False, True, True]])
    assert lowest(keys, among, torch.tensor([[2]])).tolist() == [[False, True, False, False, True]]
    assert lowest(keys, among, torch.tensor([[1]])).tolist() == [[False, True, False, False, False]]
    assert not lowest(keys, among, torch.tensor([[-3]])).any()


@settings(max_examples=50)
@given(st.lists(st.lists(st.booleans(), min_size=9, max_size=9), min_size=1, max_size=4), st.integers(1, 9))
def test_first_true_lists_the_first_marks(rows, count):
    slots, real = first_true(torch.tensor(rows), count)
    for row, slot, flag in zip(rows, slots.tolist(), real.tolist(), strict=True):
        marks = [i for i, value in enumerate(row) if value][:count]
        assert [s for s, f in zip(slot, flag, strict=True) if f] == marks


def test_spans_share_the_best_score_by_position_not_by_slot():
    position = torch.tensor([[[[4, 0, 9, 2, -1]]]])
    score = torch.tensor([[[[1.0, 0.0, 0.5, 5.0, -torch.inf]]]])
    # in order of position: 0: 0.0, 2: 5.0, 4: 1.0, 9: 0.5; what an empty slot gets means nothing
    pooled = pool_spans(score, position, 3)[0, 0, 0].tolist()
    assert pooled[:4] == [5.0, 5.0, 1.0, 5.0]


# ---------------------------------------------------------------- configuration


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"policy": "best"}, "choose one of confkv, confkv.recall, full, h2o, snapkv, window"),
        ({"budget": 60}, "below the floor"),
        ({"budget": 0}, "at least 1"),
        ({"budget": 512.0}, "pass an integer"),
        ({"min_budget": 600}, "above budget 512"),
        ({"min_budget": 20}, "pass min_budget=70"),
        ({"pyramid": 1.5}, "from -1 to 1"),
        ({"int8_share": -0.1}, "from 0 to 1"),
        ({"span": 4}, "odd"),
        ({"chunk": 0}, "at least 1"),
        ({"confidence": "guess"}, "choose one of entropy"),
        ({"decay": 0.0}, "decay"),
        ({"smoothing": 1.0}, "smoothing"),
        ({"window": 600}, "below the floor"),
    ],
)
def test_bad_configuration_is_refused_with_what_to_pass(options, says):
    with pytest.raises(ConfigError, match=says):
        CacheConfig(**options)


def test_h2o_splits_its_budget_in_half():
    assert POLICIES["h2o"](CacheConfig(policy="h2o", budget=300)).window == 150
    assert POLICIES["h2o"](CacheConfig(policy="h2o", budget=300, window=20)).window == 20


def test_the_int8_split_spends_the_same_bytes():
    from confkv_agents.cache.bounded import BoundedBank

    config = CacheConfig(budget=512, int8_share=0.5)
    bank = BoundedBank(torch.zeros(1, 3, 1, 64, dtype=torch.bfloat16), 2, POLICIES["confkv"](config))
    full, int8 = bank.split(np.full((2, 1), 512))
    assert full.tolist() == [[291], [291]]  # 70 protected or reserved + half of the other 442
    assert int8.tolist() == [[404], [404]]  # 221 slots of 256 bytes, at 140 bytes a token
