"""Reading a prompt of any length in chunks, and letting its end look at each chunk before eviction decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from confkv_agents.cache.confidence import confidence


def read_prompt(
    model: Any,
    cache: Any,
    ids: torch.Tensor,
    *,
    chunk: int | None = None,
    on_chunk: Callable[[int], None] | None = None,
) -> torch.Tensor:
    """Feed a prompt, or its next part, to a cache.

    Args:
        model: A transformers model; if `cache` is a `ConfKVCache`, attached to it.
        cache: Any `transformers.Cache`.
        ids: `[B, Q]` token ids that the cache has not seen yet.
        chunk: Tokens per forward; by default `cache.config.chunk`, or everything at once for a stock cache.
        on_chunk: Called with the number of tokens read so far after each chunk.

    Returns:
        `[B, V]` raw logits of the token that follows.

    While a cache says that it wants one (`wants_probe`), the last tokens of the prompt are run over what is cached
    behind each chunk but the last, and are not stored: what the prompt ends with decides what is worth keeping. The
    cold tier is open to the last chunk, where the question stands, and a new turn of several chunks looks at it once
    before the first: it may ask for what was evicted when nobody could know.
    """
    total = ids.shape[1]
    if total == 0:
        raise ValueError("ids holds no token: there is nothing to read")
    if chunk is None:
        chunk = getattr(getattr(cache, "config", None), "chunk", total)
    if total > chunk and getattr(cache, "wants_recall", False):
        with cache.looking_ahead(recall=True):
            feed(model, cache, {"input_ids": ids[:, max(0, total - cache.policy.probe) :]})
    for start in range(0, total, chunk):
        end = min(start + chunk, total)
        if end == total and hasattr(cache, "recall_next"):
            cache.recall_next()
        ahead = ids[:, max(end, total - cache.policy.probe) :] if getattr(cache, "wants_probe", False) else ids[:, :0]
        logits = read_chunk(
            model, cache, {"input_ids": ids[:, start:end]}, {"input_ids": ahead} if ahead.numel() else None
        )
        if on_chunk is not None:
            on_chunk(end)
    return logits


def read_chunk(model: Any, cache: Any, chunk: Mapping[str, Any], ahead: Mapping[str, Any] | None) -> torch.Tensor:
    """Feed a chunk, and let the end of the prompt look at it and at what is cached.

    Args:
        model: The model.
        cache: Its cache; one that wants a probe if there is anything ahead.
        chunk: Model inputs of the chunk: ids, or embeddings where a picture lies in it; positions with M-RoPE.
        ahead: Model inputs of the prompt's last tokens, text only, as if they followed the chunk; None for none.

    Returns:
        `[B, V]` raw logits of the token that follows the chunk; with tokens ahead they mean nothing.
    """
    if ahead is None:
        return feed(model, cache, chunk)
    if cache.reads_ahead:
        with cache.reading_ahead(ahead["input_ids"].shape[1]):
            return feed(model, cache, _joined(model, chunk, ahead))
    logits = feed(model, cache, chunk)
    with cache.looking_ahead():
        feed(model, cache, ahead)
    return logits


def _joined(model: Any, chunk: Mapping[str, Any], ahead: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of both, one behind the other."""
    both = {**chunk}
    if "inputs_embeds" in chunk:
        both["inputs_embeds"] = torch.cat((chunk["inputs_embeds"], model.get_input_embeddings()(ahead["input_ids"])), 1)
    else:
        both["input_ids"] = torch.cat((chunk["input_ids"], ahead["input_ids"]), 1)
    if "position_ids" in chunk:
        both["position_ids"] = torch.cat((chunk["position_ids"], ahead["position_ids"]), -1)
    return both


def again_if_unsure(model: Any, cache: Any, token: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    """Compute the last step again, looking at the cold tier too, if the cache is of those that have one and asks.

    Args:
        model: The model.
        cache: Any cache.
        token: `[B, 1]`, the last token fed.
        logits: `[B, V]` raw logits that it gave.

    Returns:
        `[B, V]` raw logits to go on with; `cache.observe` has not seen them yet.
    """
    policy = getattr(cache, "policy", None)
    if policy is None or policy.recall != "gated":  # elsewhere confidence decides nothing, so it need not be asked
        return logits
    if cache.should_recall(confidence(logits, cache.config.confidence).tolist()):
        with cache.recalling():
            return feed(model, cache, {"input_ids": token})
    return logits


def feed(model: Any, cache: Any, inputs: Mapping[str, Any]) -> torch.Tensor:
    """Run the model on new tokens; returns the raw logits of the token that follows, `[B, V]`."""
    output = model(**inputs, cache=cache, use_cache=True, logits_to_keep=1)
    logits: torch.Tensor = output.logits[:, -1]
    return logits
