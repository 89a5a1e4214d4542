"""Attention over tiers, block by block with an online softmax, and the attention mass each stored token drew.

The weights of all queries over all tokens never exist at once. One pass finds output and log-sum-exp; where mass is
wanted, a second pass over the same blocks turns scores into weights and sums them over queries. With a single query,
as in decoding, its weights are one vector per head and both come from one pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from confkv_agents.cache.tiers import MASKED, Tier


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
    packed = query.reshape(rows, q_heads // heads.groups, heads.groups * length, width)
    work = _Work(packed, tiers, heads, length, own_bias)
    if length == 1:
        output, mass = work.single(query_weight)
    else:
        output, log_sum = work.first_pass()
        mass = [] if query_weight is None else work.second_pass(log_sum, query_weight)
    return AttentionResult(output.to(query.dtype).reshape(rows, q_heads, length, width), mass)


class _Work:
    """One call's operands; queries are packed `[B, Hkv, groups * Q, D]`."""

    def __init__(
        self, query: torch.Tensor, tiers: Sequence[Tier], heads: Heads, length: int, own_bias: torch.Tensor | None
    ) -> None:
        self.query, self.tiers, self.length, self.own_bias = query, tiers, length, own_bias
        self.scaling, self.groups, self.softcap = heads.scaling, heads.groups, heads.softcap

    def blocks(self) -> Iterator[tuple[int, Tier, int, int]]:
        """Yield every block as (tier number, tier, start, stop)."""
        for number, tier in enumerate(self.tiers):
            for start in range(0, tier.slots, tier.step):
                yield number, tier, start, min(start + tier.step, tier.slots)

    def scores(self, number: int, tier: Tier, start: int, stop: int) -> torch.Tensor:
        """Return final scores `[B, Hkv, groups * Q, stop - start]` of one block, masked."""
        scores = tier.scores(self.query, start, stop).mul_(self.scaling)
        if self.softcap is not None:
            scores = scores.div_(self.softcap).tanh_().mul_(self.softcap)
        if tier.bias is not None:
            scores += tier.bias[:, :, None, start:stop]
        if self.own_bias is not None and number == len(self.tiers) - 1:
            shape = (*scores.shape[:2], self.groups, self.length, stop - start)
            scores = (scores.view(shape) + self.own_bias[:, :, None, :, start:stop]).view_as(scores)
        return scores

    def single(self, query_weight: torch.Tensor | None) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Return output and mass of one query per head: its weights are a single vector."""
        spans = list(self.blocks())
        weights = torch.cat([self.scores(*span) for span in spans], -1).softmax(-1)
        output, mass, offset = None, [], 0
        parts: dict[int, list[torch.Tensor]] = {}
        for number, tier, start, stop in spans:
            part = weights[..., offset : offset + stop - start]
            offset += stop - start
            mixed = tier.mix(part, start, stop)
            output = mixed if output is None else output.add_(mixed)
            if query_weight is not None:
                parts.setdefault(number, []).append(part.mean(2))
        assert output is not None
        for number in range(len(self.tiers)):
            pieces = parts.get(number, [])
            if pieces:
                mass.append(pieces[0] if len(pieces) == 1 else torch.cat(pieces, -1))
            elif query_weight is not None:
                mass.append(weights.new_zeros(*weights.shape[:2], 0))
        if query_weight is not None:
            mass = [part * query_weight[:, None] for part in mass]
        return output, mass

    def first_pass(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return output `[B, Hkv, groups * Q, D]` and log-sum-exp `[B, Hkv, groups * Q, 1]`, both fp32."""
        shape, device = self.query.shape, self.query.device
        largest = torch.full((*shape[:-1], 1), MASKED, device=device)
        total = torch.zeros_like(largest)
        output = torch.zeros(shape, dtype=torch.float32, device=device)
        for span in self.blocks():
            scores = self.scores(*span)
            higher = torch.maximum(largest, scores.amax(-1, keepdim=True))
            weights = scores.sub_(higher).exp_()
            fade = (largest - higher).exp_()
            total = total.mul_(fade).add_(weights.sum(-1, keepdim=True))
            output = output.mul_(fade).add_(span[1].mix(weights, *span[2:]))
            largest = higher
        return output.div_(total), largest + total.log()

    def second_pass(self, log_sum: torch.Tensor, query_weight: torch.Tensor) -> list[torch.Tensor]:
        """Return the mass of each tier's slots from the log-sum-exp of the first pass."""
        rows, heads = self.query.shape[:2]
        weight = query_weight[:, None, None, :].expand(rows, 1, self.groups, self.length)
        weight = weight.reshape(rows, 1, 1, -1) / self.groups
        weight = weight.expand(rows, heads, 1, -1)
        mass: list[list[torch.Tensor]] = [[] for _ in self.tiers]
        for span in self.blocks():
            weights = self.scores(*span).sub_(log_sum).exp_()
            mass[span[0]].append(torch.matmul(weight, weights).squeeze(2))
        empty = self.query.new_zeros(rows, heads, 0, dtype=torch.float32)
        return [torch.cat(parts, -1) if parts else empty for parts in mass]
