"""The cold tier: what is mirrored, what a recall sees, what it brings back, and which steps recall."""

from __future__ import annotations

import random

import pytest
import torch
from helpers import new_cache, stored_positions
from tiny import TEXT, left_padded, make_prompt
from transformers import AutoModelForCausalLM, LlamaConfig

from confkv_agents.cache import CacheConfig, ConfKVCache, Trace, attach, load_cache, save_cache
from confkv_agents.cache.cold import SEGMENT, Cold
from confkv_agents.cache.gate import RecallGate
from confkv_agents.cache.quantize import decode_keys
from confkv_agents.errors import CacheStateError, ConfigError

TIGHT = {
    "policy": "confkv+recall",
    "budget": 24,
    "window": 6,
    "sinks": 2,
    "chunk": 16,
    "evict_every": 3,
    "recall": "gated",
    "recall_share": 1.0,
    "promote": 4,
    "span": 3,
}


@pytest.fixture(scope="module")
def shallow():
    """One layer: what it stores does not depend on what was evicted, so that full KV is the exact reference."""
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(LlamaConfig(**{**TEXT, "num_hidden_layers": 1})).eval()


@pytest.fixture(scope="module")
def model(shallow):
    return attach(shallow)


def read(model, cache, ids, mask=None):
    chunk = cache.config.chunk
    for start in range(0, ids.shape[1], chunk):
        stop = min(start + chunk, ids.shape[1])
        seen = None if mask is None else mask[:, :stop]
        output = model(input_ids=ids[:, start:stop], attention_mask=seen, cache=cache)
    return output.logits[:, -1]


def again(model, cache, token, mask=None, confidence=0.0):
    assert cache.should_recall([confidence] * token.shape[0])
    with cache.recalling():
        return model(input_ids=token, attention_mask=mask, cache=cache).logits[:, -1]


def test_a_recalled_step_sees_what_full_kv_sees(model):
    ids = make_prompt("llama", 160).ids
    reference = model(input_ids=ids, use_cache=False).logits[0]
    cache = new_cache(model, **TIGHT)
    read(model, cache, ids[:, :120])
    without, recalled = [], []
    for place in range(120, 160):
        token = ids[:, place : place + 1]
        without.append((model(input_ids=token, cache=cache).logits[0, -1] - reference[place]).abs().max())
        recalled.append((again(model, cache, token)[0] - reference[place]).abs().max())
        cache.observe_confidence([0.5])
    assert max(recalled) < 0.01  # what int8 codes cost
    assert max(without) > 5 * max(recalled)


def test_everything_fed_is_mirrored_in_order_however_it_was_fed(model):
    ids = make_prompt("llama", 70).ids
    caches = [new_cache(model, **{**TIGHT, "chunk": chunk}) for chunk in (16, 70)]
    read(model, caches[0], ids[:, :40])
    for place in range(40, 55):
        model(input_ids=ids[:, place : place + 1], cache=caches[0])
    model(input_ids=ids[:, 55:], cache=caches[0])
    model(input_ids=ids, cache=caches[1])
    found = []
    for cache in caches:
        cache.compact()
        bank = cache._banks[0][0]
        codes = bank.cold.segments[0][0]
        assert bank.cold.counts == [70] and bank.cold.real[:, :70].all()
        fields = (codes[name][:, :, :70] for name in ("key_codes", "key_scale", "key_zero"))
        found.append(decode_keys(*fields, bank.stores.int8[0].amplitude))
    assert (found[0] - found[1]).abs().max() < 0.05 * found[1].abs().max()


