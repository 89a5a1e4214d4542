"""Attention mass over time: how much each query weighs, and how a decoding step's mass joins what was there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from confkv_agents.cache.bounded import BoundedBank


def step_share(bank: BoundedBank) -> float:
    """Weight of one decoding step in the mass."""
    policy = bank.policy
    return 1.0 - policy.decay if policy.normalized_mass and policy.decay < 1.0 else 1.0


def query_weights(bank: BoundedBank, length: int, real: torch.Tensor | None) -> torch.Tensor | None:
    """Return `[B, Q]` weights that make a chunk equal to its queries coming one by one, or None without mass."""
    policy = bank.policy
    if not policy.needs_mass:
        return None
    if length == 1 and real is None:
        if bank.one_query is None or bank.one_query.shape[0] != bank.rows:
            bank.one_query = torch.full((bank.rows, 1), step_share(bank), device=bank.device)
        return bank.one_query
    if real is not None:
        after = real.sum(-1, keepdim=True) - real.cumsum(-1)
        return torch.pow(policy.decay, after) * real * step_share(bank)
    if length not in bank.weights:  # the same for all layers of a forward
        after = torch.arange(length - 1, -1, -1, device=bank.device).expand(bank.rows, -1)
        bank.weights[length] = torch.pow(policy.decay, after) * step_share(bank)
    return bank.weights[length]


def fold_mass(bank: BoundedBank) -> None:
    """Fade the mass and add the last decoding step's, for all layers at once."""
    table, decay = bank.stores.table, bank.policy.decay
    if bank.folded or table.mass is None or table.step_mass is None:
        return
    if decay < 1.0 and bank.first_real is None:
        table.mass.mul_(decay)
    elif decay < 1.0:  # a padded row drew no mass: the step does not fade what it has
        active = (table.step_mass.sum(-1, keepdim=True) > 0).float()
        table.mass.mul_(1.0 - active * (1.0 - decay))
    table.mass.add_(table.step_mass)
    bank.folded = True
