"""Demonstrations as token ids, as the engine would read them; which of them are learned; the pictures among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from confkv_agents.engine.conversation import Picture, Turn
from confkv_agents.engine.encoding import PromptEncoder
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.errors import ModelError
from confkv_agents.pilot.demonstrations import Demonstration

PictureOf = Callable[[str], Picture]


@dataclass(frozen=True)
class Encoded:
    """A conversation for training.

    Attributes:
        ids: `[T]` int64; a picture is as many placeholders as it has tokens.
        learned: `[T]` bool; True where the token is to be predicted from those before it: an answer's own tokens and
            the token that ends it, unless the answer is `open`: its beginning only.
        pictures: Name and places of each picture, in order.
    """

    ids: torch.Tensor
    learned: torch.Tensor
    pictures: tuple[tuple[str, tuple[int, ...]], ...] = ()


def no_pictures(name: str) -> Picture:
    """Refuse a picture: for conversations that have none.

    Raises:
        ModelError: Always.
    """
    raise ModelError(f"the conversation has a picture, {name}, and none were given")


def encode(made: Demonstration, loaded: LoadedModel, picture_of: PictureOf = no_pictures) -> Encoded:
    """Encode a conversation just as the engine encodes what it is asked.

    Args:
        made: The conversation.
        loaded: Model, tokenizer and processor.
        picture_of: Returns a picture by its name.

    Raises:
        ModelError: The template does not only append, so that what is read at one turn is not a beginning of what is
            read at the next.
        ImageError: A picture cannot be read by this model.
    """
    encoder = PromptEncoder(loaded)  # a new one: it must not remember turns of other conversations
    turns = [_turn(message, picture_of) for message in made.messages]
    names = [part["picture"] for message in made.messages for part in message["content"] if "picture" in part]
    ids: list[int] = []
    learned: list[bool] = []
    pictures: tuple[tuple[str, tuple[int, ...]], ...] = ()
    for index, message in enumerate(made.messages):
        if message["role"] != "assistant":
            continue
        prompt = encoder.encode(turns[:index], {})
        if prompt.ids[: len(ids)] != ids:
            raise ModelError("the chat template changes earlier turns, so a conversation cannot be learned at once")
        answer = loaded.tokenizer(turns[index].text, add_special_tokens=False)["input_ids"]
        learned += [False] * (len(prompt.ids) - len(ids))
        ids = [*prompt.ids, *answer, loaded.tokenizer.eos_token_id]
        learned += [bool(message["learn"])] * len(answer)
        learned.append(bool(message["learn"]) and not message.get("open", False))
        pictures = tuple((name, span.positions) for name, span in zip(names, prompt.spans, strict=False))
    return Encoded(torch.tensor(ids), torch.tensor(learned), pictures)


def _turn(message: Mapping[str, Any], picture_of: PictureOf) -> Turn:
    parts = (part["text"] if "text" in part else picture_of(part["picture"]) for part in message["content"])
    return Turn(message["role"], tuple(parts))
