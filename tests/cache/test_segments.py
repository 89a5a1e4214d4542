"""Segments: what a session says of its tokens moves their rank and breaks no bound."""

from __future__ import annotations

import pytest
import torch
from helpers import new_cache, stored_positions
from tiny import make_model, make_prompt

from confkv_agents.cache import CacheConfig, attach, load_cache, save_cache
from confkv_agents.cache.policies import ConfKV, SlotView
from confkv_agents.cache.segments import FLOOR, LATEST, OLDER, PINNED, Segments
from confkv_agents.cache.selection import pool_spans
from confkv_agents.errors import ConfigError

TIGHT = {"budget": 40, "window": 6, "sinks": 2, "chunk": 16, "evict_every": 3, "span": 1}


@pytest.fixture(scope="module")
def model():
    return attach(make_model("llama"))


def weighed(segments: Segments, score: torch.Tensor, position: torch.Tensor, span: int = 1) -> list[float]:
    score, position = score.view(1, 1, 1, -1), position.view(1, 1, 1, -1)
    if span > 1:
        score = segments.pool_grids(score, position, pool_spans(score, position, span), span)
    return segments.weigh(score, position).flatten().tolist()


def test_kinds_move_scores_by_hand():
    segments = Segments(image_floor=0)
    for kind, start in (("pinned", 0), ("observation", 2), ("own", 4), ("observation", 6), ("own", 8)):
        segments.begin(kind, start)
    position = torch.tensor([1, 3, 5, 7, 9, -1])
    score = torch.tensor([1.0, 1.0, 1.0, 1.0, 1.0, -torch.inf])
    assert weighed(segments, score, position) == [PINNED + 1, OLDER, 1.0, LATEST, 1.0, -torch.inf]


def test_pictures_belong_to_the_observation_they_stand_in():
    segments = Segments(image_floor=0)
    for kind, start in (("image", 0), ("own", 2), ("observation", 4), ("image", 6), ("observation", 8), ("own", 10)):
        segments.begin(kind, start)
    position = torch.tensor([0, 4, 6, 8])
    assert weighed(segments, torch.ones(4), position) == [OLDER, LATEST, LATEST, LATEST]


def test_the_best_tokens_of_every_picture_have_a_floor():
    segments = Segments(image_floor=2)
    segments.begin("image", 0)
    segments.begin("own", 4)
    segments.begin("image", 5)
    score = torch.tensor([0.1, 0.4, 0.2, 0.3, 9.0, 1.0, 3.0, 2.0])
    found = weighed(segments, score, torch.arange(8))
    assert [value >= FLOOR for value in found] == [False, True, False, True, False, False, True, True]


def test_pictures_are_pooled_in_their_grid():
    segments = Segments(image_floor=0)
    segments.begin("image", 0, grid=(4, 4))
    segments.begin("text", 16)
    score = torch.zeros(18)
    score[5] = 1.0  # row 1, column 1
    near = [place for place, value in enumerate(weighed(segments, score, torch.arange(18), span=9)) if value > 0.5]
    assert near == [0, 1, 2, 4, 5, 6, 8, 9, 10]  # and not 3, 7, 12-15, nor the text that follows


def test_a_stored_part_of_a_picture_is_pooled_by_where_it_lay():
    segments = Segments(image_floor=0)
    segments.begin("image", 3, grid=(3, 3))
    position = torch.tensor([11, 3, -1, 7])
    score = torch.tensor([0.0, 0.0, -torch.inf, 1.0])
    found = weighed(segments, score, position, span=9)
    assert found[0] > 0.9 and found[1] > 0.9 and found[2] == -torch.inf  # both corners touch the middle


def test_pinned_tokens_outlive_the_rest_and_the_budget_holds(model):
    ids = make_prompt("llama", 400).ids
    pinned, plain = (new_cache(model, **TIGHT, segments=on) for on in (True, False))
    for cache in (pinned, plain):
        cache.segment("pinned", start=0)
        cache.segment("observation", start=12)
        for start in range(0, 400, 16):
            model(input_ids=ids[:, start : start + 16], cache=cache)
            assert max(map(max, cache.stored_slots())) <= 40 + 16
    kept = stored_positions(pinned)
    assert all(set(range(12)) <= set(head.tolist()) for head in kept.flatten(0, -2))
    assert not all(set(range(12)) <= set(head.tolist()) for head in stored_positions(plain).flatten(0, -2))


def test_more_pinned_than_the_budget_holds_keeps_window_and_budget(model):
    ids = make_prompt("llama", 200).ids
    cache = new_cache(model, **TIGHT)
    cache.segment("pinned")
    for start in range(0, 200, 16):
        model(input_ids=ids[:, start : start + 16], cache=cache)
    cache.compact()
    assert max(map(max, cache.stored_slots())) <= 40
    assert all({0, 1, *range(194, 200)} <= set(head.tolist()) for head in stored_positions(cache).flatten(0, -2))


def test_segments_go_with_forks_files_and_rollbacks(model, tmp_path):
    cache = new_cache(model, **TIGHT)
    cache.segment("pinned")
    model(input_ids=make_prompt("llama", 10).ids, cache=cache)
    cache.segment("image", grid=(2, 2))
    fork = cache.fork()
    assert fork.segments is not cache.segments and fork._banks[0][0].segments is fork.segments
    save_cache(cache, tmp_path / "cache.safetensors")
    loaded = load_cache(tmp_path / "cache.safetensors", model.config)
    assert loaded.segments.all == cache.segments.all and loaded._banks[0][0].segments is loaded.segments
    cache.crop_to(8)
    assert [segment.kind for segment in cache.segments.all] == ["pinned"]
    assert len(fork.segments.all) == 2
    cache.reset()
    assert cache.segments.all == []


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ([("page", 0, None)], "pinned, observation, image, own, text"),
        ([("own", 0, (2, 2))], "rows and columns"),
        ([("image", 0, (0, 2))], "rows and columns"),
        ([("own", 5, None), ("own", 4, None)], "cannot follow"),
    ],
)
def test_bad_segments_are_refused(model, calls, words):
    cache = new_cache(model, **TIGHT)
    with pytest.raises(ConfigError, match=words):
        for kind, start, grid in calls:
            cache.segment(kind, start=start, grid=grid)


def test_newcomers_rank_at_least_as_the_average_during_their_grace():
    policy = ConfKV(CacheConfig(budget=100, window=4, grace=3, recency=0.0, probe=0))
    position = torch.tensor([[[[0, 10, 20, 21]]]])
    age = 28 - position
    mass = torch.tensor([[[[0.9, 0.9, 0.0, 0.0]]]])
    without = ConfKV(CacheConfig(budget=100, window=4, grace=0, recency=0.0, probe=0))
    view = SlotView(position, age, position >= 1, mass, None)
    assert (policy.score(view)[..., 2:] == torch.tensor([0.0, 1.0])).all()  # age 8 is past it, age 7 is not
    assert (without.score(view)[..., 2:] == 0.0).all()
