"""Speed against the stock cache: reading and decoding, alternating in the same run, so that a busy machine hurts alike.

One item is one round at one context: every contender reads the same tokens, then all decode the same tokens in turns
of a few steps. Steps are timed with eviction in them: a turn is as long as the cache's eviction interval.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers.cache_utils import DynamicCache

from confkv_agents.cache import ConfKVCache, attach
from confkv_agents.cache.usage import held_bytes
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.engine.reading import again_if_unsure, read_prompt
from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.bench.decoding import step
from confkv_agents.evaluation.bench.statistics import bootstrap, median
from confkv_agents.evaluation.bench.suite import Common, Item, Row, Setup, check_context
from confkv_agents.evaluation.bench.texts import encode

if TYPE_CHECKING:
    from rich.table import Table

    from confkv_agents.cache import CacheConfig

STOCK = "stock"
_WARM_UP = (96, 4)


class TimedCache(ConfKVCache):
    """A cache that can say how long its bookkeeping takes: confidence with budget, and settling with rank.

    While `timing` is on, `observe_s` sums the seconds of `observe` and `settle_s` those of `arrive`, in which the first
    layer of a forward folds in attention mass, follows the budget, ranks and evicts. The column sums that the rank is
    made of belong to attention and are not in it.
    """

    timing = False
    observe_s = settle_s = 0.0

    def observe(self, logits: torch.Tensor) -> list[float]:
        """Observe, and count the seconds."""
        if not self.timing:
            return super().observe(logits)
        _wait_for(logits.device)
        began = time.perf_counter()
        values = super().observe(logits)
        self.observe_s += time.perf_counter() - began
        return values

    def arrive(self, layer: Any, keys: torch.Tensor) -> None:
        """Make room, and count the seconds."""
        if not self.timing:
            super().arrive(layer, keys)
            return
        _wait_for(keys.device)
        began = time.perf_counter()
        super().arrive(layer, keys)
        _wait_for(keys.device)
        self.settle_s += time.perf_counter() - began


@dataclass
class LatencyBench:
    """Times every policy and the stock `DynamicCache` with sdpa.

    Args:
        common: What every benchmark is told; `limit` is the most rounds.
        rounds: Rounds per context.
        decode: Steps timed per round and contender.
        turn: Steps that a contender makes before the next one's turn.
        stock_chunk: Tokens per forward when the stock cache reads; 0 reads all at once, as `generate` does.
    """

    common: Common
    rounds: int = 3
    decode: int = 64
    turn: int = 16
    stock_chunk: int = 0
    name = "latency"

    def __post_init__(self) -> None:
        if self.rounds < 1 or self.turn < 1 or self.decode < self.turn or self.stock_chunk < 0:
            raise ConfigError(
                "--rounds and --turn must be at least 1, --decode at least --turn, --stock-chunk at least 0"
            )

    def settings(self) -> dict[str, Any]:
        """Return what the figures depend on: here the contenders too, since they share the machine in turns."""
        return {
            "decode": self.decode,
            "turn": self.turn,
            "stock_chunk": self.stock_chunk,
            "policies": self.common.policies,
            "threads": torch.get_num_threads(),
        }

    def items(self, setup: Setup) -> list[Item]:
        """Return every round at every context."""
        if STOCK in setup.configs:
            raise ConfigError(f"--policies: {STOCK!r} is the name of the stock cache, which always takes part")
        need = max(self.common.contexts) + self.decode + self.turn
        check_context(setup, need)
        self._ids = encode(setup.loaded.tokenizer, "\n\n".join(text.content for text in setup.texts))
        if len(self._ids) < need:
            raise ConfigError(
                f"the texts have {len(self._ids):,} tokens, but {need:,} are needed; give longer texts with --texts, "
                "or a smaller --context"
            )
        self._warm = False
        rounds = min(self.rounds, self.common.limit or self.rounds)
        return [
            Item(f"{context} round {number + 1}", {"context": context, "round": number})
            for context in self.common.contexts
            for number in range(rounds)
        ]

    def measure(self, setup: Setup, item: Item) -> Row:
        """Run one round."""
        loaded = setup.loaded
        if not self._warm:
            run_round(loaded, setup.configs, self._ids[: sum(_WARM_UP) * 2], _WARM_UP[0], _WARM_UP[1], 2, 0, 0)
            self._warm = True
        context, number = item.what["context"], item.what["round"]
        length = context + self.decode + self.turn
        start = random.Random(f"{self.common.seed} {context} {number}").randrange(len(self._ids) - length + 1)
        ids = self._ids[start : start + length]
        figures = run_round(loaded, setup.configs, ids, context, self.decode, self.turn, self.stock_chunk, number)
        return {**item.what, "contenders": figures}

    def summarize(self, setup: Setup, rows: Sequence[Row]) -> dict[str, Any]:
        """Return medians and ratios to the stock cache by context and contender."""
        contexts = {}
        for context in self.common.contexts:
            here = [row["contenders"] for row in rows if row["context"] == context]
            if here:
                contexts[str(context)] = {
                    label: self._summary(label, here, context) for label in (STOCK, *setup.configs)
                }
        return {"budget_bytes": setup.equal_bytes, "stock_chunk": self.stock_chunk, "contexts": contexts}

    def tables(self, summary: Mapping[str, Any]) -> list[Table]:
        """Return a table per context."""
        from confkv_agents.evaluation.bench.tables import latency_table

        return [latency_table(summary, context) for context in summary["contexts"]]

    def plot(self, summary: Mapping[str, Any], path: Path) -> None:
        """Draw both speeds over the context."""
        from confkv_agents.evaluation.bench.plots import latency_plot

        latency_plot(summary, path)

    def _summary(self, label: str, rounds: Sequence[Mapping[str, Any]], context: int) -> dict[str, Any]:
        own = [round_[label] for round_ in rounds]
        turns = [seconds for each in own for seconds in each["turns_s"]]
        stock = [seconds for round_ in rounds for seconds in round_[STOCK]["turns_s"]]
        speedups = [[theirs / ours] for theirs, ours in zip(stock, turns, strict=True)]
        found: dict[str, Any] = {
            "rounds": len(own),
            "read_s": median([each["read_s"] for each in own]),
            "read_tokens_per_s": context / median([each["read_s"] for each in own]),
            "read_speedup": median([round_[STOCK]["read_s"] / round_[label]["read_s"] for round_ in rounds]),
            "ms_per_token": 1000 * median(turns) / self.turn,
            "decode_speedup": median([ratio[0] for ratio in speedups]),
            "decode_speedup_interval": bootstrap(
                speedups, lambda block: float(np.median(block)), seed=self.common.seed
            ),
            "peak_kv_bytes": max(each["peak_kv_bytes"] for each in own),
        }
        if label != STOCK:
            found["observe_share"] = median([each["observe_share"] for each in own])
            found["settle_share"] = median([each["settle_share"] for each in own])
            found["cold_kv_bytes"] = max(each["cold_kv_bytes"] for each in own)
            found["recalled"] = fmean(each["recalled"] for each in own)
        return found


def run_round(
    loaded: LoadedModel,
    configs: Mapping[str, CacheConfig],
    ids: Sequence[int],
    context: int,
    decode: int,
    turn: int,
    stock_chunk: int,
    number: int,
) -> dict[str, Row]:
    """Let every contender read and decode the same tokens, in turns; `number` rotates who begins.

    Args:
        loaded: The model; attached to the cache afterwards, whatever happens.
        configs: Cache configuration by label.
        ids: At least `context + decode + turn` tokens.
        context: Tokens to read.
        decode: Steps to time.
        turn: Steps per turn; one more turn is timed inside the cache, for the shares.
        stock_chunk: Tokens per forward of the stock cache's reading, 0 for all.
        number: Of the round.

    Returns:
        By label: `read_s`, `turns_s` (seconds of each turn), `peak_kv_bytes`, and the shares of a step that go into
        `observe` (confidence, budget) and into settling (rank, eviction); of a policy also `cold_kv_bytes` and the
        share of steps that `recalled`, computed again where the policy does that.
    """
    labels = [STOCK, *configs]
    tokens = torch.tensor([list(ids)], device=loaded.device)
    caches: dict[str, Any] = {}
    figures: dict[str, Row] = {}
    logits: dict[str, torch.Tensor] = {}
    try:
        for label in _rotated(labels, number):
            _use(loaded, label)
            stock = label == STOCK
            cache = DynamicCache(config=loaded.model.config) if stock else _timed(loaded, configs[label])
            _wait_for(loaded.device)
            began = time.perf_counter()
            chunk = (stock_chunk or context) if stock else None
            logits[label] = read_prompt(loaded.model, cache, tokens[:, :context], chunk=chunk)
            int(logits[label].argmax())
            figures[label] = {"read_s": time.perf_counter() - began, "turns_s": []}
            caches[label] = cache
        turns = decode // turn
        for index in range(turns + 1):
            first = context + index * turn
            for label in _rotated(labels, number + index):
                _use(loaded, label)
                cache = caches[label]
                if index == turns and label == STOCK:
                    continue
                if index == turns:
                    cache.timing = True
                began = time.perf_counter()
                for place in range(first, first + turn):
                    if label != STOCK:
                        before = tokens[:, place - 1 : place]
                        logits[label] = again_if_unsure(loaded.model, cache, before, logits[label])
                        cache.observe(logits[label])
                    logits[label] = step(loaded.model, cache, tokens[:, place : place + 1])
                    int(logits[label].argmax())
                spent = time.perf_counter() - began
                if index < turns:
                    figures[label]["turns_s"].append(spent)
                else:
                    figures[label].update(observe_share=cache.observe_s / spent, settle_share=cache.settle_s / spent)
    finally:
        attach(loaded.model)
    for label, cache in caches.items():
        figures[label]["peak_kv_bytes"] = _stock_bytes(cache) if label == STOCK else cache.usage().peak_kv_bytes
        if label != STOCK:
            figures[label]["cold_kv_bytes"] = cache.usage().cold_bytes
            figures[label]["recalled"] = cache.recalled_steps / max(1, cache.decoded_steps)
    return figures


def _timed(loaded: LoadedModel, config: CacheConfig) -> TimedCache:
    return TimedCache(loaded.model.config, config)


def _stock_bytes(cache: Any) -> int:
    return held_bytes(tensor for layer in cache.layers for tensor in (layer.keys, layer.values) if tensor is not None)


def _use(loaded: LoadedModel, label: str) -> None:
    """Give the text part the attention that a contender runs on."""
    if label != STOCK:
        attach(loaded.model)
    elif loaded.text_config is loaded.model.config:
        loaded.model.set_attn_implementation("sdpa")
    else:
        loaded.model.set_attn_implementation({"text_config": "sdpa"})


def _rotated(labels: list[str], by: int) -> list[str]:
    by %= len(labels)
    return labels[by:] + labels[:by]


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
