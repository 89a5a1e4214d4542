"""Bytes that a cache takes, from configurations alone, before there is a model or a cache.

What one slot costs is not written down here a second time: stores, slot table and bank are made on torch's meta
device, where a tensor has a shape and no memory, and their tensors are counted. Written here is only how many slots
each store has after so many tokens. The figures are those that `ConfKVCache.usage` reports; tests hold the two
together for every policy and several families.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from transformers import PreTrainedConfig
from transformers.cache_utils import DynamicSlidingWindowLayer

from confkv_agents.cache.bounded import LONGEST_FREE_LIST, BoundedBank
from confkv_agents.cache.budget import BudgetSchedule, Slots
from confkv_agents.cache.cache import ConfKVCache
from confkv_agents.cache.cold import SEGMENT
from confkv_agents.cache.config import CacheConfig
from confkv_agents.cache.policies import Policy
from confkv_agents.cache.slots import Regions, SlotTable
from confkv_agents.cache.tiers import BLOCK, DenseStore, Int8Store, blocks_of
from confkv_agents.cache.usage import token_bytes
from confkv_agents.errors import UnsupportedModelError

_INDEX, _WEIGHT = 8, 4  # bytes of an entry in the list of free slots, and of a query's weight


def kv_shape(model_config: PreTrainedConfig) -> tuple[int, int]:
    """Return KV heads and the width of a head in channels, of a model's text part.

    Raises:
        UnsupportedModelError: The configuration says that there are none.
    """
    text = model_config.get_text_config(decoder=True)
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    for name in ("num_attention_heads", "hidden_size"):
        value = getattr(text, name, None)
        if not isinstance(value, int) or value < 1:
            raise UnsupportedModelError(f"the model's configuration says {name} is {value!r}; it must be at least 1")
    width = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    if min(heads, width) < 1:
        raise UnsupportedModelError(f"the model's configuration gives {heads} KV heads of {width} channels")
    return int(heads), int(width)


@dataclass(frozen=True)
class SlotBytes:
    """What is paid per slot of one layer, all KV heads and rows together, in bytes.

    Attributes:
        dense: A token in full precision, in the tier or the reading buffer.
        int8: A token as codes and scales.
        column: What the slot table knows of a slot, whichever store it is in.
        layer: What a layer takes however many slots it has.
    """

    dense: int
    int8: int
    column: int
    layer: int

    @classmethod
    def of(cls, policy: Policy, like: torch.Tensor) -> SlotBytes:
        """Measure them for keys like `like [B, Hkv, 0, D]`, on the meta device."""
        like = like.to("meta")
        empty = BoundedBank(like, 1, policy)
        rows, heads = like.shape[:2]
        tables = [
            SlotTable(1, rows, heads, Regions(slots, 0, 0), like.device, empty.stores.table.carried)
            for slots in (0, BLOCK)
        ]
        coded = [Int8Store(like, slots) for slots in (0, BLOCK)] if empty.stores.int8 else []
        narrow, wide = (_bytes(store.tensors()) for store in coded) if coded else (0, 0)
        return cls(
            dense=_bytes(DenseStore(like, BLOCK).tensors()) // BLOCK,
            int8=(wide - narrow) // BLOCK,
            column=(_bytes(tables[1].tensors()) - _bytes(tables[0].tensors())) // BLOCK,
            layer=_bytes(empty.tensors()),
        )


class CacheSizes:
    """Bytes of one cache, as a function of the tokens fed to it.

    Args:
        model_config: The model's configuration; the text part is taken from it.
        config: The cache's configuration.
        dtype: Number format of keys and values, which is the model's.
        rows: Rows of the batch.

    Raises:
        UnsupportedModelError: If the model has layers that the cache cannot serve.

    Attributes:
        full_layers: Layers whose tokens the cache manages.
        sliding: Window in tokens of each layer that keeps the stock sliding-window layer.
    """

    def __init__(
        self, model_config: PreTrainedConfig, config: CacheConfig, *, dtype: torch.dtype, rows: int = 1
    ) -> None:
        cache = ConfKVCache(model_config, config)
        self.config, self.policy, self.rows = config, cache.policy, rows
        self.sliding = [
            int(layer.sliding_window) for layer in cache.layers if isinstance(layer, DynamicSlidingWindowLayer)
        ]
        self.full_layers = len(cache.layers) - len(self.sliding)
        heads, width = kv_shape(model_config)
        self.layer_token = rows * token_bytes(heads, width, dtype.itemsize)
        like = torch.empty(rows, heads, 0, width, dtype=dtype, device="meta")
        self.slot = SlotBytes.of(self.policy, like)
        self._bank = BoundedBank(like, self.full_layers, self.policy)
        self._entry = rows * heads * _INDEX

    @property
    def token(self) -> int:
        """Bytes of one token's keys and values in full precision, over the layers that keep every token."""
        return self.full_layers * self.layer_token

    def full(self, tokens: int) -> int:
        """Bytes that keys and values of `tokens` tokens take in full precision, without any reserve."""
        return self.token * tokens + self._sliding(tokens, 1)

    def peak(self, tokens: int, decoded: int = 0) -> int:
        """Most bytes held at once while `tokens` tokens are read in chunks and the last `decoded` of them one by one.

        Under a budget never less than what is held, and at most 2 % above once the cache has come to its bound, which
        it has after about twice the budget; below that, stores may turn out smaller, by a quarter and a block. Where
        every token is kept, exact for these chunks: how much is kept in reserve depends on them.
        """
        read = tokens - decoded
        length = min(self.config.chunk, max(read, 1))
        if self.policy.bounded:
            return self._bounded(tokens, blocks_of(length)) + self._sliding(tokens, length)
        sizes = [(read, 0, length), (tokens, decoded, 1)] if decoded else [(read, 0, length)]
        return max(
            self.full_layers * self._grown(fed, alone) * self.layer_token + self._sliding(fed, last)
            for fed, alone, last in sizes
        )

    def held(self, tokens: int, decoded: int = 0) -> int:
        """Bytes held between two turns, with the reading buffer given back, if the budget is at its largest."""
        if not self.policy.bounded:
            return self.full_layers * self._grown(tokens, decoded) * self.layer_token + self._sliding(tokens, 1)
        return self._bounded(tokens, 0) + self._sliding(tokens, 1)

    @property
    def recalls(self) -> bool:
        """Whether there is a cold tier."""
        return self.policy.recall != "off"

    def cold(self, tokens: int) -> int:
        """Bytes of the cold tier in host memory; it grows by whole segments."""
        return self.full_layers * -(-tokens // SEGMENT) * SEGMENT * self.slot.int8 if self.recalls else 0

    def most(self, tokens: int) -> int:
        """Bytes that `tokens` tokens cannot exceed however they come, for reserving memory ahead."""
        if self.policy.bounded:
            return self.peak(tokens)
        slots = blocks_of(tokens + tokens // 8)
        return self.full_layers * slots * self.layer_token + self._sliding(tokens, min(self.config.chunk, tokens))

    def copied(self, tokens: int) -> int:
        """Bytes that a copy made at the end of a prompt holds, such as a session's snapshot."""
        length = min(self.config.chunk, max(tokens, 1))
        return self.held(tokens) - self._sliding(tokens, 1) + self._sliding(tokens, length)

    # ------------------------------------------------------------------ how many slots

    def _bounded(self, tokens: int, buffer: int) -> int:
        """Bytes of a bank with stores for `tokens` tokens and a reading buffer of `buffer` slots a layer."""
        most, coded = self._limits(self.config.budget)
        least, _ = self._limits(self.policy.min_budget)
        ahead = 5 * (tokens + BLOCK) // 4  # stores grow by a quarter, and by a block before it is needed
        behind = np.maximum(0, 5 * (tokens + self.policy.slack - least) // 4)
        full = [blocks_of(int(slots) + 1) for slots in np.minimum(most, ahead)]
        int8 = [blocks_of(int(slots) + 1) for slots in np.minimum(coded, behind)] if self.slot.int8 else [0]
        # Slots that decoding steps may take one by one, listed at an eviction; a list made before the bound was reached
        # may be as long as the tier, and is used up after as many steps.
        settled = tokens > 2 * int(most.max()) + LONGEST_FREE_LIST
        free = int((most - least + self.policy.slack if settled else most).min())
        entries = min(free, LONGEST_FREE_LIST) + 2  # and a spare one, and where a layer's slots begin
        columns = max(full) + max(int8) + buffer
        layers, known = self.full_layers, 5 * tokens // 4 if self.recalls else 0
        return (
            self.rows * (_WEIGHT + known)
            + (sum(full) + layers * buffer) * self.slot.dense
            + sum(int8) * self.slot.int8
            + layers * (columns * self.slot.column + self.slot.layer + entries * self._entry)
        )

    def _limits(self, budget: int) -> tuple[Slots, Slots]:
        """Tokens in full precision and as int8 that each layer may hold, `[layers]`."""
        schedule = BudgetSchedule(self.policy, self.full_layers)
        schedule.means = [budget]
        full, int8 = self._bank.split(schedule.slots())
        return full[:, 0], int8[:, 0]

    def _grown(self, tokens: int, decoded: int) -> int:
        """Slots of a layer that keeps every token, read in chunks but the last `decoded`; see `GrowingBank`."""
        chunk, read = self.config.chunk, tokens - decoded
        slots = blocks_of(min(chunk, read))
        while slots < tokens:
            need = min(read, chunk * (slots // chunk + 1)) if slots < read else slots + 1
            slots = blocks_of(need + need // 8)
        return slots

    def _sliding(self, tokens: int, length: int) -> int:
        """Bytes of the sliding layers after a forward of `length` tokens: it leaves them all in memory."""
        held = [min(tokens, window - 1 + length) for window in self.sliding]
        return sum(held) * self.layer_token


def _bytes(tensors: Iterable[torch.Tensor]) -> int:
    return sum(tensor.untyped_storage().nbytes() for tensor in tensors)
