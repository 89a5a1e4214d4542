"""Contract 2: a row does not know its neighbours."""

from __future__ import annotations

import pytest
import torch
from helpers import BOUNDED, TIGHT, generate, new_cache, stored_positions
from tiny import left_padded, make_prompt


@pytest.mark.parametrize("policy", BOUNDED)
@pytest.mark.parametrize(("pyramid", "int8_share"), [(-0.5, 0.0), (0.5, 0.0), (0.0, 0.5)])
def test_row_alone_equals_row_in_padded_batch(policy, pyramid, int8_share, model):
    ids = make_prompt("llama", 24).ids
    short, short_mask = left_padded(ids[:, :15], 24)
    batch, mask = torch.cat([ids, short]), torch.cat([torch.ones_like(ids), short_mask])
    config = {
        **TIGHT,
        "budget": 20,
        "pyramid": pyramid,
        "int8_share": int8_share,
        "policy": policy,
        "window": 4,
    }
    caches = new_cache(model, **config), new_cache(model, **config)
    alone = generate(model, caches[0], ids[:, :15], tokens=24)
    together = generate(model, caches[1], batch, mask, tokens=24)
    steps = torch.stack([(a[0] - b[1]).abs().max() for a, b in zip(alone.logits, together.logits, strict=True)])
    if not int8_share:
        assert steps.max() < 1e-5
        return
    # The last bit of a sum can turn a code, and a code the rank of an eviction: alike, not equal.
    assert steps[:3].max() < 2e-3
    kept = [[set(heads) for layer in stored_positions(c)[:, -1].tolist() for heads in layer] for c in caches]
    shared = [len(a & {p - 9 for p in b}) / len(a) for a, b in zip(*kept, strict=True)]
    assert sum(shared) / len(shared) > 0.9


def test_rows_that_code_tokens_at_different_times_keep_their_own_codes(model):
    """Three rows of different lengths on two KV heads: nothing may mix rows with heads."""
    rows = [make_prompt("llama", length, seed=length).ids for length in (120, 70, 95)]
    padded, masks = zip(*(left_padded(row, 120) for row in rows), strict=True)

    def feed(ids, mask):
        cache = new_cache(model, policy="confkv", budget=48, window=16, min_budget=24, chunk=32)
        positions = (mask.cumsum(1) - 1).clamp_min(0)
        for start in range(0, ids.shape[1], 32):
            piece = slice(start, start + 32)
            output = model(
                input_ids=ids[:, piece],
                attention_mask=mask[:, : min(start + 32, ids.shape[1])],
                position_ids=positions[:, piece],
                cache=cache,
            )
        return output.logits[:, -1]

    together = feed(torch.cat(padded), torch.cat(masks))
    alone = feed(rows[0], torch.ones_like(rows[0]))
    assert (alone[0] - together[0]).abs().max() < 1e-4  # a code turns what the last bit of a sum differs in
