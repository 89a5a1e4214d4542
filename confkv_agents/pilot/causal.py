"""Causal attention for training on processors: blocks of queries, matrix products in bf16, a written backward.

The backward of `scaled_dot_product_attention` on processors takes four fifths of its time and does not use the
processor's matrix units; here both passes are batched matrix products. Registered with transformers as `NAME`.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface

NAME = "confkv_causal"
_BLOCK = 256  # queries: what is computed in vain above the diagonal stays small
_KEPT = 1536  # longer sequences compute their weights again in the backward: kept ones grow with the square


class _Causal(torch.autograd.Function):
    """`softmax(Q K^T / sqrt(D)) V` with each query seeing keys up to its own, grouped heads included."""

    @staticmethod
    def forward(ctx: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        heads, length, width = query.shape
        groups = key.shape[0]
        query = query * width**-0.5
        out = torch.empty_like(query)
        kept = []
        for start in range(0, length, _BLOCK):
            end = min(length, start + _BLOCK)
            weights = _weights(query, key, start, end)
            out[:, start:end] = torch.bmm(weights.view(groups, -1, end), value[:, :end]).view(heads, -1, width)
            if length <= _KEPT:
                kept.append(weights)
        ctx.save_for_backward(query, key, value, out, *kept)
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        query, key, value, out, *kept = ctx.saved_tensors
        heads, length, width = query.shape
        groups = key.shape[0]
        of_query = torch.empty_like(query)
        of_key, of_value = (torch.zeros_like(each, dtype=torch.float32) for each in (key, value))
        mean = (grad * out).sum(-1, keepdim=True)
        for number, start in enumerate(range(0, length, _BLOCK)):
            end = min(length, start + _BLOCK)
            weights = kept[number] if kept else _weights(query, key, start, end)
            folded = grad[:, start:end].reshape(groups, -1, width)
            of_value[:, :end] += torch.bmm(weights.view(groups, -1, end).transpose(1, 2), folded)
            change = torch.bmm(folded, value[:, :end].transpose(1, 2)).view(heads, -1, end)
            change = change.sub_(mean[:, start:end]).mul_(weights).view(groups, -1, end)
            of_query[:, start:end] = torch.bmm(change, key[:, :end]).view(heads, -1, width)
            of_key[:, :end] += torch.bmm(change.transpose(1, 2), query[:, start:end].reshape(groups, -1, width))
        return of_query.mul_(width**-0.5), of_key.to(key.dtype), of_value.to(value.dtype)


def _weights(query: torch.Tensor, key: torch.Tensor, start: int, end: int) -> torch.Tensor:
    """Attention weights `[heads, end - start, end]` of a block of scaled queries."""
    heads, _, width = query.shape
    rows = end - start
    folded = query[:, start:end].reshape(key.shape[0], -1, width)
    scores = torch.bmm(folded, key[:, :end].transpose(1, 2)).view(heads, rows, end)
    later = torch.ones(rows, rows, dtype=torch.bool, device=query.device).triu(1)
    scores[..., start:].masked_fill_(later, float("-inf"))
    return torch.softmax(scores, -1)


def causal_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Causal attention of one row.

    Args:
        query: `[heads, T, D]`; heads are a multiple of groups.
        key: `[groups, T, D]`.
        value: `[groups, T, D]`.

    Returns:
        `[heads, T, D]`.
    """
    out: torch.Tensor = _Causal.apply(query, key, value)
    return out


def _attend(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: None, **_: Any
) -> tuple[torch.Tensor, None]:
    rows = [causal_attention(*each) for each in zip(query, key, value, strict=True)]
    return torch.stack(rows).transpose(1, 2), None


def register() -> None:
    """Make it known to transformers under `NAME`; harmless when repeated."""
    AttentionInterface.register(NAME, _attend)
    AttentionMaskInterface.register(NAME, lambda *_, **__: None)
