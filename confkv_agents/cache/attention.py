"""Attention over tiers and the attention mass each stored token drew, without all weights ever existing at once.

Two ways through the same blocks. While all stored tokens fit a tile, as under a budget, queries go through in tiles:
a tile's softmax is complete, so output and mass come from one pass over a few megabytes that stay in the processor's
cache. Beyond that, an online softmax goes through the tokens block by block and keeps only output and log-sum-exp;
where mass is wanted, a second pass turns scores into weights again and sums them over queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from confkv_agents.cache.tiers import MASKED, Tier

TILE = 1 << 20  # most weights of one tile, 4 MiB in fp32


@dataclass(frozen=True)
class Heads:
    """How one attention call reads scores.

    Attributes:
        scaling: Factor on the scores.
        groups: Query heads per KV head.
        softcap: Scores become `softcap * tanh(score / softcap)`, or None.
    """

    scaling: float
    groups: int
    softcap: float | None = None


@dataclass(frozen=True)
class AttentionResult:
    """What `attend` returns.

    Attributes:
        output: `[B, Hq, Q, D]` in the query's dtype.
        mass: For each tier `[B, Hkv, slots]` fp32: weights summed over queries (each times its query weight) and
            averaged over the query group; empty when not asked for.
    """

    output: torch.Tensor
    mass: list[torch.Tensor]


def attend(
    query: torch.Tensor,
    tiers: Sequence[Tier],
    heads: Heads,
    *,
    own_bias: torch.Tensor | None = None,
    query_weight: torch.Tensor | None = None,
) -> AttentionResult:
    """Let queries attend to every stored token of the tiers.

    Args:
        query: `[B, Hq, Q, D]` with `Hq = Hkv * groups`.
        tiers: Where to look; an empty slot has bias `MASKED`.
        heads: How scores are read.
        own_bias: `[B, 1, Q, slots]` fp32 extra bias of the last tier: causality among the new tokens themselves.
        query_weight: `[B, Q]` fp32 weight of each query in the mass; None reports no mass.

    Returns:
        Output and mass. The output of a query that sees nothing (padding) is finite and means nothing.
    """
    rows, q_heads, length, width = query.shape
    packed = query.reshape(rows, q_heads // heads.groups, heads.groups, length, width)
    work = _Work(packed, tiers, heads, own_bias)
    if sum(tier.slots for tier in tiers) * heads.groups <= TILE:
        output, mass = work.tiled(query_weight)
    else:
        output, log_sum = work.first_pass()
        mass = [] if query_weight is None else work.second_pass(log_sum, query_weight)
    return AttentionResult(output.to(query.dtype).reshape(rows, q_heads, length, width), mass)


class _Work:
    """One call's operands; queries are `[B, Hkv, groups, Q, D]`, scaled."""

    def __init__(self, query: torch.Tensor, tiers: Sequence[Tier], heads: Heads, own_bias: torch.Tensor | None) -> None:
        self.query, self.tiers, self.own_bias = query * heads.scaling, tiers, own_bias
        self.groups, self.length, self.softcap = heads.groups, query.shape[3], heads.softcap

    def tiled(self, query_weight: torch.Tensor | None) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Return output and mass, a tile of queries at a time over all stored tokens."""
        rows, kv_heads, groups, length, width = self.query.shape
        sizes = [tier.slots for tier in self.tiers]
        step = max(1, TILE // (kv_heads * groups * max(1, sum(sizes))))
        bias = [tier.bias for tier in self.tiers]
        parts, mass = [], None
        for start in range(0, length, step):
            stop = min(start + step, length)
            query = self.query[:, :, :, start:stop].reshape(rows, kv_heads, -1, width)
            scores = [
                self._masked(tier.scores(query, *span), bias[number], span, number, start, stop)
                for number, tier, span in self._spans(query.shape[2])
            ]
            weights = (scores[0] if len(scores) == 1 else torch.cat(scores, -1)).softmax(-1)
            output, offset = None, 0
            for _, tier, span in self._spans(query.shape[2]):
                taken = weights[..., offset : offset + span[1] - span[0]]
                offset += span[1] - span[0]
                mixed = tier.mix(taken, *span)
                output = mixed if output is None else output.add_(mixed)
            assert output is not None
            parts.append(output.view(rows, kv_heads, groups, stop - start, width))
            if query_weight is not None:
                drawn = self._drawn(weights, query_weight[:, start:stop])
                mass = drawn if mass is None else mass.add_(drawn)
        output = parts[0] if len(parts) == 1 else torch.cat(parts, 3)
        return output, [] if mass is None else list(mass.split(sizes, -1))

    def _spans(self, query_rows: int) -> Iterator[tuple[int, Tier, tuple[int, int]]]:
        """Yield blocks as (tier number, tier, (start, stop)); a tier that is read without copies is one block."""
        for number, tier in enumerate(self.tiers):
            step = tier.step if tier.copies or query_rows > TILE // max(1, tier.slots) else max(1, tier.slots)
            for start in range(0, tier.slots, step):
                yield number, tier, (start, min(start + step, tier.slots))

    def _masked(
        self,
        scores: torch.Tensor,
        bias: torch.Tensor | None,
        span: tuple[int, int],
        number: int,
        start: int,
        stop: int,
    ) -> torch.Tensor:
        """Return scores `[B, Hkv, groups * q, n]` of the queries `start:stop` with softcap and biases applied."""
        if self.softcap is not None:
            scores = scores.div_(self.softcap).tanh_().mul_(self.softcap)
        if bias is not None:
            scores += bias[:, :, None, span[0] : span[1]]
        if self.own_bias is not None and number == len(self.tiers) - 1:
            shape = (*scores.shape[:2], self.groups, stop - start, scores.shape[-1])
            scores.view(shape).add_(self.own_bias[:, :, None, start:stop, span[0] : span[1]])
        return scores

    def _drawn(self, weights: torch.Tensor, query_weight: torch.Tensor) -> torch.Tensor:
        """Return `[B, Hkv, n]`: weights `[B, Hkv, groups * q, n]` summed under `query_weight [B, q]`."""
        if query_weight.shape[-1] == 1:
            return weights.mean(2).mul_(query_weight[:, None])
        rows, kv_heads = weights.shape[:2]
        each = (query_weight / self.groups)[:, None, None, :].expand(rows, kv_heads, self.groups, -1)
        return torch.matmul(each.reshape(rows, kv_heads, 1, -1), weights).squeeze(2)

    def blocks(self) -> Iterator[tuple[int, Tier, int, int]]:
        """Yield every block as (tier number, tier, start, stop)."""
        for number, tier in enumerate(self.tiers):
            for start in range(0, tier.slots, tier.step):
                yield number, tier, start, min(start + tier.step, tier.slots)

    def scores(self, query: torch.Tensor, number: int, tier: Tier, start: int, stop: int) -> torch.Tensor:
        """Return one block's final scores `[B, Hkv, groups * Q, stop - start]` of all queries."""
        return self._masked(tier.scores(query, start, stop), tier.bias, (start, stop), number, 0, self.length)

    def first_pass(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return output `[B, Hkv, groups * Q, D]` and log-sum-exp `[B, Hkv, groups * Q, 1]`, both fp32."""
        query = self.query.flatten(2, 3)
        largest = torch.full((*query.shape[:-1], 1), MASKED, device=query.device)
        total = torch.zeros_like(largest)
        output = torch.zeros(query.shape, dtype=torch.float32, device=query.device)
        for span in self.blocks():
            scores = self.scores(query, *span)
            higher = torch.maximum(largest, scores.amax(-1, keepdim=True))
            weights = scores.sub_(higher).exp_()
            fade = (largest - higher).exp_()
            total = total.mul_(fade).add_(weights.sum(-1, keepdim=True))
            output = output.mul_(fade).add_(span[1].mix(weights, *span[2:]))
            largest = higher
        return output.div_(total), largest + total.log()

    def second_pass(self, log_sum: torch.Tensor, query_weight: torch.Tensor) -> list[torch.Tensor]:
        """Return the mass of each tier's slots from the log-sum-exp of the first pass."""
        query = self.query.flatten(2, 3)
        mass: list[list[torch.Tensor]] = [[] for _ in self.tiers]
        for span in self.blocks():
            weights = self.scores(query, *span).sub_(log_sum).exp_()
            mass[span[0]].append(self._drawn(weights, query_weight))
        empty = torch.zeros(*query.shape[:2], 0, device=query.device)
        return [torch.cat(parts, -1) if parts else empty for parts in mass]
