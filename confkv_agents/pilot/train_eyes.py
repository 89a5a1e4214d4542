"""Trains the resampler of the eyes on drawn pictures, whose facts are known, with the picture network frozen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from confkv_agents.engine.eyes import Resampler
from confkv_agents.pilot.features import Shards
from confkv_agents.pilot.heads import Heads
from confkv_agents.pilot.training import Settings, batches, train, trained

_BATCH = 64


def train_eyes(
    resampler: Resampler,
    heads: Heads,
    pictures: Shards,
    held: Shards,
    settings: Settings,
    folder: Path,
    say: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Train resampler and heads in place; half of the pictures are seen mirrored.

    Args:
        resampler: Trained, and used afterwards.
        heads: Trained, and of use for figures only.
        pictures: To train on.
        held: To take figures on.
        settings: See `train`.
        folder: Of checkpoint and curve.
        say: Told the curve.

    Returns:
        The curve; each line holds the share of held-out pictures whose facts the heads read rightly, per fact.
    """
    parameters = dict(trained(resampler, "resampler.")) | dict(trained(heads, "heads."))

    def loss_of(step: int) -> torch.Tensor:
        at = batches(len(pictures), _BATCH, step, settings.seed)
        features = pictures.batch(at)
        if torch.rand((), generator=torch.Generator().manual_seed(settings.seed + step)) < 0.5:
            features = (features[0].flip(-1), features[1].flip(-1), features[2].flip(-1))
        with torch.autocast("cpu", torch.bfloat16):
            tokens = resampler(*features)
        return heads.loss(tokens.float(), [pictures.facts[each] for each in at])

    return train(parameters, loss_of, settings, folder, lambda: accuracies(resampler, heads, held), say)


@torch.inference_mode()
def accuracies(resampler: Resampler, heads: Heads, held: Shards, views: str = "") -> Mapping[str, float]:
    """Share of pictures read rightly, per fact.

    Args:
        resampler: Makes the tokens.
        heads: Reads them.
        held: Pictures.
        views: Only those whose view contains this.
    """
    found: dict[str, list[bool]] = {}
    chosen = [at for at, view in enumerate(held.views) if views in view]
    for start in range(0, len(chosen), _BATCH):
        at = chosen[start : start + _BATCH]
        right = heads.right(resampler(*held.batch(at)), [held.facts[each] for each in at])
        for fact, answers in right.items():
            found.setdefault(fact, []).extend(answers)
    return {fact: round(sum(answers) / len(answers), 4) for fact, answers in found.items() if answers}
