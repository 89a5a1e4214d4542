"""Several caches as one, for one forward of one new token per row: continuous batching over unlike rows.

The model's own layers then run on all rows at once. Attention does not: each row's is done by its own cache, with its
own policy, budget, length and tiers, as if the row had been fed alone. What fails in one row's cache stays there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from transformers import PreTrainedConfig
from transformers.cache_utils import Cache, CacheLayerMixin, DynamicSlidingWindowLayer

from confkv_agents.cache.attention import Heads
from confkv_agents.cache.cache import ConfKVCache
from confkv_agents.cache.layer import HANDLE, ConfKVLayer
from confkv_agents.cache.transfer import on_device
from confkv_agents.errors import CacheStateError, UnsupportedModelError

SHARED_POSITIONS = ("dynamic", "longrope")  # rotary embeddings that look at the largest position of all rows


def rows_are_independent(config: PreTrainedConfig) -> bool:
    """Whether a row's result depends on nothing that another row of the same forward holds.

    Args:
        config: The model's configuration. Rotary embeddings that scale with the longest row ("dynamic", "longrope")
            make rows depend on each other: such a model's caches are fed one after the other.
    """
    given = getattr(config.get_text_config(decoder=True), "rope_parameters", None) or {}
    kinds = [given, *(each for each in given.values() if isinstance(each, dict))]
    return not any(each.get("rope_type") in SHARED_POSITIONS for each in kinds)


class TogetherLayer(CacheLayerMixin):
    """One model layer of several caches: hands each its row.

    Args:
        layers: The caches' own layers.
        failures: Rows that have failed in this forward, by number; those are left out from then on.
    """

    is_compileable = False
    supports_early_init = False

    def __init__(
        self, layers: Sequence[ConfKVLayer | DynamicSlidingWindowLayer], failures: dict[int, Exception]
    ) -> None:
        super().__init__()
        self._layers, self._failures = layers, failures
        self._windows: list[tuple[torch.Tensor, torch.Tensor] | None] = []
        self.group = getattr(layers[0], "group", "mean")

    @property
    def is_sliding(self) -> bool:
        """Whether it is a stock layer that sees a window of tokens only."""
        return isinstance(self._layers[0], DynamicSlidingWindowLayer)

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Nothing to make: the caches have their storage."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Take one new token per row, `[N, Hkv, 1, D]`; attention stores them.

        Raises:
            UnsupportedModelError: The model's attention does not pass its keyword arguments to the cache.
            CacheStateError: There are more or fewer rows than caches, or more than one token per row.
        """
        side_channel = kwargs.get("kwargs")
        if side_channel is None:
            raise UnsupportedModelError("this model's attention does not pass its keyword arguments to the cache")
        rows, _, length, _ = key_states.shape
        if rows != len(self._layers) or length != 1:
            raise CacheStateError(
                f"{len(self._layers)} caches together take one token each, `[{len(self._layers)}, 1]` ids, but "
                f"keys of {rows} rows and {length} tokens came; read prompts with each cache alone"
            )
        side_channel[HANDLE] = self
        self._windows = [None] * rows
        for row, layer in enumerate(self._layers):
            if row in self._failures:
                continue
            keys, values = key_states[row : row + 1], value_states[row : row + 1]
            try:
                if isinstance(layer, ConfKVLayer):
                    layer.update(keys, values, kwargs={})
                else:
                    self._windows[row] = layer.update(keys, values)
            except Exception as error:  # noqa: BLE001 - it is this row's alone, and handed to who fed it
                self._failures[row] = error
        return key_states, value_states

    def attend(
        self,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        padding: torch.Tensor | None,
        heads: Heads,
    ) -> torch.Tensor:
        """Let each row attend in its own cache; `[N, Hq, 1, D]` in, the same out, zeros for a row that has failed.

        Raises:
            CacheStateError: There is an attention mask: each cache knows what its row may see.
        """
        if padding is not None:
            raise CacheStateError("caches that are fed together take no attention_mask: each knows what it holds")
        outputs = []
        for row, layer in enumerate(self._layers):
            one, output = query[row : row + 1], None
            if row not in self._failures:
                try:
                    output = self._attend(row, layer, one, keys[row : row + 1], values[row : row + 1], heads)
                except Exception as error:  # noqa: BLE001 - it is this row's alone, and handed to who fed it
                    self._failures[row] = error
            outputs.append(torch.zeros_like(one) if output is None else output)
        self._windows = []
        return torch.cat(outputs)

    def _attend(
        self,
        row: int,
        layer: ConfKVLayer | DynamicSlidingWindowLayer,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        heads: Heads,
    ) -> torch.Tensor:
        if isinstance(layer, ConfKVLayer):
            own = heads if layer.group == heads.group else replace(heads, group=layer.group)
            return layer.attend(query, keys, values, None, own)
        window = self._windows[row]
        assert window is not None
        # a window of tokens that ends with the new one, which may see them all
        sdpa = torch.nn.functional.scaled_dot_product_attention
        return sdpa(query, *window, scale=heads.scaling, enable_gqa=heads.groups > 1)

    def get_seq_length(self) -> int:
        """Tokens that the longest row has been fed."""
        return max(int(layer.get_seq_length()) for layer in self._layers)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Of the longest row; no mask is ever made of it."""
        return self.get_seq_length() + query_length, 0

    def get_max_length(self) -> int:
        """Return -1: there is no maximum."""
        return -1

    def offload(self) -> None:
        """Refuse, as each cache does."""
        raise CacheStateError("this cache is not moved to the host layer by layer; use a smaller budget instead")

    def reset(self) -> None:
        """Refuse: each cache is reset by itself."""
        raise CacheStateError("reset each cache by itself")

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Refuse: rows belong to different caches."""
        raise CacheStateError("rows of different caches cannot be reordered")


class Together(Cache):
    """Several caches, one row each, as the cache of one forward.

    Pass it as `cache=` with one token per row, `position_ids=together.position_ids(device)` and no attention mask; it
    is of no use after that forward. Every cache is then as if it had been fed alone, whatever the others hold: policy,
    budget, length, int8 and cold tiers may differ. Sliding layers are attended per row too.

    Args:
        caches: Caches of the same model, each of which has read its prompt.

    Raises:
        CacheStateError: A cache is given twice, is empty, has several rows, or belongs to another model.

    Attributes:
        failures: Which rows failed in the forward, and why. The rest are as they should be; the cache of a row that
            failed is not, and must be reset.
    """

    def __init__(self, caches: Sequence[ConfKVCache]) -> None:
        if len({id(cache) for cache in caches}) < len(caches) or not caches:
            raise CacheStateError("caches that are fed together must be different ones, and at least one")
        kinds = [type(layer) for layer in caches[0].layers]
        for row, cache in enumerate(caches):
            if cache.rows != 1:
                raise CacheStateError(
                    f"cache {row} of those fed together holds {cache.rows} rows; each must hold one row that was read"
                )
            if [type(layer) for layer in cache.layers] != kinds:
                raise CacheStateError(f"cache {row} of those fed together belongs to another model")
        self.caches = list(caches)
        self.failures: dict[int, Exception] = {}
        columns = zip(*(cache.layers for cache in caches), strict=True)
        super().__init__(layers=[TogetherLayer(column, self.failures) for column in columns])

    def position_ids(self, device: torch.device) -> torch.Tensor:
        """Return `[N, 1]`: the position of each row's new token, for models that count tokens (no M-RoPE)."""
        return on_device([[cache.seen] for cache in self.caches], device)
