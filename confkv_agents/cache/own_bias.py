"""Who sees whom among the tokens of one forward, in the forms that attention takes."""

from __future__ import annotations

import torch

from confkv_agents.cache.tiers import MASKED


class OwnBias:
    """Which of the new tokens see which: each sees itself and those before, and nobody sees padding.

    One object serves all layers of a forward and keeps what they share.

    Args:
        length: Number of new tokens, Q.
        device: Where they are.
        real: `[B, Q]` bool, False for padding; None if there is none.
    """

    def __init__(self, length: int, device: torch.device, real: torch.Tensor | None = None) -> None:
        self.length, self.device, self.real = length, device, real
        self._made: dict[tuple[object, ...], torch.Tensor] = {}

    def bias(self, dtype: torch.dtype, gap: int = 0) -> torch.Tensor:
        """Return `[1 or B, 1, Q, gap + Q]` of 0 and `hidden(dtype)`; nobody sees the `gap` slots before the tokens."""
        key = ("bias", dtype, gap)
        if key not in self._made:
            number = torch.arange(-gap, self.length, device=self.device)
            visible = ((number[gap:, None] >= number) & (number >= 0))[None, None]
            if self.real is not None:
                visible = visible & torch.nn.functional.pad(self.real, (gap, 0))[:, None, None, :]
            empty = torch.zeros(visible.shape, dtype=dtype, device=self.device)
            self._made[key] = empty.masked_fill_(~visible, hidden(dtype))
        return self._made[key]

    def mask(self, past: int, gap: int, groups: int, dtype: torch.dtype) -> torch.Tensor:
        """Return `[1 or B, 1, groups, Q, past + gap + Q]`: all see the past, and of their own what `bias` says."""
        key = ("mask", past, gap, groups, dtype)
        if key not in self._made:
            own = self.bias(dtype, gap)
            wide = torch.nn.functional.pad(own, (past, 0))
            self._made[key] = wide[:, :, None].expand(-1, -1, groups, -1, -1).contiguous()
        return self._made[key]


def hidden(dtype: torch.dtype) -> float:
    """Return the bias of a token that must not be seen: finite, and still finite with a score added."""
    return MASKED if dtype != torch.float16 else -3e4
