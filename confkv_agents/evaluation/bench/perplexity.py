"""Perplexity while streaming: read a prefix, then the true tokens one by one, with eviction active all the time.

Scoring a text chunk by chunk is a different measure: there every token of a chunk sees the whole chunk before it in
full precision, and no budget follows any confidence. It is not offered.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from confkv_agents.cache import CacheConfig, ConfKVCache
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.engine.reading import read_prompt
from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.bench.decoding import Decoder, counting
from confkv_agents.evaluation.bench.needle import share_recalled
from confkv_agents.evaluation.bench.policies import REFERENCE
from confkv_agents.evaluation.bench.statistics import Array, bootstrap, perplexity, perplexity_difference
from confkv_agents.evaluation.bench.suite import Common, Item, Row, Setup, check_context
from confkv_agents.evaluation.bench.texts import encode

if TYPE_CHECKING:
    from rich.table import Table

LEAST_TEXTS = 3


@dataclass
class PerplexityBench:
    """Streams texts through every policy.

    Args:
        common: What every benchmark is told; a context is the prefix's tokens, `limit` the most texts.
        scored: Tokens that are scored after the prefix.
        block: Tokens per block of the bootstrap; neighbouring tokens are not independent.
    """

    common: Common
    scored: int = 500
    block: int = 50
    name = "perplexity"

    def __post_init__(self) -> None:
        if self.scored < 1 or self.block < 1:
            raise ConfigError("--scored and --block must be at least 1")

    def settings(self) -> dict[str, Any]:
        """Return how many tokens are scored; blocks only matter when summing up."""
        return {"scored": self.scored}

    def items(self, setup: Setup) -> list[Item]:
        """Return every text, at every context, under every policy; texts that are too short are left out.

        Raises:
            ConfigError: Not one text is long enough.
        """
        check_context(setup, max(self.common.contexts) + self.scored)
        items: list[Item] = []
        for context in self.common.contexts:
            self._ids, names = long_enough(setup, context, self.scored)
            for name in names[: self.common.limit]:
                for policy in setup.configs:
                    what = {"context": context, "text": name, "policy": policy}
                    items.append(Item(f"{context} {name} {policy}", what))
        return items

    def measure(self, setup: Setup, item: Item) -> Row:
        """Stream one text through one policy."""
        context = item.what["context"]
        ids = self._ids[item.what["text"]][: context + self.scored]
        config = setup.configs[item.what["policy"]]
        return {**item.what, **stream(setup.loaded, config, ids, context)}

    def summarize(self, setup: Setup, rows: Sequence[Row]) -> dict[str, Any]:
        """Return perplexity, its difference to full KV and bytes by context and policy."""
        contexts = {}
        for context in self.common.contexts:
            here = [row for row in rows if row["context"] == context]
            reference = {row["text"]: row["nats"] for row in here if row["policy"] == REFERENCE}
            policies = {}
            for policy in setup.configs:
                own = [row for row in here if row["policy"] == policy]
                if own:
                    policies[policy] = self._summary(own, reference)
            contexts[str(context)] = {"texts": sorted({row["text"] for row in here}), "policies": policies}
        return {
            "scored": self.scored,
            "block": self.block,
            "budget_bytes": setup.equal_bytes,
            "few_texts": min(len(part["texts"]) for part in contexts.values()) < LEAST_TEXTS,
            "contexts": contexts,
        }

    def tables(self, summary: Mapping[str, Any]) -> list[Table]:
        """Return a table per context."""
        from confkv_agents.evaluation.bench.tables import perplexity_table

        return [perplexity_table(summary, context) for context in summary["contexts"]]

    def plot(self, summary: Mapping[str, Any], path: Path) -> None:
        """Draw the differences to full KV."""
        from confkv_agents.evaluation.bench.plots import perplexity_plot

        perplexity_plot(summary, path)

    def _summary(self, own: Sequence[Row], reference: Mapping[str, Sequence[float]]) -> dict[str, Any]:
        sums = np.concatenate([block_sums(row["nats"], row["nats"], self.block) for row in own])
        found = {
            "perplexity": perplexity(sums[:, [0, 2]]),
            "perplexity_interval": bootstrap(sums[:, [0, 2]], perplexity, seed=self.common.seed),
            "difference": None,
            "difference_interval": None,
            "tokens": int(sums[:, 2].sum()),
            "budget": fmean(row["budget"] for row in own),
            "confidence": fmean(row["confidence"] for row in own),
            "peak_kv_bytes": max(row["usage"]["peak_kv_bytes"] for row in own),
            "held_kv_bytes": max(row["held_kv_bytes"] for row in own),
            "mean_kv_bytes": fmean(row["mean_kv_bytes"] for row in own),
            "cold_kv_bytes": max(row["cold_kv_bytes"] for row in own),
            "recalled": share_recalled(own),
            "probed": fmean(row["probed"] for row in own),
            "full_kv_bytes": max(row["usage"]["full_kv_bytes"] for row in own),
            "ms_per_token": 1000 * fmean(row["decode_s"] / len(row["nats"]) for row in own),
            "texts": {},
        }
        paired = [row for row in own if row["text"] in reference]
        if len(paired) == len(own):
            both = np.concatenate([block_sums(row["nats"], reference[row["text"]], self.block) for row in paired])
            found["difference"] = perplexity_difference(both)
            found["difference_interval"] = bootstrap(both, perplexity_difference, seed=self.common.seed)
        for row in own:
            pair = block_sums(row["nats"], reference.get(row["text"], row["nats"]), self.block)
            known = row["text"] in reference
            found["texts"][row["text"]] = {
                "perplexity": perplexity(pair[:, [0, 2]]),
                "difference": perplexity_difference(pair) if known else None,
            }
        return found


def long_enough(setup: Setup, context: int, scored: int) -> tuple[dict[str, list[int]], list[str]]:
    """Return the texts' token ids by name, and the names of those that hold `context + scored` tokens.

    Raises:
        ConfigError: Not one does.
    """
    coded = {text.name: encode(setup.loaded.tokenizer, text.content) for text in setup.texts}
    need = context + scored
    names = [name for name, ids in coded.items() if len(ids) >= need]
    if not names:
        longest = max(map(len, coded.values()))
        raise ConfigError(
            f"no text has the {need:,} tokens that --context {context} and --scored {scored} need (the "
            f"longest has {longest:,}); give longer texts with --texts"
        )
    return coded, names


def stream(
    loaded: LoadedModel, config: CacheConfig, ids: Sequence[int], prefix: int, constant: float | None = None
) -> Row:
    """Read `prefix` tokens in chunks, then feed the rest one by one, scoring each before it is fed.

    Args:
        loaded: The model.
        config: Of the cache.
        ids: The text; at least one token more than the prefix.
        prefix: Tokens that are only read.
        constant: Confidence told to the cache in place of the model's, see `Decoder`.

    Returns:
        Negative log likelihood in nats of each token after the prefix, the decoder's figures over the steps, tokens
        computed beside those of the prefix while it was read (`probed`), seconds.
    """
    tokens = torch.tensor([list(ids)], device=loaded.device)
    cache = ConfKVCache(loaded.model.config, config)
    with counting(loaded.model) as computed:
        began = time.perf_counter()
        logits = read_prompt(loaded.model, cache, tokens[:, :prefix])
        cache.compact()
        probed = computed.take() - prefix
        read = time.perf_counter()
        decoder = Decoder(loaded, cache, tokens[:, prefix - 1 : prefix], constant)
        nats: list[torch.Tensor] = []
        for place in range(prefix, tokens.shape[1]):
            target = tokens[:, place : place + 1]
            logits = decoder.observe(logits)
            nats.append(-logits.float().log_softmax(-1).gather(-1, target)[0, 0])
            if place + 1 < tokens.shape[1]:
                logits = decoder.feed(target)
        ended = time.perf_counter()
    return {
        "nats": [round(value, 5) for value in torch.stack(nats).tolist()],
        "probed": probed,
        "read_s": read - began,
        "decode_s": ended - read,
        **decoder.figures(),
    }


def block_sums(nats: Sequence[float], reference: Sequence[float], block: int) -> Array:
    """Return `[n, 3]` sums over blocks of tokens: nats, the reference's nats, tokens."""
    rows = []
    for start in range(0, len(nats), block):
        part = nats[start : start + block]
        rows.append((sum(part), sum(reference[start : start + block]), len(part)))
    return np.array(rows, dtype=np.float64)
