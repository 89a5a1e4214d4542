"""Choosing slots: who is protected, who goes first, and compact lists of chosen slots, without leaving the device."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from confkv_agents.cache.policies import Policy, SlotView
from confkv_agents.cache.segments import Segments

INFINITY = float("inf")


def rank_keys(
    policy: Policy,
    position: torch.Tensor,
    carried: Mapping[str, torch.Tensor],
    seen: int,
    first_real: torch.Tensor | None,
    segments: Segments | None = None,
    decoded: int = 0,
) -> torch.Tensor:
    """Return `[L, B, H, S]` keys by which slots are kept: higher stays longer.

    Protected tokens (sinks and window) are +inf by mask, so that no score can tie with them; empty slots are -inf.

    Args:
        policy: Gives the score, the window and the span.
        position: `[L, B, H, S]` logical positions, -1 for empty slots.
        carried: Figures like `position`: "mass" and "probe", where the policy needs them.
        seen: Tokens fed so far.
        first_real: `[B]` position of each row's first real token; None means 0.
        segments: What the session says of its tokens, if the policy uses it.
        decoded: Tokens decoded since the last probe.
    """
    live = position >= 0
    age = (seen - position).clamp_min(1)
    start = 0 if first_real is None else first_real.view(1, -1, 1, 1)
    sink = position - start < policy.config.sinks
    view = SlotView(position, age, live & ~sink, carried.get("mass"), carried.get("probe"), decoded)
    score = policy.score(view).masked_fill(~live, -INFINITY)
    score = _pooled(score, position, policy.span, segments, policy.own_share)
    if segments is not None:
        score = segments.weigh(score, position)
    protected = (position >= seen - policy.window) | sink
    return score.masked_fill(protected & live, INFINITY).masked_fill(~live, -INFINITY)


def _pooled(
    score: torch.Tensor, position: torch.Tensor, span: int, segments: Segments | None, own_share: float
) -> torch.Tensor:
    """Pool scores over neighbours: in their grid for pictures that have one, along positions for all else."""
    if span == 1:
        return score
    pooled = pool_spans(score, position, span)
    if segments is not None:
        pooled = segments.pool_grids(score, position, pooled, span)
    return torch.lerp(pooled, score, own_share).masked_fill_(position < 0, -INFINITY)


def pool_spans(score: torch.Tensor, position: torch.Tensor, span: int) -> torch.Tensor:
    """Give each token the best score among its `span` nearest stored neighbours, in order of position."""
    order = position.argsort(-1)
    ordered = score.gather(-1, order)
    flat = ordered.reshape(-1, 1, ordered.shape[-1])
    pooled = torch.nn.functional.max_pool1d(flat, span, stride=1, padding=span // 2).view_as(ordered)
    shared = torch.empty_like(score).scatter_(-1, order, pooled)
    return shared


def lowest(keys: torch.Tensor, among: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    """Mark the `count` lowest keys among the slots given.

    Args:
        keys: `[..., S]`.
        among: `[..., S]` bool, the slots to choose from.
        count: `[..., 1]` how many to mark in each row, no more than there are finite keys; 0 or less marks none.

    Returns:
        `[..., S]` bool. Ties go to the lower slot.
    """
    order = torch.where(among, keys, INFINITY).argsort(dim=-1, stable=True)
    rank = torch.empty_like(order).scatter_(-1, order, _count_up(order))
    return among & (rank < count)


def first_true(mask: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the slots of the first `count` marks of each row and which of these are real.

    Args:
        mask: `[..., S]` bool.
        count: Length of the lists.

    Returns:
        Slots `[..., count]` int64 (0 where there is no further mark) and `[..., count]` bool.
    """
    place = (mask.cumsum(-1) - 1).masked_fill_(~mask, count).clamp_max_(count)
    slots = torch.zeros(*mask.shape[:-1], count + 1, dtype=torch.int64, device=mask.device)
    slots.scatter_(-1, place, _count_up(place))
    number = mask.sum(-1, keepdim=True)
    return slots[..., :count], torch.arange(count, device=mask.device) < number


def _count_up(like: torch.Tensor) -> torch.Tensor:
    return torch.arange(like.shape[-1], device=like.device).expand_as(like)