def test_promoted_tokens_are_hot_afterwards_and_the_budget_holds(model):
    ids = make_prompt("llama", 300).ids
    cache = new_cache(model, **TIGHT)
    read(model, cache, ids[:, :200])
    bank = cache._banks[0][0]
    brought = 0
    for place in range(200, 300):
        token = ids[:, place : place + 1]
        model(input_ids=token, cache=cache)
        before = stored_positions(cache)[0, 0].clone()
        again(model, cache, token)
        after = stored_positions(cache)[0, 0]
        for head in range(after.shape[0]):
            new = set(after[head].tolist()) - set(before[head].tolist())
            brought += len(new)
            assert len(new) <= 4
            kept = set(after[head].tolist())
            assert {0, 1} <= kept and set(range(place - 5, place + 1)) <= kept
            assert len([position for position in after[head].tolist() if position >= 0]) == len(kept - {-1})
        taken = after[:, bank.stores.table.regions.columns("int8")] >= 0
        assert (taken.sum(-1) <= torch.tensor(bank.int8_limit[0])).all()
        cache.observe_confidence([0.0])
    assert brought > 20


def test_a_promoted_token_has_the_codes_it_was_mirrored_with(model):
    ids = make_prompt("llama", 120).ids
    cache = new_cache(model, **TIGHT)
    read(model, cache, ids[:, :119])
    bank = cache._banks[0][0]
    token = ids[:, 119:]
    model(input_ids=token, cache=cache)
    columns = bank.stores.table.regions.columns("int8")
    before = stored_positions(cache)[0, 0, :, columns].clone()
    again(model, cache, token)
    after = stored_positions(cache)[0, 0, :, bank.stores.table.regions.columns("int8")]
    mirrored = bank.cold.segments[0][0]
    checked = 0
    for head in range(after.shape[0]):
        for slot, position in enumerate(after[head].tolist()):
            if position >= 0 and position not in before[head].tolist():
                assert torch.equal(
                    bank.stores.int8[0].key_codes[0, head, slot], mirrored["key_codes"][0, head, position]
                )
                assert bank.stores.int8[0].value_scale[0, head, slot] == mirrored["value_scale"][0, head, position]
                checked += 1
    assert checked


def test_a_step_taken_back_and_fed_again_leaves_no_trace(model):
    ids = make_prompt("llama", 90).ids
    caches = [new_cache(model, **TIGHT) for _ in range(2)]
    for cache in caches:
        read(model, cache, ids[:, :80])
    for place in range(80, 90):
        token = ids[:, place : place + 1]
        once = model(input_ids=token, cache=caches[0]).logits
        model(input_ids=token, cache=caches[1])
        caches[1]._banks[0][0].retract()
        caches[1].seen -= 1
        assert torch.equal(model(input_ids=token, cache=caches[1]).logits, once)
    tensors, _ = caches[0].state()
    others, _ = caches[1].state()
    for name, tensor in tensors.items():
        if "keys" not in name and "values" not in name:  # an empty slot may still hold what was taken back
            assert torch.equal(tensor, others[name]), name


def test_recall_keeps_the_hot_bytes_where_they_were(model):
    ids = make_prompt("llama", 400).ids
    plain, recalling = (new_cache(model, **{**TIGHT, "recall": mode}) for mode in ("off", "gated"))
    for cache in (plain, recalling):
        read(model, cache, ids[:, :300])
        for place in range(300, 400):
            token = ids[:, place : place + 1]
            model(input_ids=token, cache=cache)
            if cache is recalling:
                again(model, cache, token)
            cache.observe_confidence([0.0])
    usage = recalling.usage()
    assert usage.cold_bytes == sum(tensor.nbytes for tensor in recalling._banks[0][0].cold_tensors()) > 0
    assert plain.usage().cold_bytes == 0
    marks = recalling._banks[0][0].cold.real.nbytes
    assert usage.peak_kv_bytes - marks <= plain.usage().peak_kv_bytes * 1.05
    assert (recalling.recalled_steps, recalling.decoded_steps) == (100, 100)


def test_row_alone_recalls_like_the_row_in_a_padded_batch(model):
    ids = make_prompt("llama", 100).ids
    short, short_mask = left_padded(ids[:, :70], 100)
    batch, mask = torch.cat([ids, short]), torch.cat([torch.ones_like(ids), short_mask])
    alone, together = new_cache(model, **TIGHT), new_cache(model, **TIGHT)
    read(model, alone, ids[:, :70])
    read(model, together, batch, mask)
    token = torch.tensor([[7]])
    model(input_ids=token, cache=alone)
    mask = torch.cat([mask, torch.ones(2, 1, dtype=mask.dtype)], 1)
    model(input_ids=token.repeat(2, 1), attention_mask=mask, cache=together)
    one, both = again(model, alone, token), again(model, together, token.repeat(2, 1), mask)
    assert (one[0] - both[1]).abs().max() < 5e-3


