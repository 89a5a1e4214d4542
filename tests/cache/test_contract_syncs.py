"""Contract 9: a decoding step makes at most one transfer to the host, with and without an eviction."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from helpers import POLICIES, new_cache
from syncs import counted
from tiny import left_padded, make_config, make_prompt
from transformers import AutoModelForCausalLM, DynamicCache

from confkv_agents.cache import attach

CONFIG = {"budget": 48, "window": 8, "sinks": 2, "chunk": 16, "evict_every": 4}


def decode(model, cache, token, steps: int, mask=None) -> list[Counter[str]]:
    """Return what each of `steps` decoding steps asked for; a step is a forward and `observe`."""
    found = []
    for _ in range(steps):
        arguments = {}
        if mask is not None:
            mask = torch.cat([mask, torch.ones_like(mask[:, :1])], 1)
            arguments["attention_mask"] = mask
        with counted() as asked:
            logits = model(input_ids=token, cache=cache, use_cache=True, logits_to_keep=1, **arguments).logits[:, -1]
            if hasattr(cache, "observe"):
                cache.observe(logits)
        found.append(asked)
    return found


def evictions(cache) -> int:
    return cache._banks[0][0].last_eviction


def test_the_counter_sees_every_way_to_the_host():
    tensor = torch.arange(6.0).view(2, 3)
    ways = [
        tensor.tolist,
        tensor.numpy,
        tensor.cpu,
        tensor.nonzero,
        lambda: tensor.to("cpu"),
        lambda: tensor[0, 0].item(),
        lambda: float(tensor[0, 0]),
        lambda: bool(tensor[0, 0] > 0),
        lambda: int(tensor.max()),
        lambda: tensor[tensor > 2],
        lambda: tensor.clone().__setitem__(tensor > 2, tensor[0, :1].expand(3)),
        lambda: tensor.masked_select(tensor > 2),
        lambda: torch.equal(tensor, tensor + 1),
        lambda: tensor.unique(),
    ]
    for way in ways:
        with counted() as found:
            way()
        assert found.total() >= 1
    with counted() as found:
        (tensor + 1).softmax(-1).argsort(-1).scatter_(-1, torch.zeros(2, 1, dtype=torch.long), 3)[:, None].sum()
        tensor.clone()[:, 1:] = 0
    assert found.total() == 0


@pytest.mark.parametrize(("policy", "padded"), [*((policy, False) for policy in POLICIES), ("confkv", True)])
def test_a_decoding_forward_runs_where_nobody_can_read_values(policy, padded):
    """On the meta device tensors have no values: whatever asks for one, or for a copy on the host, raises."""
    config = make_config("llama")
    config.num_hidden_layers = 1
    with torch.device("meta"):
        model = attach(AutoModelForCausalLM.from_config(config).eval())
    ids = torch.zeros(2, 60, dtype=torch.long, device="meta")
    cache = new_cache(model, policy=policy, **CONFIG)
    model(input_ids=ids, cache=cache)
    before = evictions(cache) if policy != "full" else 0
    if padded:  # as after reading a padded prompt, where the host asks how much of each chunk is padding
        for bank, _ in cache._banks:
            bank.first_real = torch.zeros(2, dtype=torch.long, device="meta")
    for step in range(9):
        mask = torch.ones(2, 61 + step, dtype=torch.long, device="meta") if padded else None
        model(input_ids=ids[:, :1], attention_mask=mask, cache=cache, use_cache=True, logits_to_keep=1)
        cache.observe_confidence([0.5, 0.9])
    if policy != "full":
        assert evictions(cache) > before + 4, "several of these steps evicted"


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("family", ["llama", "gemma3_text", "qwen3_vl"], indirect=True, scope="session")
def test_a_decoding_step_asks_the_device_once(policy, family, stock, model):
    ids = make_prompt("llama", 70).ids
    reference = DynamicCache(config=stock.config)
    stock(input_ids=ids, cache=reference)
    asked_anyway = max(found.total() for found in decode(stock, reference, ids[:, :1], 3))
    cache = new_cache(model, policy=policy, **CONFIG)
    for part in ids.split(16, 1):
        model(input_ids=part, cache=cache)
    before = evictions(cache) if policy != "full" else 0
    found = decode(model, cache, ids[:, :1], 14)
    assert asked_anyway == 0
    assert [each.total() for each in found] == [1] * 14, found
    if policy != "full":
        assert evictions(cache) > before + 4, "several of these steps evicted"


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("family", ["llama"], indirect=True, scope="session")
def test_a_padded_batch_asks_once_too(policy, family, model):
    ids = make_prompt("llama", 70).ids
    short, short_mask = left_padded(ids[:, :40], 70)
    batch, mask = torch.cat([ids, short]), torch.cat([torch.ones_like(ids), short_mask])
    cache = new_cache(model, policy=policy, **CONFIG)
    model(input_ids=batch, attention_mask=mask, cache=cache)
    found = decode(model, cache, batch[:, -1:], 14, mask)
    assert max(each.total() for each in found) == 1, found
