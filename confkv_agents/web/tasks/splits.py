"""What is for training and what is held out: by seed, by name and by wording, the same on every machine."""

from __future__ import annotations

import hashlib
from typing import Literal

Split = Literal["train", "heldout"]

HELD_OUT_SEEDS = range(1000)
"""Seeds below 1000 are for evaluation; the tasks that come with the package use them. Training uses those above."""

_SHARE = 3  # one name in three is held out


def split_of(seed: int) -> Split:
    """The split that a seed belongs to."""
    return "heldout" if seed in HELD_OUT_SEEDS else "train"


def is_held_out(name: str) -> bool:
    """Whether a name (of a product, a person, a listing) is kept for evaluation: one in three, by its hash."""
    return hashlib.sha256(name.encode()).digest()[0] % _SHARE == 0
