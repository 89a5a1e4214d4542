"""What the pilot's own eyes make of a demonstration's pictures: embeddings for the text model, once per picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from PIL import Image, UnidentifiedImageError

from confkv_agents.engine.conversation import Picture
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.errors import ConfigError

_BATCH = 16


def open_picture(folder: Path, name: str) -> Picture:
    """Open `NAME.png` of a folder.

    Raises:
        ConfigError: It is missing or is no picture.
    """
    path = folder / f"{name}.png"
    try:
        with Image.open(path) as image:
            return Picture.of(image)
    except (OSError, UnidentifiedImageError) as error:
        raise ConfigError(f"the picture {path} cannot be read: {error}") from error


def look_at(
    loaded: LoadedModel, folder: Path, names: Iterable[str], say: Callable[[str], None] = lambda _: None
) -> dict[str, torch.Tensor]:
    """Return the embeddings of pictures by name, `[tokens, D]` each.

    Args:
        loaded: A `LlavaForConditionalGeneration` whose pictures are squares of one size, as the pilot is.
        folder: Where `NAME.png` lie.
        names: Of the pictures.
        say: Told how far it is, now and then.

    Raises:
        ConfigError: A picture is missing or is none.
    """
    wanted = sorted(set(names))
    processor: Any = loaded.processor
    seen: dict[str, torch.Tensor] = {}
    for start in range(0, len(wanted), _BATCH):
        batch = wanted[start : start + _BATCH]
        pixels = processor.image_processor([open_picture(folder, name).image for name in batch], return_tensors="pt")
        with torch.inference_mode():
            found = loaded.model.model.get_image_features(pixel_values=pixels["pixel_values"].to(loaded.model.dtype))
        seen |= {name: each.clone() for name, each in zip(batch, found.pooler_output, strict=True)}
        if (start // _BATCH) % 64 == 63:
            say(f"looked at {start + len(batch)} of {len(wanted)} pictures")
    return seen
