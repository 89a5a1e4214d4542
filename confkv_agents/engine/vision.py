"""Pictures as the model reads them: their placeholder tokens, and their features once, when they are read."""

from __future__ import annotations

import inspect
import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from confkv_agents.engine.conversation import Picture
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.errors import ImageError, UnsupportedModelError


@dataclass(frozen=True)
class PictureFeatures:
    """What the vision part made of a picture.

    Attributes:
        rows: `[n, hidden]`, one row per placeholder.
        deep: `[n, hidden]` each, added in the first layers of a model that takes them (DeepStack, arXiv 2406.04334).
        output: What the model's `get_image_features` returned, as the kind to hand back.
    """

    rows: torch.Tensor
    deep: tuple[torch.Tensor, ...] = ()
    output: type = object

    def rows_between(self, low: int, high: int) -> PictureFeatures:
        """The features of the placeholders `low` to `high`."""
        return PictureFeatures(self.rows[low:high], tuple(each[low:high] for each in self.deep), self.output)


def joined(parts: Sequence[PictureFeatures]) -> Any:
    """Return parts in the order of their placeholders, in the form that the model's own forward takes."""
    deep = [tuple(layer) for layer in zip(*(part.deep for part in parts), strict=True)]
    return parts[0].output(pooler_output=tuple(part.rows for part in parts), deepstack_features=deep)


_NOT_PIXELS = {"input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids"}


class PictureEncoder:
    """Encodes one picture at a time, so that a picture's tokens and features never depend on its neighbours.

    Args:
        loaded: A model that takes pictures.
        remembered: How many pictures' token ids are kept.
    """

    def __init__(self, loaded: LoadedModel, remembered: int = 1024):
        self._loaded = loaded
        self._remembered = remembered
        self._ids: OrderedDict[bytes, tuple[int, ...]] = OrderedDict()
        self._grids: dict[bytes, tuple[int, int, int]] = {}
        self._pixels: OrderedDict[bytes, dict[str, torch.Tensor]] = OrderedDict()
        self._accepted = set(inspect.signature(loaded.model.get_image_features).parameters)

    def token_ids(self, picture: Picture) -> tuple[int, ...]:
        """Ids that stand for the picture in the prompt: placeholders with what the model puts around them."""
        known = self._ids.get(picture.digest)
        if known is not None:
            self._ids.move_to_end(picture.digest)
            return known
        self._process(picture)
        return self._ids[picture.digest]

    def grid(self, picture: Picture) -> tuple[int, int, int] | None:
        """Placeholders along time, height and width, or None if the model's positions do not depend on them."""
        if not self._loaded.has_mrope:
            return None
        self.token_ids(picture)
        return self._grids[picture.digest]

    def features(self, picture: Picture) -> PictureFeatures:
        """Features of the picture, in the order of the placeholders.

        Raises:
            UnsupportedModelError: The model gives another number of features than its processor gave
                placeholders.
        """
        if picture.digest not in self._pixels:
            self._process(picture)
        inputs = {name: value.to(self._loaded.device) for name, value in self._pixels.pop(picture.digest).items()}
        output: Any = self._loaded.model.get_image_features(**inputs)
        rows = _flat(getattr(output, "pooler_output", output))
        deep = tuple(_flat(layer) for layer in getattr(output, "deepstack_features", None) or ())
        expected = self._ids[picture.digest].count(self._loaded.image_token_id or -1)
        if rows.shape[0] != expected:
            raise UnsupportedModelError(
                f"model {self._loaded.name!r} gives {rows.shape[0]} features for a picture of {expected} placeholders"
            )
        return PictureFeatures(rows, deep, type(output))

    def _process(self, picture: Picture) -> None:
        token = self._loaded.tokenizer.convert_ids_to_tokens(self._loaded.image_token_id)
        try:
            out = self._loaded.processor(
                images=[picture.image], text=[token], return_tensors="pt", add_special_tokens=False
            )
        except (ValueError, TypeError, RuntimeError) as error:
            width, height = picture.image.size
            raise ImageError(f"the model's processor refuses a picture of {width} x {height}: {error}") from error
        self._ids[picture.digest] = tuple(out["input_ids"][0].tolist())
        if self._loaded.has_mrope:
            self._grids[picture.digest] = self._grid(picture, out["image_grid_thw"][0].tolist())
        while len(self._ids) > self._remembered:
            gone, _ = self._ids.popitem(last=False)
            self._grids.pop(gone, None)
        self._pixels[picture.digest] = {
            name: value for name, value in out.items() if name not in _NOT_PIXELS and name in self._accepted
        }
        while len(self._pixels) > 4:
            self._pixels.popitem(last=False)

    def _grid(self, picture: Picture, patches: Sequence[int]) -> tuple[int, int, int]:
        """Return the grid in placeholders of a picture that has `patches` along time, height and width."""
        merged = self._loaded.model.config.vision_config.spatial_merge_size
        grid = (patches[0], patches[1] // merged, patches[2] // merged)
        ids = self._ids[picture.digest]
        first = ids.index(self._loaded.image_token_id)
        if set(ids[first : first + math.prod(grid)]) != {self._loaded.image_token_id}:
            raise UnsupportedModelError(
                f"model {self._loaded.name!r} does not write the placeholders of a picture of grid {grid} in one piece"
            )
        return grid


def _flat(rows: Any) -> torch.Tensor:
    """Return `[n, hidden]` rows of a tensor, or of one per picture."""
    parts = rows if isinstance(rows, list | tuple) else [rows]
    return torch.cat([part.reshape(-1, part.shape[-1]) for part in parts])
