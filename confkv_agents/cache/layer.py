"""A model layer's end of the cache: what transformers calls, and the handle that attention finds."""

from __future__ import annotations

import weakref
from typing import Any, Literal, Protocol

import torch
from transformers.cache_utils import CacheLayerMixin

from confkv_agents.cache.attention import Heads
from confkv_agents.errors import CacheStateError, UnsupportedModelError

HANDLE = "confkv"


class LayerOwner(Protocol):
    """What a layer needs of the cache it belongs to."""

    seen: int

    @property
    def keeps_everything(self) -> bool:
        """Whether nothing is ever evicted."""

    def arrive(self, layer: ConfKVLayer, keys: torch.Tensor) -> None:
        """Note that a layer got new tokens."""

    def check_positions(self, layer: ConfKVLayer, positions: torch.Tensor) -> None:
        """Refuse tokens whose positions say that they were fed before."""

    def attend(
        self,
        layer: ConfKVLayer,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        padding: torch.Tensor | None,
        heads: Heads,
    ) -> torch.Tensor:
        """Attend for a layer."""


class ConfKVLayer(CacheLayerMixin):
    """One full-attention layer: hands the attention function a handle and keeps the tokens in its cache's bank."""

    is_compileable = False
    supports_early_init = False
    is_sliding = False

    def __init__(self, cache: LayerOwner, index: int, group: Literal["mean", "max"] = "mean") -> None:
        super().__init__()
        self.index, self.group = index, group
        self.belong_to(cache)

    def belong_to(self, cache: LayerOwner) -> None:
        """Serve this cache; held weakly, so that a cache and its memory go with the last reference to it."""
        self._cache = weakref.ref(cache)

    @property
    def cache(self) -> LayerOwner:
        """The cache this layer serves."""
        cache = self._cache()
        if cache is None:
            raise CacheStateError("the cache of this layer is gone; keep a reference to it while its model runs")
        return cache

    @property
    def is_croppable(self) -> bool:  # type: ignore[override]
        """Whether tokens can be taken off the end at any time, as assisted decoding wants it."""
        return self.cache.keeps_everything

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Storage is made by the cache, when the first tokens of a bank come."""
        self.is_initialized = True
        self.batch_size = key_states.shape[0]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Take the new tokens' `[B, Hkv, Q, D]` keys and values; attention stores them."""
        side_channel = kwargs.get("kwargs")
        if side_channel is None:
            raise UnsupportedModelError(
                "this model's attention does not pass its keyword arguments to the cache, so attention "
                "cannot reach the stored tokens; use the stock DynamicCache with it"
            )
        self.lazy_initialization(key_states, value_states)
        self.cache.arrive(self, key_states)
        side_channel[HANDLE] = self
        return key_states, value_states

    def attend(
        self,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        padding: torch.Tensor | None,
        heads: Heads,
    ) -> torch.Tensor:
        """Attend to everything stored and store the new tokens; `[B, Hq, Q, D]` in, the same out."""
        return self.cache.attend(self, query, keys, values, padding, heads)

    def get_seq_length(self) -> int:
        """Return the tokens fed so far, evicted ones included."""
        return self.cache.seen

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Masks are over logical positions; our attention maps them to what is stored.

        Raises:
            CacheStateError: If there are no new tokens, as when `generate` is given fewer than the cache has read.
        """
        if query_length < 1:
            raise CacheStateError(
                f"no new token was fed: the cache has read {self.cache.seen}, and `generate` takes that many off "
                "the front of its input; pass the whole conversation with something new at its end, or a new cache"
            )
        return self.cache.seen + query_length, 0

    def get_max_length(self) -> int:
        """Return -1: a budget bounds memory, not length."""
        return -1

    def offload(self) -> None:
        """Refuse: a budget keeps memory small; moving it away each step is another cache's way."""
        raise CacheStateError("this cache is not moved to the host layer by layer; use a smaller budget instead")

    def reset(self) -> None:
        """Forget everything; the cache resets its banks."""
        self.is_initialized = False

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """The cache reorders all its layers at once."""