def test_only_the_rows_that_are_unsure_recall(model):
    ids = make_prompt("llama", 100).ids.repeat(2, 1)
    cache = new_cache(model, **{**TIGHT, "recall": "gated"})
    read(model, cache, ids)
    token = torch.tensor([[7], [7]])
    first = model(input_ids=token, cache=cache).logits[:, -1]
    assert cache.should_recall([0.1, 0.99])
    with cache.recalling():
        second = model(input_ids=token, cache=cache).logits[:, -1]
    assert torch.allclose(second[1], first[1], atol=1e-6)
    assert (second[0] - first[0]).abs().max() > 1e-3


def test_a_caller_that_does_not_ask_has_the_next_step_recall(model):
    ids = make_prompt("llama", 102).ids
    reference = model(input_ids=ids, use_cache=False).logits[0]
    cache = new_cache(model, **{**TIGHT, "recall": "gated"})
    read(model, cache, ids[:, :100])
    errors = []
    for place, confidence in ((100, 0.1), (101, 0.99)):
        cache.observe_confidence([confidence])
        logits = model(input_ids=ids[:, place : place + 1], cache=cache).logits[0, -1]
        errors.append((logits - reference[place]).abs().max())
    assert errors[0] < 0.01 < errors[1]
    assert (cache.recalled_steps, cache.decoded_steps) == (1, 2)


def test_looking_back_at_a_new_turn_brings_back_what_it_asks_for(model):
    ids = make_prompt("llama", 200).ids
    cache = new_cache(model, **TIGHT)
    read(model, cache, ids[:, :150])
    before = stored_positions(cache).clone()
    with cache.looking_ahead(recall=True):
        model(input_ids=ids[:, 150:160], cache=cache)
    after = stored_positions(cache)
    assert cache.seen == 150
    assert set(after.flatten().tolist()) - set(before.flatten().tolist())


def test_fork_shares_full_segments_and_goes_on_bit_for_bit(model, tmp_path):
    ids = make_prompt("llama", SEGMENT + 60).ids
    cache = new_cache(model, **TIGHT)
    read(model, cache, ids[:, : SEGMENT + 30])
    cache.compact()
    fork = cache.fork()
    mine, other = (each._banks[0][0].cold.segments[0] for each in (cache, fork))
    assert other[0]["key_codes"].data_ptr() == mine[0]["key_codes"].data_ptr()
    assert other[1]["key_codes"].data_ptr() != mine[1]["key_codes"].data_ptr()
    save_cache(cache, tmp_path / "cache.safetensors")
    loaded = load_cache(tmp_path / "cache.safetensors", model.config)
    rest = []
    for each in (cache, fork, loaded):
        found = []
        for place in range(SEGMENT + 30, SEGMENT + 60):
            token = ids[:, place : place + 1]
            model(input_ids=token, cache=each)
            found.append(again(model, each, token))
            each.observe_confidence([0.2])
        rest.append(torch.stack(found))
    assert torch.equal(rest[0], rest[1]) and torch.equal(rest[0], rest[2])


def test_going_back_does_not_write_into_what_a_fork_shares():
    like = torch.zeros(1, 2, 0, 8)
    cold = Cold(like, 1)
    amplitude = torch.ones(1, 2, 1, 8)

    def feed(count, value):
        keys = torch.full((1, 2, count, 8), value)
        keys[..., 0] = 0.0
        cold.append(0, keys, keys, amplitude, torch.ones(1, count, dtype=torch.bool))

    feed(SEGMENT, 1.0)
    import copy

    fork = copy.deepcopy(cold)
    cold.crop_to(10)
    feed(20, -1.0)
    assert (fork.segments[0][0]["value_codes"][0, 0, 10:30, 1] == 127).all()
    assert (cold.segments[0][0]["value_codes"][0, 0, 10:30, 1] == -127).all()
    assert (cold.segments[0][0]["value_codes"][0, 0, :10, 1] == 127).all()


