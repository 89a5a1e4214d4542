"""Where one layer keeps keys and values: a full-precision tier, an int8 tier, and the buffer new tokens are read into.

A tier answers two questions for a range of its slots: what queries score against them, and what weights sum to.
Attention needs nothing else, so another tier (host memory, a fused kernel's layout) is another class with these two.
"""

from __future__ import annotations

from typing import Protocol

import torch

from confkv_agents.cache.quantize import encode_keys, encode_values

BLOCK = 64
FEW_ROWS = 16
MASKED = -1e30  # finite, so that a row with nothing to see stays free of NaN in every precision


def blocks_of(slots: int) -> int:
    """Round slots up to whole blocks."""
    return -(-slots // BLOCK) * BLOCK


def allocate(*shape: int, dtype: torch.dtype, device: torch.device, fill: float = 0) -> torch.Tensor:
    """Return a tensor that may be written in place both inside and outside inference mode."""
    with torch.inference_mode(False):
        return torch.full(shape, fill, dtype=dtype, device=device)


class Tier(Protocol):
    """What attention asks of a place that holds tokens.

    Attributes:
        slots: Slots that can be read.
        step: Slots to read at a time, so that no copy as large as the tier is ever made.
        copies: Whether reading makes a copy in the query's precision.
    """

    slots: int
    step: int
    copies: bool

    @property
    def bias(self) -> torch.Tensor | None:
        """`[B, H, slots]` fp32: 0 for a stored token, `MASKED` for an empty slot; None if all are visible."""

    def scores(self, query: torch.Tensor, start: int, stop: int) -> torch.Tensor:
        """Return `[B, H, R, stop - start]` fp32 products of `query [B, H, R, D]` with the keys, unscaled."""

    def mix(self, weights: torch.Tensor, start: int, stop: int) -> torch.Tensor:
        """Return `[B, H, R, D]` fp32 sums of values under `weights [B, H, R, stop - start]` fp32."""


class DenseTier:
    """Keys and values in the model's own precision; a view, it copies nothing."""

    copies = False

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, bias: torch.Tensor | None, step: int = 512) -> None:
        self.keys, self.values, self.bias = keys, values, bias
        self.slots, self.step = keys.shape[-2], step

    def load(self, index: torch.Tensor | None, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Write the keys and values at `index [B, H, n]`, or all if it is None, to `keys, values [B, H, n, D]`."""
        keys.copy_(self.keys if index is None else take(self.keys, index))
        values.copy_(self.values if index is None else take(self.values, index))

    def scores(self, query: torch.Tensor, start: int, stop: int) -> torch.Tensor:
        """Products with the keys in `start:stop`."""
        keys = self.keys[:, :, start:stop]
        if query.shape[-2] <= FEW_ROWS:  # keys first: the other way round copies a slice of keys on some processors
            return product(keys, query.transpose(-1, -2)).transpose(-1, -2).float()
        return product(query, keys.transpose(-1, -2)).float()

    def mix(self, weights: torch.Tensor, start: int, stop: int) -> torch.Tensor:
        """Weighted sums of the values in `start:stop`."""
        values = self.values[:, :, start:stop]
        return product(weights.to(values.dtype), values).float()


class Int8Tier:
    """Codes read some blocks at a time; a few queries' scores come from the codes without dequantizing keys."""

    copies = True

    def __init__(self, store: Int8Store, slots: int, bias: torch.Tensor, step: int = 16 * BLOCK) -> None:
        self.store, self.slots, self.bias, self.step = store, slots, bias, step
        self._query: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None

    def load(self, index: torch.Tensor | None, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Write the decoded keys and values at `index [B, H, n]`, or all if it is None, to `keys, values`."""
        store = self.store
        names = ("key_codes", "key_scale", "key_zero", "value_codes", "value_scale")
        fields = [getattr(store, name)[:, :, : self.slots] for name in names]
        if index is not None:
            fields = [take(field, index) if field.dim() == 4 else field.gather(2, index) for field in fields]
        codes, scale, zero, value_codes, value_scale = fields
        keys.copy_(torch.addcmul(zero[..., None], codes, scale[..., None]).mul_(store.amplitude))
        torch.mul(value_codes, value_scale[..., None].to(values.dtype), out=values)

    def scores(self, query: torch.Tensor, start: int, stop: int) -> torch.Tensor:
        """Products with the coded keys in `start:stop`."""
        if self._query is None or self._query[0] is not query:
            scaled = query * self.store.amplitude  # fp32
            self._query = (query, scaled.to(query.dtype), scaled.sum(-1, keepdim=True))
        _, scaled, total = self._query
        codes = self.store.key_codes[:, :, start:stop].to(scaled.dtype)
        if query.shape[-2] <= FEW_ROWS:
            raw = product(codes, scaled.transpose(-1, -2)).transpose(-1, -2)
        else:
            raw = product(scaled, codes.transpose(-1, -2))
        scale, zero = (
            self.store.key_scale[:, :, None, start:stop],
            self.store.key_zero[:, :, None, start:stop],
        )
        return torch.mul(raw, scale).addcmul_(total, zero)

    def mix(self, weights: torch.Tensor, start: int, stop: int) -> torch.Tensor:
        """Weighted sums of the coded values in `start:stop`."""
        dtype = self._query[1].dtype if self._query is not None else torch.float32
        scaled = weights * self.store.value_scale[:, :, None, start:stop]
        return product(scaled.to(dtype), self.store.value_codes[:, :, start:stop].to(dtype)).float()


def product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Return `left @ right` of `[B, H, ., .]` tensors, with one batch dimension: that is what the kernels take."""
    return torch.bmm(left.flatten(0, 1), right.flatten(0, 1)).unflatten(0, left.shape[:2])


def take(rows: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Return the rows `index [B, H, n]` of `rows [B, H, S, D]`, `[B, H, n, D]`; whole rows, so faster than `gather`."""
    slots, width = rows.shape[2:]
    if not rows.is_contiguous():
        return rows.gather(2, index[..., None].expand(*index.shape, width))
    return rows.view(-1, width).index_select(0, flat(index, slots)).view(*index.shape, width)


def put(rows: torch.Tensor, index: torch.Tensor, new: torch.Tensor) -> None:
    """Write `new [B, H, n, D]` to the rows `index [B, H, n]` of `rows [B, H, S, D]`, contiguous."""
    width = rows.shape[-1]
    rows.view(-1, width).index_copy_(0, flat(index, rows.shape[2]), new.reshape(-1, width))


def flat(index: torch.Tensor, slots: int) -> torch.Tensor:
    """Return slots `index [B, H, n]` as rows of `[B * H * slots, D]`."""
    return (first_rows(index, slots) + index).reshape(-1)


def first_rows(like: torch.Tensor, slots: int) -> torch.Tensor:
    """Return `[B, H, 1]`, where in `[B * H * slots, D]` each head of `like [B, H, n]` begins."""
    rows, heads = like.shape[:2]
    return (torch.arange(rows * heads, device=like.device) * slots).view(rows, heads, 1)


class DenseStore:
    """`[B, H, slots, D]` keys and values; `write` takes the last slot for entries that belong nowhere.

    The spare slot lies inside the blocks, since a tensor one slot longer than what is read would have to be copied
    by matrix products that want whole rows.
    """

    def __init__(self, like: torch.Tensor, slots: int) -> None:
        rows, heads, _, width = like.shape
        self.slots = slots
        self.keys = allocate(rows, heads, slots, width, dtype=like.dtype, device=like.device)
        self.values = torch.zeros_like(self.keys)
        self._base: torch.Tensor | None = None

    def write(self, index: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Write `keys, values [B, H, n, D]` to the slots `index [B, H, n]`."""
        if self._base is None or self._base.shape[:2] != index.shape[:2]:
            self._base = first_rows(index, self.slots)
        rows, width = (self._base + index).view(-1), keys.shape[-1]
        self.keys.view(-1, width).index_copy_(0, rows, keys.reshape(-1, width))
        self.values.view(-1, width).index_copy_(0, rows, values.reshape(-1, width))

    def read(self, index: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return copies of the keys and values at `index [B, H, n]`."""
        return take(self.keys, index), take(self.values, index)

    def resized(self, slots: int, order: torch.Tensor) -> DenseStore:
        """Return a store of `slots` slots that holds the slots `order [B, H, n]` of this one at its front."""
        other = DenseStore(self.keys, slots)
        keys, values = self.read(order)
        other.keys[:, :, : order.shape[-1]] = keys
        other.values[:, :, : order.shape[-1]] = values
        return other

    def tensors(self) -> list[torch.Tensor]:
        """Return every tensor held."""
        held = [self.keys, self.values]
        return held if self._base is None else [*held, self._base]

    def select_rows(self, rows: torch.Tensor) -> None:
        """Keep the rows given, in that order."""
        rows = rows.to(self.keys.device)
        self.keys, self.values = self.keys.index_select(0, rows), self.values.index_select(0, rows)
        self._base = None


class Int8Store:
    """Codes, scales and the keys' channel amplitudes of one layer's int8 tier."""

    FIELDS = ("key_codes", "key_scale", "key_zero", "value_codes", "value_scale", "amplitude")

    def __init__(self, like: torch.Tensor, slots: int) -> None:
        rows, heads, _, width = like.shape
        device = like.device
        self.slots = slots
        self.key_codes = allocate(rows, heads, slots, width, dtype=torch.int8, device=device)
        self.value_codes = torch.zeros_like(self.key_codes)
        self.key_scale = allocate(rows, heads, slots, dtype=torch.float32, device=device)
        self.key_zero, self.value_scale = torch.zeros_like(self.key_scale), torch.zeros_like(self.key_scale)
        self.amplitude = allocate(rows, heads, 1, width, dtype=torch.float32, device=device, fill=1.0)

    def write(self, index: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Quantize `keys, values [B, H, n, D]` into the slots `index [B, H, n]`."""
        codes, scale, zero = encode_keys(keys, self.amplitude)
        put(self.key_codes, index, codes)
        self.key_scale.scatter_(2, index, scale)
        self.key_zero.scatter_(2, index, zero)
        codes, scale = encode_values(values)
        put(self.value_codes, index, codes)
        self.value_scale.scatter_(2, index, scale)

    def resized(self, slots: int, order: torch.Tensor) -> Int8Store:
        """Return a store of `slots` slots that holds the slots `order [B, H, n]` of this one at its front."""
        other = Int8Store(self.key_codes, slots)
        count = order.shape[-1]
        other.key_codes[:, :, :count] = take(self.key_codes, order)
        other.value_codes[:, :, :count] = take(self.value_codes, order)
        for name in ("key_scale", "key_zero", "value_scale"):
            getattr(other, name)[:, :, :count] = getattr(self, name).gather(2, order)
        other.amplitude.copy_(self.amplitude)
        return other

    def tensors(self) -> list[torch.Tensor]:
        """Return every tensor held."""
        return [getattr(self, name) for name in self.FIELDS]

    def select_rows(self, rows: torch.Tensor) -> None:
        """Keep the rows given, in that order."""
        rows = rows.to(self.amplitude.device)
        for name in self.FIELDS:
            setattr(self, name, getattr(self, name).index_select(0, rows))
