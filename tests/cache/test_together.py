"""Several caches fed in one forward are what they would be if each had been fed alone."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import asdict

import pytest
import torch
from helpers import TIGHT, new_cache
from tiny import CORE, MROPE, make_config, make_prompt
from transformers import LlamaConfig

from confkv_agents.cache import ConfKVCache, Trace
from confkv_agents.cache.together import Together, rows_are_independent
from confkv_agents.errors import CacheStateError

RECALL = {
    **TIGHT,
    "policy": "confkv+recall",
    "budget": 24,
    "recall": "gated",
    "recall_share": 1.0,
    "promote": 4,
    "span": 3,
}
ROWS = (  # configuration and length of the prompt
    ({"policy": "confkv", **TIGHT}, 40),
    ({"policy": "full", "chunk": 16}, 7),
    ({**RECALL}, 60),
    ({"policy": "window", **TIGHT}, 33),
    ({"policy": "h2o", **TIGHT, "budget": 20}, 50),
    ({"policy": "confkv", **TIGHT, "int8_share": 0.0, "group": "max"}, 21),
    ({"policy": "snapkv", **TIGHT}, 12),
    ({"policy": "full"}, 30),
)
STEPS, JOINS, LEAVES = 6, 2, 4  # the last row joins and the first leaves after so many steps


def read(model, config: dict, length: int, seed: int) -> ConfKVCache:
    cache = new_cache(model, **config)
    ids = make_prompt("llama", length, seed).ids
    for start in range(0, length, cache.config.chunk):
        model(input_ids=ids[:, start : start + cache.config.chunk], cache=cache)
    cache.trace = Trace()
    return cache


def places(family: str, caches: Sequence[ConfKVCache]) -> torch.Tensor:
    """Positions of the next tokens; with M-RoPE three rows that are not alike, as behind a picture."""
    seen = torch.tensor([[cache.seen] for cache in caches])
    return torch.stack((seen, seen - 1, seen - 2)) if family in MROPE else seen


def feed_alone(model, family, caches, tokens) -> torch.Tensor:
    each = [
        model(input_ids=token.view(1, 1), position_ids=places(family, [cache]), cache=cache).logits[:, -1]
        for cache, token in zip(caches, tokens, strict=True)
    ]
    return torch.cat(each)


def feed_together(model, family, caches, tokens) -> torch.Tensor:
    together = Together(caches)
    if family not in MROPE:
        assert together.position_ids(tokens.device).tolist() == places(family, caches).tolist()
    logits = model(input_ids=tokens.view(-1, 1), position_ids=places(family, caches), cache=together).logits[:, -1]
    assert not together.failures
    return logits


def one_step(model, family, feed, caches, tokens) -> tuple[torch.Tensor, int]:
    """Feed a token each, those that ask for it again with their cold tier open; return logits and how many asked."""
    logits = feed(model, family, caches, tokens)
    unsure = [row for row, cache in enumerate(caches) if cache.should_recall([0.5])]
    if unsure:
        with contextlib.ExitStack() as stack:
            for row in unsure:
                stack.enter_context(caches[row].recalling())
            logits[unsure] = feed(model, family, [caches[row] for row in unsure], tokens[unsure])
    for row, cache in enumerate(caches):
        cache.observe(logits[row : row + 1])
    return logits, len(unsure)


def assert_alike(cache: ConfKVCache, other: ConfKVCache) -> None:
    (tensors, values), (others, other_values) = cache.state(), other.state()
    assert tensors.keys() == others.keys()
    for name, tensor in tensors.items():
        if tensor.dtype == torch.uint8:  # codes: a rounding apart at the most
            assert (tensor.int() - others[name].int()).abs().max() <= 1, name
        elif tensor.is_floating_point():
            assert torch.allclose(tensor, others[name], atol=1e-4), name
        else:
            assert torch.equal(tensor, others[name]), name
    assert values.pop("smoothed") == pytest.approx(other_values.pop("smoothed"), abs=1e-5)
    assert values.pop("means") == pytest.approx(other_values.pop("means"), abs=1e-3)
    values.pop("recalls"), other_values.pop("recalls")
    assert values == other_values
    assert isinstance(cache.trace, Trace) and isinstance(other.trace, Trace)
    assert len(cache.trace.records) == len(other.trace.records)
    for record, reference in zip(cache.trace.records, other.trace.records, strict=True):
        for name, figure in asdict(record).items():
            known = getattr(reference, name)
            assert figure == (pytest.approx(known, abs=1e-3) if isinstance(known, float) else known), name


@pytest.mark.parametrize("family", (*CORE, *MROPE), indirect=True)
def test_rows_of_any_kind_that_join_and_leave_equal_each_alone(model, family) -> None:
    kinds = ROWS if family == "llama" else ROWS[:3]
    together = [read(model, *row, seed) for seed, row in enumerate(kinds, 2)]
    alone = [cache.fork() for cache in together]
    for cache in alone:
        cache.trace = Trace()
    tokens, recalled = torch.arange(3, 3 + len(kinds)), 0
    for step in range(STEPS):
        rows = slice(0 if step < LEAVES else 1, len(kinds) if step >= JOINS else -1)
        ours, asked = one_step(model, family, feed_together, together[rows], tokens[rows])
        reference, _ = one_step(model, family, feed_alone, alone[rows], tokens[rows])
        assert torch.allclose(ours, reference, atol=2e-5)
        tokens[rows] = reference.argmax(-1)
        assert torch.equal(ours.argmax(-1), tokens[rows])
        recalled += asked
    asks = STEPS if family == "llama" else STEPS - JOINS  # the one row with a cold tier, which a sliding layer forbids
    assert recalled == (0 if family == "gemma3_text" else asks)
    assert [cache.seen for cache in together] == [cache.seen for cache in alone]
    for ours, reference in zip(together, alone, strict=True):
        assert_alike(ours, reference)


@pytest.mark.parametrize("where", ["arrive", "attend"])
def test_a_row_that_fails_leaves_the_others_as_they_were_alone(where, monkeypatch) -> None:
    model = _llama()
    together = [read(model, *row, seed) for seed, row in enumerate(ROWS[:4], 2)]
    alone = [cache.fork() for cache in together]
    for cache in alone:
        cache.trace = Trace()
    called = 0

    def failing(*args, **kwargs):
        nonlocal called
        called += 1
        raise MemoryError("no room in this one")

    monkeypatch.setattr(together[1], where, failing)
    tokens = torch.tensor([3, 4, 5, 6])
    one = Together(together)
    ours = model(input_ids=tokens.view(-1, 1), position_ids=one.position_ids(tokens.device), cache=one).logits[:, -1]
    reference = feed_alone(model, "llama", alone, tokens)
    assert list(one.failures) == [1] and str(one.failures[1]) == "no room in this one"
    assert called == 1  # it is left out from then on
    good = [0, 2, 3]
    assert torch.isfinite(ours).all() and torch.allclose(ours[good], reference[good], atol=2e-5)
    for row in good:
        assert_alike(together[row], alone[row])


def test_what_cannot_be_fed_together_is_refused() -> None:
    model = _llama()
    one, other = (read(model, {"policy": "full"}, 5, seed) for seed in (2, 3))
    with pytest.raises(CacheStateError, match="different ones"):
        Together([one, other, one])
    with pytest.raises(CacheStateError, match="at least one"):
        Together([])
    with pytest.raises(CacheStateError, match="holds 0 rows"):
        Together([one, new_cache(model)])
    two = one.fork()
    two.batch_repeat_interleave(2)
    with pytest.raises(CacheStateError, match="holds 2 rows"):
        Together([one, two])
    with pytest.raises(CacheStateError, match="another model"):
        Together([one, read(_llama(layers=2), {"policy": "full"}, 5, 2)])
    for ids, mask, problem in (
        (torch.ones(2, 3, dtype=torch.long), None, "one token each"),
        (torch.ones(3, 1, dtype=torch.long), None, "3 rows"),
        (torch.ones(2, 1, dtype=torch.long), torch.ones(2, 6), "no attention_mask"),
    ):
        with pytest.raises(CacheStateError, match=problem):
            model(input_ids=ids, attention_mask=mask, cache=Together([one.fork(), other.fork()]))


def test_positions_that_follow_the_longest_row_make_rows_depend_on_each_other(family) -> None:
    assert rows_are_independent(make_config(family))
    for kind in ("dynamic", "longrope"):
        shared = LlamaConfig(rope_parameters={"rope_type": "default", "rope_theta": 1e4})
        shared.rope_parameters = {"rope_type": kind, "rope_theta": 1e4, "factor": 2.0}
        assert not rows_are_independent(shared)
        shared.rope_parameters = {"full_attention": shared.rope_parameters}
        assert not rows_are_independent(shared)


def _llama(layers: int = 4):
    from transformers import AutoModelForCausalLM

    from confkv_agents.cache import attach

    torch.manual_seed(0)
    config = make_config("llama")
    config.num_hidden_layers = layers
    return attach(AutoModelForCausalLM.from_config(config).eval())
