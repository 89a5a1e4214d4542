"""What the contract tests share: configurations, a greedy run of `generate`, and a look into a cache."""

from __future__ import annotations

import torch

from confkv_agents.cache import CacheConfig, ConfKVCache

WIDE = {"budget": 256, "window": 8, "int8_share": 0.0}
TIGHT = {"budget": 14, "window": 4, "sinks": 2, "chunk": 8, "evict_every": 3}
BOUNDED = ("window", "h2o", "snapkv", "confkv")
POLICIES = ("full", *BOUNDED)


def generate(model, cache, ids, mask=None, tokens=12, **kwargs):
    mask = torch.ones_like(ids) if mask is None else mask
    processors = cache.logits_processors() if isinstance(cache, ConfKVCache) else []
    return model.generate(
        ids,
        attention_mask=mask,
        cache=cache,
        max_new_tokens=tokens,
        do_sample=False,
        return_dict_in_generate=True,
        output_logits=True,
        logits_processor=processors,
        **kwargs,
    )


def difference(ours, reference) -> float:
    return max((a - b).abs().max().item() for a, b in zip(ours.logits, reference.logits, strict=True))


def stored_positions(cache: ConfKVCache) -> torch.Tensor:
    """`[L, B, H, S]` logical positions of what the bank stores, -1 for empty slots."""
    table = cache._banks[0][0].stores.table
    return table.position[..., : table.regions.total]


def new_cache(model, **config) -> ConfKVCache:
    return ConfKVCache(model.config, CacheConfig(**config))
