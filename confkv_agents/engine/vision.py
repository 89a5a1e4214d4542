"""Pictures as the model reads them: their placeholder tokens, and their features once, when they are read."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from typing import Any

import torch

from confkv_agents.engine.conversation import Picture
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.errors import ImageError, UnsupportedModelError

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

    def features(self, picture: Picture) -> torch.Tensor:
        """Features of the picture, `[number of placeholders, hidden size]`, in the order of the placeholders.

        Raises:
            UnsupportedModelError: The model gives another number of features than its processor gave
                placeholders.
        """
        if picture.digest not in self._pixels:
            self._process(picture)
        inputs = {name: value.to(self._loaded.device) for name, value in self._pixels.pop(picture.digest).items()}
        output: Any = self._loaded.model.get_image_features(**inputs)
        rows: Any = getattr(output, "pooler_output", output)
        if isinstance(rows, list | tuple):
            rows = torch.cat([row.reshape(-1, row.shape[-1]) for row in rows])
        rows = rows.reshape(-1, rows.shape[-1])
        expected = self._ids[picture.digest].count(self._loaded.image_token_id or -1)
        if rows.shape[0] != expected:
            raise UnsupportedModelError(
                f"model {self._loaded.name!r} gives {rows.shape[0]} features for a picture of {expected} placeholders"
            )
        return rows

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
        while len(self._ids) > self._remembered:
            self._ids.popitem(last=False)
        self._pixels[picture.digest] = {
            name: value for name, value in out.items() if name not in _NOT_PIXELS and name in self._accepted
        }
        while len(self._pixels) > 4:
            self._pixels.popitem(last=False)