@pytest.mark.parametrize("share", [0.1, 0.4])
@pytest.mark.parametrize("sure", [0.3, 0.95])
def test_the_gate_keeps_its_share_whatever_the_model_is_like(share, sure):
    gate = RecallGate(CacheConfig(policy="confkv+recall", recall_share=share), "gated")
    chance = random.Random(1)
    hits = [gate.decide([min(1.0, max(0.0, chance.gauss(sure, 0.05)))])[0] for _ in range(2000)]
    assert abs(sum(hits[200:]) / 1800 - share) < 0.03


def test_the_gate_prefers_the_unsure_steps():
    gate = RecallGate(CacheConfig(policy="confkv+recall", recall_share=0.2), "gated")
    chance = random.Random(2)
    values = [chance.random() for _ in range(3000)]
    hits = [gate.decide([value])[0] for value in values]
    taken = [value for value, hit in zip(values[500:], hits[500:], strict=True) if hit]
    assert sum(taken) / len(taken) < 0.15


def test_gate_modes():
    config = CacheConfig(policy="confkv+recall", recall_share=0.3)
    assert RecallGate(config, "off").decide([0.0]) == [False]
    assert RecallGate(config, "always").decide([1.0, 0.0]) == [True, True]
    steady = RecallGate(CacheConfig(policy="confkv+recall", recall_share=0.4), "steady")
    assert [steady.decide([0.5, 0.5]) for _ in range(10)] == [[step in (3, 5, 8, 10)] * 2 for step in range(1, 11)]

    runs = [[RecallGate(config, "random").decide([0.5] * 1000)] for _ in range(2)]
    assert runs[0] == runs[1] and abs(sum(runs[0][0]) / 1000 - 0.3) < 0.05


@pytest.mark.parametrize("mode", ["steady", "random", "always"])
def test_steps_that_confidence_does_not_choose_look_at_once_and_are_computed_once(mode, model):
    ids = make_prompt("llama", 60).ids
    cache = new_cache(model, **{**TIGHT, "recall": mode, "recall_share": 0.5})
    read(model, cache, ids[:, :40])
    cache.trace = Trace()
    due = []
    for at in range(40, 56):
        assert not cache.should_recall([0.0])
        cache.observe_confidence([0.0])
        due.append(cache.recalled_steps - sum(due))
        model(input_ids=ids[:, at : at + 1], cache=cache)
    assert [record.recalled for record in cache.trace.records] == [bool(each) for each in due]
    assert sum(due) == {"steady": 8, "always": 16}.get(mode, sum(due)) > 0


def test_the_gate_goes_on_where_it_was_saved():
    config = CacheConfig(policy="confkv+recall")
    for mode in ("gated", "random"):
        gate = RecallGate(config, mode)
        gate.decide([0.3])
        other = RecallGate(config, mode)
        other.restore(gate.state())
        assert [gate.decide([value / 20]) for value in range(20)] == [other.decide([v / 20]) for v in range(20)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"policy": "window", "recall": "always"}, "use policy confkv"),
        ({"policy": "confkv+recall", "int8_share": 0.0}, "int8_share above 0"),
        ({"policy": "confkv+recall", "recall": "sometimes"}, "off, gated, steady, random, always"),
        ({"policy": "confkv+recall", "recall_share": 1.5}, "recall_share"),
        ({"policy": "confkv+recall", "promote": 0}, "promote"),
    ],
)
def test_bad_recall_settings_are_refused(options, words):
    with pytest.raises(ConfigError, match=words):
        CacheConfig(**options)


def test_recalling_without_being_asked_is_refused(model):
    cache = ConfKVCache(model.config, CacheConfig(**TIGHT))
    model(input_ids=make_prompt("llama", 40).ids, cache=cache)
    with pytest.raises(CacheStateError, match="ask should_recall first"), cache.recalling():
        pass
