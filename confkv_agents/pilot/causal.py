"""Causal attention for training on processors: torch's fused forward, and a backward of batched matrix products.

The fused backward that torch has for processors does not use their matrix units, and its time grows fastest with the
length. Here weights are computed again, block by block, from the forward's log of sums. Registered with transformers as
`NAME`.

With it a sequence can also be read once without gradients (`reading`), and a few of its places computed again with them
(`answering`), which see what was read as it is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface

from confkv_agents.errors import ConfigError

NAME = "confkv_causal"
_BLOCK = 256  # queries: what is computed in vain above the diagonal stays small
_PADDED = 32  # matrix units take widths in multiples of this


@dataclass
class Read:
    """Keys and values of one sequence, `[groups, T, D]` each, by layer.

    Attributes:
        layers: What was read.
        places: `[n]` ascending; while `answering`, the places that are computed, which replace what was read of them.
    """

    layers: dict[int, tuple[torch.Tensor, torch.Tensor]] = field(default_factory=dict)
    places: torch.Tensor | None = None


_CURRENT: ContextVar[Read | None] = ContextVar("read", default=None)


@contextlib.contextmanager
def reading() -> Iterator[Read]:
    """Keep keys and values of the sequence that a model computes within."""
    read = Read()
    token = _CURRENT.set(read)
    try:
        with torch.no_grad():
            yield read
    finally:
        _CURRENT.reset(token)


@contextlib.contextmanager
def answering(read: Read, places: torch.Tensor) -> Iterator[None]:
    """Let a model compute these places of a sequence that was read; gradients stay among them.

    Args:
        read: The sequence.
        places: `[n]` ascending; the model's input is these places', with them as its positions.

    Raises:
        ConfigError: Nothing was kept, since the model that read it has another attention.
    """
    if not read.layers:
        raise ConfigError(f"nothing was kept of what was read; the model's attention must be {NAME!r}")
    token = _CURRENT.set(Read(read.layers, places))
    try:
        yield
    finally:
        _CURRENT.reset(token)


class _Causal(torch.autograd.Function):
    """`softmax(Q K^T / sqrt(D)) V` with each query seeing keys up to its own, grouped heads included."""

    @staticmethod
    def forward(ctx: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        times = query.shape[0] // key.shape[0]
        keys, values = key.repeat_interleave(times, 0)[None], value.repeat_interleave(times, 0)[None]
        out, sums = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(query[None], keys, values, 0.0, True)
        ctx.save_for_backward(query, key, value, out[0], sums.view(query.shape[:2]))
        return torch.as_tensor(out[0])

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        query, key, value, out, sums = ctx.saved_tensors
        heads, length, width = query.shape
        groups = key.shape[0]
        scale = width**-0.5
        # What is taken off each row of a product (the log of sums, the mean gradient) is part of the product.
        queries, keys = _with_column(query * scale, -sums.float()), _with_ones(key).transpose(1, 2)
        grads = _with_column(grad, -(grad.float() * out.float()).sum(-1))
        values = _with_ones(value).transpose(1, 2)
        of_query = torch.empty_like(query)
        of_key, of_value = (torch.zeros_like(each, dtype=torch.float32) for each in (key, value))
        later = torch.ones(_BLOCK, _BLOCK, dtype=torch.bool).triu(1)
        for start in range(0, length, _BLOCK):
            end = min(length, start + _BLOCK)
            rows = end - start
            asked, wanted = (each[:, start:end].reshape(groups, -1, each.shape[-1]) for each in (queries, grads))
            weights = torch.bmm(asked, keys[..., :end]).exp_()
            weights.view(heads, rows, end)[..., start:].masked_fill_(later[:rows, :rows], 0)
            of_value[:, :end] += torch.bmm(weights.transpose(1, 2), wanted[..., :width])
            change = torch.bmm(wanted, values[..., :end]).mul_(weights)
            of_query[:, start:end] = torch.bmm(change, key[:, :end]).view(heads, rows, width)
            of_key[:, :end] += torch.bmm(change.transpose(1, 2), asked[..., :width])
        return of_query.mul_(scale), of_key.to(key.dtype), of_value.to(value.dtype)


class _Answering(torch.autograd.Function):
    """Causal attention of some places, whose keys and values replace those that were read of them.

    Queries, keys and values of the places are `[heads, n, D]` and `[groups, n, D]`, what was read is `[groups, T, D]`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        read_keys: torch.Tensor,
        read_values: torch.Tensor,
        places: torch.Tensor,
    ) -> torch.Tensor:
        keys, values = read_keys.index_copy(1, places, key), read_values.index_copy(1, places, value)
        later = places[:, None] < torch.arange(keys.shape[1])
        hidden = torch.zeros(later.shape, dtype=query.dtype).masked_fill_(later, -torch.inf)
        times = query.shape[0] // key.shape[0]
        given = (query[None], keys.repeat_interleave(times, 0)[None], values.repeat_interleave(times, 0)[None])
        out, sums = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*given, 0.0, False, attn_mask=hidden)
        ctx.save_for_backward(query, keys, values, out[0], sums.view(query.shape[:2]), places, later)
        return torch.as_tensor(out[0])

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        query, keys, values, out, sums, places, later = ctx.saved_tensors
        heads, count, width = query.shape
        groups, length = keys.shape[:2]
        scale = width**-0.5
        asked = _with_column(query * scale, -sums.float()).reshape(groups, -1, _columns(width))
        wanted = _with_column(grad, -(grad.float() * out.float()).sum(-1)).reshape(asked.shape)
        weights = torch.bmm(asked, _with_ones(keys).transpose(1, 2)).exp_()
        weights.view(heads, count, length).masked_fill_(later, 0)
        change = torch.bmm(wanted, _with_ones(values).transpose(1, 2)).mul_(weights)
        of_query = torch.bmm(change, keys).view(query.shape).mul_(scale)
        of_key = torch.bmm(change[..., places].transpose(1, 2), asked[..., :width])
        of_value = torch.bmm(weights[..., places].transpose(1, 2), wanted[..., :width])
        return of_query, of_key, of_value, None, None, None


