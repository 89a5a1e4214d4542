"""The cache in what transformers builds on `generate`: pipelines, beams, several answers, assisted decoding."""

from __future__ import annotations

import pytest
import torch
from helpers import BOUNDED, POLICIES, TIGHT, WIDE, difference, generate, new_cache, stored_positions
from tiny import VOCABULARY, left_padded, make_prompt
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import DynamicCache, PreTrainedTokenizerFast, pipeline

from confkv_agents.errors import CacheStateError

SMALL = {**TIGHT, "budget": 20}

pytestmark = pytest.mark.parametrize("family", ["llama"], indirect=True, scope="session")


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    words = {"none": 0, "unknown": 1} | {f"w{number}": number for number in range(2, VOCABULARY)}
    inner = Tokenizer(models.WordLevel(words, unk_token="unknown"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="none", unk_token="unknown")


def greedy(model, ids, cache, mask=None, **options):
    mask = torch.ones_like(ids) if mask is None else mask
    return model.generate(ids, attention_mask=mask, cache=cache, max_new_tokens=10, do_sample=False, **options)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_text_generation_pipeline_takes_the_cache(policy, family, stock, model, tokenizer):
    text = " ".join(f"w{number}" for number in range(10, 40))
    answers = []
    for each, cache in ((stock, None), (model, new_cache(model, policy=policy, **WIDE))):
        pipe = pipeline("text-generation", model=each, tokenizer=tokenizer, device="cpu")
        options = {"max_new_tokens": 8, "do_sample": False, "return_full_text": False}
        options |= {} if cache is None else {"cache": cache, "logits_processor": cache.logits_processors()}
        answers.append(pipe(text, **options)[0]["generated_text"])
    assert answers[0] == answers[1]
    assert cache.get_seq_length() == 30 + 7 and cache.usage().confidence is not None
    small = new_cache(model, policy=policy, **SMALL)
    pipe(text, max_new_tokens=8, do_sample=False, cache=small)
    assert small.get_seq_length() == 37 and (policy == "full" or small.usage().stored_slots <= 20)


@pytest.mark.parametrize("policy", BOUNDED)
def test_rows_reordered_under_eviction_go_on_as_the_rows_they_came_from(policy, family, model):
    """What beam search does after every step: duplicates and permutations, each row with its own tokens and budget."""
    ids = torch.cat([make_prompt(family, 60, seed=seed).ids for seed in (1, 2, 3)])
    chosen = torch.tensor([2, 0, 2, 1])
    straight, moved = (new_cache(model, policy=policy, **SMALL) for _ in range(2))
    for cache, order in ((straight, None), (moved, chosen)):
        for step in range(40):
            cache.observe(model(input_ids=ids[:, step : step + 1], cache=cache).logits[:, -1])
        if order is not None:
            cache.reorder_cache(order)
    for step in range(40, 60):
        a = model(input_ids=ids[:, step : step + 1], cache=straight).logits[:, -1]
        b = model(input_ids=ids[chosen, step : step + 1], cache=moved).logits[:, -1]
        assert (a[chosen] - b).abs().max() < 1e-5
        sure = straight.observe(a)
        assert [sure[row] for row in chosen] == pytest.approx(moved.observe(b), abs=1e-6)
        assert moved.layers[0].batch_size == 4


@pytest.mark.parametrize("policy", BOUNDED)
@pytest.mark.parametrize("int8_share", [0.0, 0.5])
def test_beam_search_under_eviction_equals_the_likeliest_of_its_beams_read_anew(policy, int8_share, family, model):
    """The score that beam search gives its answer is that of a single row that was fed the same tokens."""
    ids = make_prompt(family, 40).ids
    config = {**SMALL, "policy": policy, "int8_share": int8_share, "min_budget": 20}
    cache = new_cache(model, **config)
    out = greedy(model, ids, cache, num_beams=3, return_dict_in_generate=True, output_scores=True)
    assert max(row[0] for row in cache.stored_slots()) <= 20 + 1
    assert cache.get_seq_length() == 40 + 9
    alone = new_cache(model, **config)
    logits = model(input_ids=ids, cache=alone).logits[:, -1]
    total = 0.0
    for token in out.sequences[0, 40:]:
        total += logits.log_softmax(-1)[0, token].item()
        logits = model(input_ids=token.view(1, 1), cache=alone).logits[:, -1]
    assert total / 10 == pytest.approx(out.sequences_scores.item(), abs=5e-3 if int8_share else 1e-4)


@pytest.mark.parametrize("policy", POLICIES)
def test_several_answers_from_one_prompt_are_those_of_equal_rows(policy, family, stock, model):
    ids = make_prompt(family, 24).ids
    options = {"num_beams": 4, "num_return_sequences": 3}
    reference = greedy(stock, ids, DynamicCache(config=stock.config), **options)
    assert torch.equal(greedy(model, ids, new_cache(model, policy=policy, **WIDE), **options), reference)
    cache = new_cache(model, policy=policy, **SMALL)
    rows = greedy(model, ids.repeat(3, 1), cache)
    assert torch.equal(rows[0], rows[1]) and torch.equal(rows[0], rows[2])


@pytest.mark.parametrize("policy", BOUNDED)
def test_a_row_repeated_or_picked_goes_on_as_before(policy, family, model):
    ids, mask = left_padded(make_prompt(family, 30).ids, 40)
    batch = torch.cat([make_prompt(family, 40, seed=5).ids, ids])
    padding = torch.cat([torch.ones_like(mask), mask])
    cache = new_cache(model, policy=policy, **SMALL)
    model(input_ids=batch, attention_mask=padding, cache=cache)
    fork = cache.fork()
    fork.batch_repeat_interleave(2)
    fork.batch_select_indices(torch.tensor([0, 3]))
    for _ in range(12):
        padding = torch.cat([padding, torch.ones(2, 1, dtype=padding.dtype)], 1)
        a, b = (model(input_ids=batch[:, :1], attention_mask=padding, cache=c).logits for c in (cache, fork))
        assert torch.equal(a, b)
    assert torch.equal(stored_positions(cache), stored_positions(fork))


def test_assisted_decoding_works_where_nothing_is_evicted(family, stock, model):
    ids = make_prompt(family, 24).ids
    reference = greedy(stock, ids, DynamicCache(config=stock.config))
    for options in ({"assistant_model": stock}, {"assistant_model": model}, {"prompt_lookup_num_tokens": 3}):
        assert torch.equal(greedy(model, ids, new_cache(model, policy="full"), **options), reference)


@pytest.mark.parametrize("policy", BOUNDED)
def test_assisted_decoding_is_refused_where_tokens_are_evicted(policy, family, model):
    ids = make_prompt(family, 24).ids
    for options in ({"assistant_model": model}, {"prompt_lookup_num_tokens": 3}):
        with pytest.raises(ValueError, match="requires a cache that can be cropped"):
            greedy(model, ids, new_cache(model, policy=policy, **WIDE), **options)


def test_cropping_by_a_positive_number_is_refused(family, model):
    cache = new_cache(model, policy="full")
    model(input_ids=make_prompt(family, 9).ids, cache=cache)
    with pytest.raises(CacheStateError, match=r"pass -4 to take .* or call crop_to\(4\)"):
        cache.crop(4)
    cache.crop(-4)
    cache.crop(0)
    assert cache.get_seq_length() == 5


def test_two_caches_at_once_and_moving_layers_are_refused(family, model):
    ids = make_prompt(family, 9).ids
    with pytest.raises(ValueError, match="cache_implementation"):
        greedy(model, ids, new_cache(model), cache_implementation="quantized")
    with pytest.raises(CacheStateError, match="smaller budget"):
        new_cache(model).offload(0)


@pytest.mark.parametrize("policy", BOUNDED)
def test_reading_the_prompt_in_transformers_chunks_stays_in_budget(policy, family, model):
    ids = make_prompt(family, 90).ids
    cache = new_cache(model, policy=policy, **SMALL)
    whole = generate(model, cache, ids, prefill_chunk_size=6)
    assert torch.isfinite(torch.stack(whole.logits)).all()
    assert cache.get_seq_length() == 90 + 11
    wide = [generate(model, new_cache(model, policy=policy, **WIDE), ids, **o) for o in ({}, {"prefill_chunk_size": 6})]
    assert difference(*wide) < 1e-5


@pytest.mark.parametrize(
    ("rows", "length", "told"), [(1, 5, "no new token was fed"), (1, 0, "no new token"), (2, 40, "holds 1 rows, but 2")]
)
def test_input_that_does_not_go_on_from_the_cache_is_refused_and_breaks_nothing(rows, length, told, family, model):
    prompt = make_prompt("llama", 20).ids
    cache = new_cache(model, policy="confkv", **WIDE)
    generate(model, cache, prompt, tokens=3)
    seen = cache.get_seq_length()
    other = make_prompt("llama", 40, seed=3).ids[:, :length].repeat(rows, 1)
    with pytest.raises(CacheStateError, match=told):
        generate(model, cache, other, tokens=3)
    assert cache.get_seq_length() == seen
    model(input_ids=prompt[:, :4], cache=cache)
    assert cache.get_seq_length() == seen + 4


def test_logits_that_are_not_numbers_are_refused(family, model):
    cache = new_cache(model, policy="confkv", **WIDE)
    model(input_ids=make_prompt("llama", 20).ids, cache=cache)
    with pytest.raises(CacheStateError, match="load it in bfloat16 or float32"):
        cache.observe(torch.full((1, VOCABULARY), float("nan")))
    with pytest.raises(CacheStateError, match="pass one step's"):
        cache.observe(torch.zeros(1, 1, VOCABULARY))
