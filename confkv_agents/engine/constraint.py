"""What an answer may look like, as a mask over the next token's logits.

A constraint sees the tokens that were chosen and says which may come next. It never changes the logits that
confidence is measured on: masking happens on a copy, at the moment of choosing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch


class Constraint(Protocol):
    """Decides which token may come next in one answer; used by one request, in the engine's thread."""

    @property
    def done(self) -> bool:
        """Whether the answer is complete and nothing may follow."""

    def mask(self, logits: torch.Tensor) -> torch.Tensor:
        """Logits `[V]` with minus infinity where the token may not come next; the given ones stay as they are.

        Raises:
            ConstraintError: No token may come next.
        """

    def advance(self, token_id: int) -> None:
        """Take note of the token that was chosen.

        Raises:
            ConstraintError: The token was not allowed.
        """


class Opening:
    """Forces the first tokens of an answer and leaves the rest free.

    What can be done for a forced tool call without a grammar: the call is begun for the model.

    Args:
        ids: The tokens to force.
    """

    def __init__(self, ids: Sequence[int]):
        self._left = list(ids)

    @property
    def done(self) -> bool:
        """Never: what follows the opening is free."""
        return False

    def mask(self, logits: torch.Tensor) -> torch.Tensor:
        """Allow only the next token of the opening, or every token after it; `[V]`."""
        if not self._left:
            return logits
        masked = torch.full_like(logits, float("-inf"))
        masked[self._left[0]] = logits[self._left[0]]
        return masked

    def advance(self, token_id: int) -> None:
        """Take note of the token that was chosen."""
        if self._left:
            self._left.pop(0)