def causal_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Causal attention of one row, on a processor.

    Args:
        query: `[heads, T, D]`; heads are a multiple of groups.
        key: `[groups, T, D]`.
        value: `[groups, T, D]`.

    Returns:
        `[heads, T, D]`.
    """
    out: torch.Tensor = _Causal.apply(query, key, value)
    return out


def register() -> None:
    """Make it known to transformers under `NAME`; harmless when repeated."""
    AttentionInterface.register(NAME, _attend)
    AttentionMaskInterface.register(NAME, lambda *_, **__: None)


@torch.compiler.disable  # its loops would be unrolled, for every length anew
def _attend(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: None, **_: Any
) -> tuple[torch.Tensor, None]:
    read = _CURRENT.get()
    if read is not None:
        return _attend_read(read, module.layer_idx, query, key, value), None
    rows = [causal_attention(*each) for each in zip(query, key, value, strict=True)]
    return torch.stack(rows).transpose(1, 2), None


def _attend_read(read: Read, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Attention of one row, `[1, heads, n, D]` and `[1, groups, n, D]`, whose sequence is kept or was."""
    if read.places is None:
        read.layers[layer] = key[0], value[0]
        return causal_attention(query[0], key[0], value[0])[None].transpose(1, 2)
    keys, values = read.layers[layer]
    out: torch.Tensor = _Answering.apply(query[0], key[0], value[0], keys, values, read.places)
    return out[None].transpose(1, 2)


def _with_column(rows: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
    """Rows `[H, T, D]` followed by numbers `[H, T]`, in two columns so that a short format loses little of them."""
    high = added.to(rows.dtype)
    low = (added - high.float()).to(rows.dtype)
    return _padded(torch.cat([rows, high[..., None], low[..., None]], -1))


def _with_ones(rows: torch.Tensor) -> torch.Tensor:
    """Rows `[G, T, D]` followed by two ones, which `_with_column` is multiplied with."""
    return _padded(torch.cat([rows, rows.new_ones(*rows.shape[:2], 2)], -1))


def _columns(width: int) -> int:
    """Of rows that `_with_column` made of rows of a width."""
    return width + 2 + -(width + 2) % _PADDED


def _padded(rows: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.pad(rows, (0, -rows.shape[-1] % _PADDED))
