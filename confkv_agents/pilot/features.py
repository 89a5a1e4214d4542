"""What the frozen picture network sees of thousands of drawn pictures, computed once and kept on disk.

A shard is a folder of arrays and a file of facts. It is drawn from its split's name and its number alone, so a run
that was stopped goes on where it was, and two machines make the same shards.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from confkv_agents.engine.eyes import EyesImageProcessor, EyesModel
from confkv_agents.errors import ConfigError
from confkv_agents.pilot.captions import Facts
from confkv_agents.pilot.pictures import Shown, draw

SHARD = 512  # pictures
_ARRAYS = ("fine", "coarse", "colours")
_BATCH = 32
Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Shards:
    """Pictures of a split, in memory-mapped arrays.

    Attributes:
        arrays: Per shard what `EyesModel.features` gives: `[N, 112, 14, 14]`, `[N, 320, 7, 7]`, `[N, 3, 28, 28]`, fp16.
        facts: What each picture shows, over all shards.
        views: Where each was seen.
    """

    arrays: tuple[tuple[np.ndarray, ...], ...]
    facts: tuple[Facts, ...]
    views: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.facts)

    def batch(self, indices: list[int]) -> Batch:
        """Return the features of some pictures, fp32."""
        rows = [[array[at % SHARD] for array in self.arrays[at // SHARD]] for at in indices]
        fine, coarse, colours = (torch.from_numpy(np.stack(each)).float() for each in zip(*rows, strict=True))
        return fine, coarse, colours


def make_shards(
    folder: Path,
    split: str,
    pictures: int,
    eyes: EyesModel,
    draw_pictures: Callable[[random.Random], list[Shown]] = draw,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Draw pictures and keep their features; shards that are there already are left alone.

    Args:
        folder: Where shards lie.
        split: Name of the split: another name draws other pictures.
        pictures: How many; rounded up to whole shards.
        eyes: Its frozen network computes the features, in its own number format.
        draw_pictures: Draws a few pictures.
        say: Told of each shard.
    """
    processor = EyesImageProcessor()
    for number in range(-(-pictures // SHARD)):
        target = _shard(folder, split, number)
        if target.is_dir():
            continue
        rng = random.Random(f"{split}:{number}")
        shown: list[Shown] = []
        while len(shown) < SHARD:
            shown += draw_pictures(rng)
        del shown[SHARD:]
        parts: list[list[np.ndarray]] = [[], [], []]
        for start in range(0, SHARD, _BATCH):
            images = [each.image for each in shown[start : start + _BATCH]]
            pixels = processor(images, return_tensors="pt")["pixel_values"]
            with torch.inference_mode():
                for part, array in zip(parts, eyes.features(pixels), strict=True):
                    part.append(array.to(torch.float16).contiguous().numpy())
        temporary = target.with_name(f".{target.name}")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        for name, part in zip(_ARRAYS, parts, strict=True):
            np.save(temporary / f"{name}.npy", np.concatenate(part))
        lines = [json.dumps({"view": each.view, **asdict(each.facts)}) for each in shown]
        (temporary / "facts.jsonl").write_text("\n".join(lines) + "\n")
        temporary.replace(target)
        say(f"{split}: {(number + 1) * SHARD} pictures")


def load_shards(folder: Path, split: str, most: int | None = None) -> Shards:
    """Open a split's shards.

    Args:
        folder: Where shards lie.
        split: Name of the split.
        most: Open at most so many pictures, rounded up to whole shards.

    Raises:
        ConfigError: There are none.
    """
    arrays, facts, views = [], [], []
    for number in _numbers(folder, split, most):
        shard = _shard(folder, split, number)
        arrays.append(tuple(np.load(shard / f"{name}.npy", mmap_mode="r") for name in _ARRAYS))
        for line in (shard / "facts.jsonl").read_text().splitlines():
            entry = json.loads(line)
            views.append(entry.pop("view"))
            facts.append(Facts(**entry))
    if not arrays:
        raise ConfigError(f"there are no pictures of the split {split!r} in {folder}; draw some first")
    return Shards(tuple(arrays), tuple(facts), tuple(views))


def _numbers(folder: Path, split: str, most: int | None) -> Iterator[int]:
    number = 0
    while _shard(folder, split, number).is_dir() and (most is None or number * SHARD < most):
        yield number
        number += 1


def _shard(folder: Path, split: str, number: int) -> Path:
    return folder / f"{split}-{number:04d}"
