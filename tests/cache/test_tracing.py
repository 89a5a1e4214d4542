"""What a cache tells its trace, held against the cache itself."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny import make_model
from transformers import PreTrainedModel

from confkv_agents.cache import POLICIES, CacheConfig, ConfKVCache, StepTrace, Trace, TraceFile, attach, read_trace

LAYERS, HEADS = 4, 2


@pytest.fixture(scope="module")
def llama() -> PreTrainedModel:
    return attach(make_model("llama"))


def new_cache(model: PreTrainedModel, **settings) -> ConfKVCache:
    return ConfKVCache(model.config, CacheConfig(**{"budget": 48, "window": 8, "chunk": 16, "probe": None, **settings}))


def play(model: PreTrainedModel, cache: ConfKVCache, turns: int = 2, read: int = 80, decode: int = 20) -> torch.Tensor:
    """Read in chunks with a probe after each, then decode; returns all logits, one row per forward."""
    random = torch.Generator().manual_seed(0)
    seen = []
    for _ in range(turns):
        ids = torch.randint(2, 90, (1, read), generator=random)
        for start in range(0, read, cache.config.chunk):
            seen.append(model(ids[:, start : start + cache.config.chunk], cache=cache, logits_to_keep=1).logits[0, -1])
            if cache.wants_probe and start + cache.config.chunk < read:
                with cache.looking_ahead():
                    model(ids[:, -4:], cache=cache, logits_to_keep=1)
        cache.compact()
        for _ in range(decode):
            cache.observe(seen[-1][None])
            token = torch.randint(2, 90, (1, 1), generator=random)
            seen.append(model(token, cache=cache).logits[0, -1])
    return torch.stack(seen)


def stored(cache: ConfKVCache) -> int:
    """Tokens in the hot tiers, over all layers and heads."""
    (bank, _), *_ = cache._banks
    if not cache.policy.bounded:
        return LAYERS * HEADS * bank.seen
    table = bank.stores.table
    return int((table.position[..., : table.regions.total] >= 0).sum())


@pytest.mark.parametrize("policy", POLICIES)
def test_what_came_and_what_left_is_what_is_there(llama: PreTrainedModel, policy: str):
    cache = new_cache(llama, policy=policy)
    cache.trace = trace = Trace(config=cache.config)
    play(llama, cache)
    records = trace.records
    assert sum(record.tokens for record in records if record.kind != "probe") == cache.seen == 200
    left = sum(record.evicted for record in records) - sum(record.promoted for record in records)
    assert cache.seen * LAYERS * HEADS - left == stored(cache)
    assert (left > 0) == cache.policy.bounded
    assert (sum(record.demoted for record in records) > 0) == (policy in ("confkv", "confkv+recall"))


@pytest.mark.parametrize("policy", POLICIES)
def test_a_trace_changes_nothing(llama: PreTrainedModel, policy: str):
    plain, traced = new_cache(llama, policy=policy), new_cache(llama, policy=policy)
    traced.trace = Trace()
    assert torch.equal(play(llama, plain), play(llama, traced))
    assert plain.usage() == traced.usage()


def test_records_follow_one_another_and_say_what_kind_they_are(llama: PreTrainedModel):
    cache = new_cache(llama)
    cache.trace = trace = Trace()
    play(llama, cache, turns=1, read=40, decode=3)
    shape = [(record.kind, record.position, record.tokens) for record in trace.records]
    assert shape == [
        ("read", 0, 16),
        ("probe", 16, 4),
        ("read", 16, 16),
        ("probe", 32, 4),
        ("read", 32, 8),
        ("decode", 40, 1),
        ("decode", 41, 1),
        ("decode", 42, 1),
    ]


def test_each_record_holds_the_figures_of_its_step(llama: PreTrainedModel):
    cache = new_cache(llama, policy="confkv+recall", recall_again=False)
    cache.trace = trace = Trace()
    play(llama, cache, turns=1, decode=0)
    for number in range(30):
        raw = [0.1, 0.9][number % 2]
        budget = cache.usage().budget if number else 48.0
        assert (trace.records[-1].confidence, trace.records[-1].smoothed) == (None, None)
        smoothed = cache.observe_confidence([raw])
        last, usage = trace.records[-1], cache.usage()
        assert (last.confidence, last.smoothed) == (raw, smoothed[0])
        assert (last.kv_bytes, last.cold_bytes) == (usage.kv_bytes, usage.cold_bytes)
        assert last.budget == budget if number else True
        budget = usage.budget
        llama(torch.tensor([[5]]), cache=cache)
        assert trace.records[-1].budget == budget
        (bank, _), *_ = cache._banks
        assert trace.records[-1].full == bank.full_count.mean()
        assert trace.records[-1].int8 == bank.int8_count.mean()
        assert trace.records[-1].cold == bank.mirrored


def test_recalled_steps_are_marked_whether_computed_again_or_not(llama: PreTrainedModel):
    for again in (False, True):
        cache = new_cache(llama, policy="confkv+recall", recall="gated", recall_share=1.0, recall_again=again)
        cache.trace = trace = Trace()
        play(llama, cache, turns=1, decode=0)
        for _ in range(6):
            llama(torch.tensor([[5]]), cache=cache)
            if cache.should_recall([0.5]):
                with cache.recalling():
                    llama(torch.tensor([[5]]), cache=cache)
            cache.observe_confidence([0.5])
        decoded = [record for record in trace.records if record.kind == "decode"]
        assert [record.position for record in decoded] == list(range(80, 86))
        assert sum(record.recalled for record in decoded) >= 5
        assert sum(record.recalled for record in decoded) >= cache.recalled_steps - (not again)
        left = sum(record.evicted - record.promoted for record in trace.records)
        assert cache.seen * LAYERS * HEADS - left == stored(cache)


@pytest.mark.parametrize("recall", [False, True])
def test_evictions_are_told_by_segment(llama: PreTrainedModel, recall: bool):
    cache = new_cache(llama, policy="confkv+recall" if recall else "confkv")
    cache.trace = trace = Trace()
    cache.segment("pinned")
    llama(torch.arange(2, 10)[None], cache=cache, logits_to_keep=1)
    cache.segment("observation")
    for _ in range(6):
        llama(torch.arange(2, 18)[None], cache=cache, logits_to_keep=1)
    cache.segment("own")
    for _ in range(20):
        llama(torch.tensor([[7]]), cache=cache)
    with cache.looking_ahead(recall=recall):
        llama(torch.tensor([[3, 4, 5]]), cache=cache)
    cache.compact()
    assert recall == any(record.promoted for record in trace.records)
    evicted: dict[str, int] = {}
    for record in trace.records:
        assert sum(record.evicted_by_segment.values()) == record.evicted
        assert sum(record.demoted_by_segment.values()) == record.demoted
        for name, count in record.evicted_by_segment.items():
            evicted[name] = evicted.get(name, 0) + count
    assert evicted["observation"] > 0
    assert evicted.get("pinned", 0) == 0


def test_a_cache_without_trace_counts_nothing_and_a_fork_starts_without_one(llama: PreTrainedModel):
    cache = new_cache(llama)
    play(llama, cache, turns=1)
    assert cache._banks[0][0].tally is None
    cache.trace = trace = Trace()
    play(llama, cache, turns=1)
    fork, before = cache.fork(), len(trace)
    play(llama, fork, turns=1)
    assert (fork.trace, fork._banks[0][0].tally, len(trace)) == (None, None, before)
    cache.trace = None
    play(llama, cache, turns=1)
    assert (cache._banks[0][0].tally, len(trace)) == (None, before)


def test_another_trace_begins_with_the_next_step(llama: PreTrainedModel):
    cache = new_cache(llama)
    cache.trace = first = Trace()
    play(llama, cache, turns=1)
    end, count = first.records[-1], len(first)
    cache.trace = second = Trace()
    cache.observe_confidence([0.5])
    llama(torch.tensor([[5]]), cache=cache)
    assert (len(first), first.records[-1]) == (count, end)
    assert [record.position for record in second.records] == [100]


def test_steps_go_to_a_file_as_they_come(llama: PreTrainedModel, tmp_path: Path):
    cache, other = new_cache(llama), new_cache(llama)
    other.trace = trace = Trace()
    play(llama, other)
    with TraceFile(tmp_path / "x.jsonl", config=cache.config) as cache.trace:
        play(llama, cache)
    assert read_trace(tmp_path / "x.jsonl").records == trace.records


def test_rows_of_a_batch_add_up(llama: PreTrainedModel):
    cache = new_cache(llama)
    cache.trace = trace = Trace()
    ids = torch.randint(2, 90, (3, 64), generator=torch.Generator().manual_seed(1))
    for start in range(0, 64, 16):
        llama(ids[:, start : start + 16], cache=cache, logits_to_keep=1)
    cache.observe_confidence([0.2, 0.4, 0.6])
    assert trace.records[-1].confidence == pytest.approx(0.4)
    assert 3 * 64 * LAYERS * HEADS - sum(record.evicted for record in trace.records) == stored(cache)
    assert all(isinstance(record, StepTrace) for record in trace.records)
