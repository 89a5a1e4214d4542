"""Contract 1: with nothing evicted, everything equals the stock cache."""

from __future__ import annotations

import pytest
import torch
from helpers import POLICIES, WIDE, difference, generate, new_cache
from tiny import left_padded, make_prompt
from transformers import DynamicCache


@pytest.mark.parametrize("policy", POLICIES)
def test_without_eviction_logits_equal_the_stock_cache(policy, family, stock, model):
    prompt = make_prompt(family, 24)
    reference = generate(stock, DynamicCache(config=stock.config), prompt.ids, **prompt.extra)
    ours = generate(model, new_cache(model, policy=policy, **WIDE), prompt.ids, **prompt.extra)
    assert difference(ours, reference) < 1e-5


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("chunk", [1, 5, 16])
def test_reading_in_chunks_equals_reading_at_once(policy, chunk, family, stock, model):
    prompt = make_prompt("llama", 24)  # text only: the engine's tests let a chunk end inside a picture
    reference = stock(input_ids=prompt.ids, cache=DynamicCache(config=stock.config)).logits
    cache = new_cache(model, policy=policy, **WIDE)
    parts = [model(input_ids=part, cache=cache).logits for part in prompt.ids.split(chunk, 1)]
    assert (torch.cat(parts, 1) - reference).abs().max() < 1e-5


@pytest.mark.parametrize("policy", POLICIES)
def test_left_padded_batch_equals_the_stock_cache(policy, family, stock, model):
    prompt = make_prompt("llama", 24)
    short, short_mask = left_padded(prompt.ids[:, :15], 24)
    ids = torch.cat([prompt.ids, short])
    mask = torch.cat([torch.ones_like(prompt.ids), short_mask])
    reference = generate(stock, DynamicCache(config=stock.config), ids, mask)
    ours = generate(model, new_cache(model, policy=policy, **WIDE), ids, mask)
    assert difference(ours, reference) < 1e-5


@pytest.mark.parametrize("policy", POLICIES)
def test_beam_search_equals_the_stock_cache(policy, family, stock, model):
    prompt = make_prompt(family, 24)
    options = {"max_new_tokens": 8, "num_beams": 3, "do_sample": False, **prompt.extra}
    mask = torch.ones_like(prompt.ids)
    reference = stock.generate(prompt.ids, attention_mask=mask, **options)
    cache = new_cache(model, policy=policy, **WIDE)
    assert torch.equal(model.generate(prompt.ids, attention_mask=mask, cache=cache, **options), reference)


def test_attached_model_without_our_cache_is_unchanged(family, stock, model):
    prompt = make_prompt(family, 24)
    short, mask = left_padded(make_prompt("llama", 15).ids, 24)
    for ids, attention, extra in ((prompt.ids, None, prompt.extra), (short, mask, {})):
        reference = generate(stock, DynamicCache(config=stock.config), ids, attention, **extra)
        assert difference(generate(model, DynamicCache(config=model.config), ids, attention, **extra), reference) < 1e-6
    reference = stock(input_ids=prompt.ids, use_cache=False, **prompt.extra).logits
    assert (model(input_ids=prompt.ids, use_cache=False, **prompt.extra).logits - reference).abs().max() < 1e-6
