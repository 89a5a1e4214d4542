"""Attention over tiers and the attention mass each stored token drew, without all weights ever existing at once.

Four ways through the same tokens; `attend` picks one by what is asked, and tests hold each to the same reference:

- `fused`: no mass is asked for, so torch's fused attention does it;
- `tiled`: queries go in tiles over all stored tokens at once: a tile's softmax is complete, so output and mass come
  from one pass over a few megabytes that stay in the processor's cache;
- `direct`: a few queries, as in decoding, where making a copy of coded keys would cost more than attending;
- `blocks`: too many coded tokens to decode at once: an online softmax goes through them block by block and keeps only
  output and log-sum-exp; where mass is wanted, a second pass turns scores into weights again.

The first two read keys and values of all tiers into one piece of memory first: tokens of one layer, live ones only
where the host may look (on the CPU), so that empty slots cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch

from confkv_agents.cache.own_bias import OwnBias, hidden
from confkv_agents.cache.tiers import FEW_ROWS, MASKED, DenseTier, Int8Tier, Tier, product

Path = Literal["fused", "tiled", "direct", "blocks"]

TILE = 1 << 20  # most weights of one tile: 2 MiB in bf16, for a processor's cache; an accelerator takes 64 at a time
GATHERED = 4096  # most slots of which coded ones are decoded at once
FUSED_ROW = 1024  # on the CPU, a single query over more slots than this is faster by plain products than fused
PIECE = 256  # queries that the fused way takes at a time when they need a mask
ALIGNED = 64  # slots to which keys in one piece are filled up: products with odd sizes take twice as long


@dataclass(frozen=True)
class Heads:
    """How one attention call reads scores.

    Attributes:
        scaling: Factor on the scores.
        groups: Query heads per KV head.
        softcap: Scores become `softcap * tanh(score / softcap)`, or None.
        group: How the mass of the query heads that share a KV head becomes one: "mean" or "max".
    """

    scaling: float
    groups: int
    softcap: float | None = None
    group: Literal["mean", "max"] = "mean"


@dataclass(frozen=True)
class AttentionResult:
    """What `attend` returns.

    Attributes:
        output: `[B, Hq, Q, D]` in the query's dtype.
        mass: For each tier `[B, Hkv, slots]` fp32: weights summed over queries (each times its query weight) and
            averaged over the query group (or its largest, see `Heads.group`); empty when not asked for.
    """

    output: torch.Tensor
    mass: list[torch.Tensor]


def attend(
    query: torch.Tensor,
    tiers: Sequence[Tier],
    heads: Heads,
    *,
    own_bias: OwnBias | None = None,
    query_weight: torch.Tensor | None = None,
    path: Path | None = None,
) -> AttentionResult:
    """Let queries attend to every stored token of the tiers.

    Args:
        query: `[B, Hq, Q, D]` with `Hq = Hkv * groups`.
        tiers: Where to look; an empty slot has bias `MASKED`.
        heads: How scores are read.
        own_bias: Says that the last Q slots of the last tier are the queries' own tokens, and who sees whom.
        query_weight: `[B, Q]` fp32 weight of each query in the mass; None reports no mass.
        path: Which way to go; None picks the fastest.

    Returns:
        Output and mass. The output of a query that sees nothing (padding) is finite and means nothing.
    """
    rows, q_heads, length, width = query.shape
    packed = query.reshape(rows, q_heads // heads.groups, heads.groups, length, width)
    work = _Work(packed, tiers, heads, own_bias)
    path = path or work.fastest(query_weight is not None)
    mass: list[torch.Tensor] = []
    if path == "fused":
        output = work.fused()
    elif path == "tiled":
        output, mass = work.tiled(query_weight)
    elif path == "direct":
        output, mass = work.direct(query_weight)
    else:
        output, log_sum = work.first_pass()
        mass = [] if query_weight is None else work.second_pass(log_sum, query_weight)
    return AttentionResult(output.to(query.dtype).reshape(rows, q_heads, length, width), mass)


@dataclass(frozen=True)
class _Gathered:
    """Keys and values of all tiers in one piece; before the queries' own tokens lies a gap that nobody may see.

    Attributes:
        keys: `[B, Hkv, n, D]`.
        values: `[B, Hkv, n, D]`.
        bias: `[B or 1, Hkv or 1, n]` in the keys' dtype, or None if all but the gap are visible.
        index: For each tier the slots taken `[B, Hkv, n]`, None for all in order.
        starts: For each tier where its slots begin.
        gap: Slots between the others and the queries' own.
    """

    keys: torch.Tensor
    values: torch.Tensor
    bias: torch.Tensor | None
    index: list[torch.Tensor | None]
    starts: list[int]
    gap: int


class _Work:
    """One call's operands; queries are `[B, Hkv, groups, Q, D]`."""

    def __init__(self, query: torch.Tensor, tiers: Sequence[Tier], heads: Heads, own_bias: OwnBias | None) -> None:
        self.query, self.tiers, self.own, self.heads = query, tiers, own_bias, heads
        self.rows, self.kv_heads, self.groups, self.length, self.width = query.shape
        self.slots = sum(tier.slots for tier in tiers)

    def fastest(self, mass: bool) -> Path:
        """Return the path to take."""
        few = self.groups * self.length <= FEW_ROWS
        weights = self.slots * self.groups * self.length * self.kv_heads * self.rows
        coded = any(tier.copies for tier in self.tiers)
        fusable = not mass and self.heads.softcap is None
        if fusable and not coded:
            plain = few and self.own is None and self.query.device.type == "cpu" and self.slots > FUSED_ROW
            return "direct" if plain else "fused"
        if few and self.own is None and weights <= 4 * TILE:
            return "direct"
        if coded and (self.slots > GATHERED or not all(isinstance(tier, DenseTier | Int8Tier) for tier in self.tiers)):
            return "direct" if weights <= 4 * TILE else "blocks"
        return "fused" if fusable else "tiled"

    # ------------------------------------------------------------------ everything in one piece

    def gather(self) -> _Gathered:
        """Read every tier."""
        tiers = [tier for tier in self.tiers if isinstance(tier, DenseTier | Int8Tier)]
        if len(tiers) < len(self.tiers):
            raise TypeError("a tier is read block by block only: take the path 'blocks' or 'direct'")
        shape, dtype = (self.rows, self.kv_heads), self.query.dtype
        if len(tiers) == 1 and isinstance(tiers[0], DenseTier):
            bias = None if tiers[0].bias is None else _lower(tiers[0].bias, dtype)
            return _Gathered(tiers[0].keys, tiers[0].values, bias, [None], [0], 0)
        index = [None if tier.bias is None else _live(tier.bias) for tier in tiers]
        sizes = [tier.slots if taken is None else taken.shape[-1] for tier, taken in zip(tiers, index, strict=True)]
        gap = 0 if self.own is None else -sum(sizes) % ALIGNED
        starts = [sum(sizes[:number]) for number in range(len(sizes))]
        starts[-1] += gap
        total = sum(sizes) + gap
        keys, values = (self.query.new_empty(*shape, total, self.width) for _ in range(2))
        keys[:, :, starts[-1] - gap : starts[-1]] = 0
        values[:, :, starts[-1] - gap : starts[-1]] = 0
        joined = None
        for number, (tier, taken, start) in enumerate(zip(tiers, index, starts, strict=True)):
            taken = index[number] = None if taken is None else taken.expand(*shape, -1)
            span = slice(start, start + sizes[number])
            tier.load(taken, keys[:, :, span], values[:, :, span])
            if tier.bias is not None and taken is None:
                joined = self.query.new_zeros(*shape, total) if joined is None else joined
                joined[..., span] = _lower(tier.bias, dtype)
        return _Gathered(keys, values, joined, index, starts, gap)

    def fused(self) -> torch.Tensor:
        """Return the output `[B, Hkv, groups, Q, D]` from torch's own attention."""
        if self.heads.softcap is not None:
            raise ValueError("the fused path knows no softcap")
        sdpa, scale = torch.nn.functional.scaled_dot_product_attention, self.heads.scaling
        all_of = self.gather()
        keys, values, bias = all_of.keys, all_of.values, all_of.bias
        total, shape = keys.shape[2], (self.rows, self.kv_heads)
        if self.own is None:
            packed = self.query.flatten(2, 3)
            mask = None if bias is None else bias[:, :, None].expand(*shape, packed.shape[2], -1)
            return sdpa(packed, keys, values, attn_mask=mask, scale=scale).view(self.query.shape)
        past = total - self.length - all_of.gap
        if past == 0 and self.own.real is None and bias is None:
            query = self.query.flatten(1, 2)
            output = sdpa(query, keys, values, is_causal=True, scale=scale, enable_gqa=self.groups > 1)
            return output.view(self.query.shape)
        parts = []
        for start in range(0, self.length, PIECE):
            stop = min(start + PIECE, self.length)
            seen = total - self.length + stop
            mask = self._mask(past, all_of.gap, start, stop)
            if bias is not None:
                mask = mask + bias[:, :, None, :seen]
            query = self.query[:, :, :, start:stop].flatten(2, 3)
            mask = mask.expand(*shape, -1, -1)
            output = sdpa(query, keys[:, :, :seen], values[:, :, :seen], attn_mask=mask, scale=scale)
            parts.append(output.unflatten(2, (self.groups, stop - start)))
        return parts[0] if len(parts) == 1 else torch.cat(parts, 3)

    def _mask(self, past: int, gap: int, start: int, stop: int) -> torch.Tensor:
        """Return the mask `[1 or B, 1, groups * q, past + gap + stop]` of the queries `start:stop`."""
        assert self.own is not None
        if self.length <= PIECE:
            return self.own.mask(past, gap, self.groups, self.query.dtype).flatten(2, 3)
        own = self.own.bias(self.query.dtype, gap)[:, :, start:stop, : gap + stop]
        wide = torch.nn.functional.pad(own, (past, 0))[:, :, None]
        return wide.expand(-1, -1, self.groups, -1, -1).flatten(2, 3)

    def tiled(self, query_weight: torch.Tensor | None) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Return output and mass, a tile of queries at a time over all stored tokens."""
        all_of = self.gather()
        keys, values = all_of.keys.flatten(0, 1), all_of.values.flatten(0, 1)
        heads, total = keys.shape[:2]
        most = TILE if keys.device.type == "cpu" else 64 * TILE
        tiles = -(-heads * self.groups * self.length * total // most)
        step = -(-self.length // max(1, min(tiles, self.length)))
        # Large tensors that come and go would be handed back to the system and zeroed again each time: reuse one.
        reuse = not (torch.is_grad_enabled() and self.query.requires_grad)
        room = self.query.new_empty(heads * self.groups * step * total) if reuse else None
        mass, share, by_head = None, None, None
        if query_weight is not None:
            mass = torch.zeros(heads, total, dtype=torch.float32, device=keys.device)
            share = (query_weight / self.groups).to(keys.dtype)
        parts = []
        for start in range(0, self.length, step):
            stop = min(start + step, self.length)
            query = (self.query[:, :, :, start:stop] * self.heads.scaling).reshape(heads, -1, self.width)
            place = None if room is None else room[: query.shape[0] * query.shape[1] * total].view(heads, -1, total)
            scores = torch.bmm(query, keys.transpose(1, 2), out=place)
            self._finish(scores.unflatten(0, (self.rows, -1)).unflatten(2, (self.groups, -1)), all_of, start, stop)
            weights = torch.softmax(scores, -1, out=place)
            parts.append(torch.bmm(weights, values).view(*self.query.shape[:3], stop - start, self.width))
            if query_weight is not None and self.heads.group == "max":
                each = self._by_head(weights.unflatten(0, (self.rows, -1)), query_weight[:, start:stop])
                by_head = each if by_head is None else by_head.add_(each)
            elif mass is not None and share is not None:
                each = share[:, None, None, start:stop].expand(-1, self.kv_heads, self.groups, -1)
                mass += torch.bmm(each.reshape(heads, 1, -1), weights).squeeze(1)
        output = parts[0] if len(parts) == 1 else torch.cat(parts, 3)
        if by_head is not None:
            return output, self._spread(by_head.amax(2), all_of)
        return output, [] if mass is None else self._spread(mass.unflatten(0, (self.rows, -1)), all_of)

    def _finish(self, scores: torch.Tensor, all_of: _Gathered, start: int, stop: int) -> None:
        """Apply softcap and biases in place to `[B, Hkv, groups, q, n]` scores of the queries `start:stop`."""
        if self.heads.softcap is not None:
            scores.div_(self.heads.softcap).tanh_().mul_(self.heads.softcap)
        if all_of.bias is not None:
            scores.add_(all_of.bias[:, :, None, None])
        if self.own is not None:
            own = self.own.bias(scores.dtype, all_of.gap)[:, :, None, start:stop]
            scores[..., -own.shape[-1] :].add_(own)

    def _spread(self, mass: torch.Tensor, all_of: _Gathered) -> list[torch.Tensor]:
        """Return for each tier `[B, Hkv, slots]` of what its taken slots drew."""
        found = []
        for tier, index, start in zip(self.tiers, all_of.index, all_of.starts, strict=True):
            drawn = mass[..., start : start + (tier.slots if index is None else index.shape[-1])]
            if index is not None:
                empty = torch.zeros(*drawn.shape[:2], tier.slots, dtype=torch.float32, device=mass.device)
                drawn = empty.scatter_(-1, index, drawn)
            found.append(drawn)
        return found

    # ------------------------------------------------------------------ a few queries, tier by tier

    def direct(self, query_weight: torch.Tensor | None) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Return output and mass of a few queries, from what each tier says."""
        query = (self.query * self.heads.scaling).flatten(2, 3)
        only = self.tiers[0]
        if len(self.tiers) == 1 and isinstance(only, DenseTier) and self.own is None and self.heads.softcap is None:
            scores = product(only.keys, query.transpose(2, 3)).transpose(2, 3)
            scores = scores.float() if only.bias is None else scores + only.bias[:, :, None]  # the bias is fp32
            weights = scores.softmax(-1)
            output = product(weights.to(query.dtype), only.values).view(self.query.shape)
            return output, [] if query_weight is None else [self._drawn(weights, query_weight)]
        spans = list(self._spans())
        each = [self._scores(query, *span) for span in spans]
        weights = (each[0] if len(each) == 1 else torch.cat(each, -1)).softmax(-1)
        mixed_all, offset = None, 0
        for _, tier, start, stop in spans:
            mixed = tier.mix(weights[..., offset : offset + stop - start], start, stop)
            mixed_all = mixed if mixed_all is None else mixed_all.add_(mixed)
            offset += stop - start
        assert mixed_all is not None
        output = mixed_all.view(self.query.shape)
        if query_weight is None:
            return output, []
        drawn = self._drawn(weights, query_weight)
        sizes = [tier.slots for tier in self.tiers]
        return output, [drawn] if len(sizes) == 1 else list(drawn.split(sizes, -1))

    def _spans(self) -> Iterator[tuple[int, Tier, int, int]]:
        """Yield (tier number, tier, start, stop); a tier that is read without copies is one span."""
        for number, tier in enumerate(self.tiers):
            step = tier.step if tier.copies else max(1, tier.slots)
            for start in range(0, tier.slots, step):
                yield number, tier, start, min(start + step, tier.slots)

    def _scores(self, query: torch.Tensor, number: int, tier: Tier, start: int, stop: int) -> torch.Tensor:
        """Return one span's final scores `[B, Hkv, groups * Q, stop - start]` fp32 of all queries."""
        scores, bias = tier.scores(query, start, stop), tier.bias
        if self.heads.softcap is not None:
            scores = scores.div_(self.heads.softcap).tanh_().mul_(self.heads.softcap)
        if bias is not None:
            scores += bias[:, :, None, start:stop]
        first = tier.slots - self.length  # of the queries' own tokens
        if self.own is not None and number == len(self.tiers) - 1 and stop > first:
            begin = max(start, first)
            own = self.own.bias(scores.dtype)[:, :, None, :, begin - first : stop - first]
            scores[..., begin - start :].unflatten(2, (self.groups, self.length)).add_(own)
        return scores

    def _drawn(self, weights: torch.Tensor, query_weight: torch.Tensor) -> torch.Tensor:
        """Return `[B, Hkv, n]`: weights `[B, Hkv, groups * Q, n]` summed under `query_weight [B, Q]`."""
        if self.heads.group == "max":
            return self._by_head(weights, query_weight).amax(2)
        if query_weight.shape[-1] == 1:
            return weights.mean(2).mul_(query_weight[:, None])
        rows, kv_heads = weights.shape[:2]
        each = (query_weight / self.groups)[:, None, None, :].expand(rows, kv_heads, self.groups, -1)
        return torch.matmul(each.reshape(rows, kv_heads, 1, -1), weights).squeeze(2)

    def _by_head(self, weights: torch.Tensor, query_weight: torch.Tensor) -> torch.Tensor:
        """Return `[B, Hkv, groups, n]` fp32: weights `[B, Hkv, groups * q, n]` summed under `query_weight [B, q]`."""
        each = weights.unflatten(2, (self.groups, -1))
        row = query_weight[:, None, None, None, :].to(each.dtype).expand(*each.shape[:3], 1, -1)
        return torch.matmul(row, each).squeeze(3).float()

    # ------------------------------------------------------------------ online softmax, block by block

    def blocks(self) -> Iterator[tuple[int, Tier, int, int]]:
        """Yield every block as (tier number, tier, start, stop)."""
        for number, tier in enumerate(self.tiers):
            for start in range(0, tier.slots, tier.step):
                yield number, tier, start, min(start + tier.step, tier.slots)

    def first_pass(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return output `[B, Hkv, groups * Q, D]` and log-sum-exp `[B, Hkv, groups * Q, 1]`, both fp32."""
        query = (self.query * self.heads.scaling).flatten(2, 3)
        largest = torch.full((*query.shape[:-1], 1), MASKED, device=query.device)
        total = torch.zeros_like(largest)
        output = torch.zeros(query.shape, dtype=torch.float32, device=query.device)
        for span in self.blocks():
            scores = self._scores(query, *span)
            higher = torch.maximum(largest, scores.amax(-1, keepdim=True))
            weights = scores.sub_(higher).exp_()
            fade = (largest - higher).exp_()
            total = total.mul_(fade).add_(weights.sum(-1, keepdim=True))
            output = output.mul_(fade).add_(span[1].mix(weights, *span[2:]))
            largest = higher
        return output.div_(total), largest + total.log()

    def second_pass(self, log_sum: torch.Tensor, query_weight: torch.Tensor) -> list[torch.Tensor]:
        """Return the mass of each tier's slots from the log-sum-exp of the first pass."""
        query = (self.query * self.heads.scaling).flatten(2, 3)
        mass: list[list[torch.Tensor]] = [[] for _ in self.tiers]
        for span in self.blocks():
            weights = self._scores(query, *span).sub_(log_sum).exp_()
            mass[span[0]].append(self._drawn(weights, query_weight))
        empty = torch.zeros(*query.shape[:2], 0, device=query.device)
        return [torch.cat(parts, -1) if parts else empty for parts in mass]


def _live(bias: torch.Tensor) -> torch.Tensor | None:
    """Return the slots that hold tokens, `[B, H, n]`, if every head has as many and the host may look; else None."""
    if bias.device.type != "cpu":
        return None
    live = bias == 0
    counts = live.sum(-1)
    number = int(counts.max())
    if number in (0, bias.shape[-1]) or number != int(counts.min()):
        return None
    return live.nonzero()[:, -1].view(*bias.shape[:2], number)


def _lower(bias: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return bias.clamp_min(hidden(dtype)).to(dtype)
