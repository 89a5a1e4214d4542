"""Cheap teachers of the eyes: one linear layer per fact on all tokens of a picture. They are thrown away afterwards."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from confkv_agents.pilot.captions import COLOURS, MARKS, MOTIFS, SCENES, Facts

_MOST = 10  # pieces that are counted
_UNKNOWN = -100  # what cross_entropy leaves out


class Heads(nn.Module):
    """Names each fact of a picture.

    Args:
        width: Numbers of all tokens of a picture.
        kinds: Every kind of thing.
    """

    def __init__(self, width: int, kinds: Sequence[str]):
        super().__init__()
        self.kinds = tuple(kinds)
        self._names: dict[str, list[str]] = {
            "kind": list(kinds),
            "colour": list(COLOURS),
            "count": [str(number) for number in range(1, _MOST + 1)],
            "mark": ["", *MARKS],
            "motif": ["", *MOTIFS],
            "scene": ["", *SCENES],
            "other": ["", *kinds],
            "others": [str(number) for number in range(4)],
        }
        self.layers = nn.ModuleDict({fact: nn.Linear(width, len(names)) for fact, names in self._names.items()})

    def forward(self, tokens: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return logits per fact of tokens `[B, T, D]`."""
        flat = tokens.flatten(1)
        return {fact: layer(flat) for fact, layer in self.layers.items()}

    def targets(self, facts: Sequence[Facts]) -> dict[str, torch.Tensor]:
        """Return class numbers per fact; those that a picture does not tell are -100."""
        return {fact: torch.tensor([self._target(fact, each) for each in facts]) for fact in self._names}

    def _target(self, fact: str, facts: Facts) -> int:
        value = str(getattr(facts, fact))
        if (fact == "colour" and not value) or (fact == "count" and value == "0"):
            return _UNKNOWN
        return self._names[fact].index(value)

    def loss(self, tokens: torch.Tensor, facts: Sequence[Facts]) -> torch.Tensor:
        """Sum of the mean losses of all facts."""
        logits, targets = self(tokens), self.targets(facts)
        parts = [nn.functional.cross_entropy(logits[fact].float(), targets[fact]) for fact in logits
                 if (targets[fact] != _UNKNOWN).any()]  # fmt: skip
        return torch.stack(parts).sum()

    def right(self, tokens: torch.Tensor, facts: Sequence[Facts]) -> dict[str, list[bool]]:
        """Per fact, whether each picture that tells it was read rightly.

        Marks, motifs and second things are also judged on the pictures that have one: `mark*`, `motif*`, `other*`.
        """
        logits, targets = self(tokens), self.targets(facts)
        found: dict[str, list[bool]] = {}
        for fact, target in targets.items():
            same = (logits[fact].argmax(-1) == target).tolist()
            found[fact] = [yes for yes, truth in zip(same, target.tolist(), strict=True) if truth != _UNKNOWN]
            if fact in ("mark", "motif", "other"):
                found[fact + "*"] = [yes for yes, truth in zip(same, target.tolist(), strict=True) if truth > 0]
        return found
