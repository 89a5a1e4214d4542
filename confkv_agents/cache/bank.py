"""A bank holds the tokens of all full-attention layers on one device; this one keeps every token."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from confkv_agents.cache.attention import Heads, attend
from confkv_agents.cache.budget import Slots
from confkv_agents.cache.own_bias import OwnBias
from confkv_agents.cache.tiers import MASKED, DenseStore, DenseTier, blocks_of
from confkv_agents.errors import CacheStateError


class Bank(ABC):
    """Tokens of `layers` layers; layers are numbered from 0 inside the bank.

    Every forward calls `begin` once, then `attend` once per layer in any order.
    """

    def __init__(self, like: torch.Tensor, layers: int) -> None:
        self.rows, self.heads, _, self.width = like.shape
        self.device, self.dtype, self.layers = like.device, like.dtype, layers
        self.seen = 0
        self._own_bias: dict[tuple[int, int], OwnBias] = {}
        self.weights: dict[int, torch.Tensor] = {}

    @abstractmethod
    def begin(self, length: int, slots: Slots) -> None:
        """Make room for `length` new tokens under `slots [layers, rows]`."""

    @abstractmethod
    def attend(
        self,
        layer: int,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        padding: torch.Tensor | None,
        heads: Heads,
    ) -> torch.Tensor:
        """Store the new tokens of one layer and attend to everything stored.

        Args:
            layer: Layer in this bank.
            query: `[B, Hq, Q, D]`.
            keys: `[B, Hkv, Q, D]`, the new tokens' keys.
            values: `[B, Hkv, Q, D]`.
            padding: `[B, seen]` bool, False for padding, over all tokens fed so far with these; None for none.
            heads: How scores are read.

        Returns:
            `[B, Hq, Q, D]`.
        """

    def look(
        self, layer: int, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, heads: Heads
    ) -> torch.Tensor:
        """Attend as if the tokens followed what is stored, note the mass they give it, and store nothing."""
        raise CacheStateError(f"{type(self).__name__} keeps every token and has no use for looking ahead")

    @abstractmethod
    def stored(self) -> Slots:
        """Return `[layers, rows]` slots in use, in full-precision equivalents (an upper bound with padding)."""

    @abstractmethod
    def tensors(self) -> list[torch.Tensor]:
        """Return every tensor the bank holds."""

    @abstractmethod
    def can_crop_to(self, length: int) -> bool:
        """Whether the first `length` tokens are all still as they were."""

    def open_cold(self, rows: Sequence[bool]) -> bool:
        """Let the rows marked attend to the cold tier too in the next forward or look; returns whether there is one."""
        return False

    @property
    def mirrored(self) -> int:
        """Tokens in the cold tier."""
        return 0

    def retract(self) -> None:
        """Forget the last token as if it had never been fed; only right after the forward that fed it."""
        self.crop_to(self.seen - 1)

    def cold_tensors(self) -> list[torch.Tensor]:
        """Return every tensor held in host memory beside the hot tiers."""
        return []

    @abstractmethod
    def crop_to(self, length: int) -> None:
        """Forget every token from position `length` on."""

    @abstractmethod
    def select_rows(self, rows: torch.Tensor) -> None:
        """Keep the rows given (`[n]` int64), in that order."""

    @abstractmethod
    def release_buffers(self) -> None:
        """Give back memory that only reading needs."""

    @abstractmethod
    def state(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        """Return tensors and plain values that `restore` makes the same bank of; buffers must be released."""

    @abstractmethod
    def restore(self, tensors: Mapping[str, torch.Tensor], values: Mapping[str, Any]) -> None:
        """Take over what `state` returned, into a bank that was just made."""

    @abstractmethod
    def truncate(self, layers: int) -> None:
        """Give up the layers from `layers` on: they turned out to live on another device."""

    def finish(self, length: int) -> None:
        """Note that `length` tokens have been fed; called when a forward begins, after `begin`."""
        self.seen += length

    def end(self) -> None:
        """Drop what only the forward that has just ended needed."""
        self._own_bias.clear()
        self.weights.clear()

    def own_bias(self, start: int, stop: int, padding: torch.Tensor | None) -> OwnBias:
        """Return who sees whom among the new tokens `start:stop`; the same for all layers of a forward."""
        if (start, stop) not in self._own_bias:
            real = None if padding is None else padding[:, start:stop].to(self.device)
            self._own_bias[start, stop] = OwnBias(stop - start, self.device, real)
        return self._own_bias[start, stop]


class GrowingBank(Bank):
    """Keeps every token in full precision; grows by an eighth at a time, one layer after the other."""

    def __init__(self, like: torch.Tensor, layers: int) -> None:
        super().__init__(like, layers)
        self.stores: list[DenseStore | None] = [None] * layers

    def begin(self, length: int, slots: Slots) -> None:
        """Nothing to evict; stores grow when their layer writes."""

    def attend(
        self,
        layer: int,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        padding: torch.Tensor | None,
        heads: Heads,
    ) -> torch.Tensor:
        """Append the new tokens and attend to all."""
        length = keys.shape[-2]
        start = self.seen - length
        store = self._grown(layer, keys, self.seen)
        store.keys[:, :, start : self.seen], store.values[:, :, start : self.seen] = keys, values
        bias = None
        if padding is not None:
            empty = ~padding[:, None, :].to(self.device)
            bias = torch.zeros(empty.shape, device=self.device).masked_fill_(empty, MASKED)
        tier = DenseTier(store.keys[:, :, : self.seen], store.values[:, :, : self.seen], bias)
        own = None if length == 1 else self.own_bias(start, self.seen, padding)
        return attend(query, [tier], heads, own_bias=own).output

    def _grown(self, layer: int, like: torch.Tensor, need: int) -> DenseStore:
        store = self.stores[layer]
        if store is None:
            store = DenseStore(like, blocks_of(need))
        elif store.slots < need:
            used = torch.arange(self.seen - like.shape[-2], device=self.device)
            store = store.resized(blocks_of(need + need // 8), used.expand(self.rows, self.heads, -1))
        self.stores[layer] = store
        return store

    def stored(self) -> Slots:
        """Every token fed is stored."""
        return np.full((self.layers, self.rows), self.seen, dtype=np.int64)

    def tensors(self) -> list[torch.Tensor]:
        """Keys and values of every layer."""
        return [tensor for store in self.stores if store is not None for tensor in store.tensors()]

    def can_crop_to(self, length: int) -> bool:
        """Always: nothing is ever evicted."""
        return length <= self.seen

    def crop_to(self, length: int) -> None:
        """Later tokens are simply written over."""
        self.seen = length

    def select_rows(self, rows: torch.Tensor) -> None:
        """Keep the rows given, in that order."""
        for store in self.stores:
            if store is not None:
                store.select_rows(rows)
        self.rows = len(rows)

    def release_buffers(self) -> None:
        """There are none."""

    def truncate(self, layers: int) -> None:
        """Give up the layers from `layers` on."""
        self.stores, self.layers = self.stores[:layers], layers

    def state(self) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        """Keys and values of the tokens fed."""
        tensors = {}
        for layer, store in enumerate(self.stores):
            if store is not None:
                tensors[f"{layer}.keys"] = store.keys[:, :, : self.seen]
                tensors[f"{layer}.values"] = store.values[:, :, : self.seen]
        return tensors, {"seen": self.seen}

    def restore(self, tensors: Mapping[str, torch.Tensor], values: Mapping[str, Any]) -> None:
        """Take the tokens back in."""
        self.seen = values["seen"]
        for layer in range(self.layers):
            store = DenseStore(tensors[f"{layer}.keys"].to(self.device), blocks_of(self.seen))
            store.keys[:, :, : self.seen] = tensors[f"{layer}.keys"]
            store.values[:, :, : self.seen] = tensors[f"{layer}.values"]
            self.stores[layer] = store
