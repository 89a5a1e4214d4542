"""Demonstrations as token ids, and which of them are learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from confkv_agents.errors import ModelError
from confkv_agents.pilot.demonstrations import Demonstration


@dataclass(frozen=True)
class Encoded:
    """A conversation for training.

    Attributes:
        ids: `[T]` int64.
        learned: `[T]` bool; True where the token is to be predicted from those before it: an answer's own tokens and
            the token that ends it.
    """

    ids: torch.Tensor
    learned: torch.Tensor


def encode(made: Demonstration, tokenizer: Any) -> Encoded:
    """Encode a conversation by the tokenizer's chat template.

    Raises:
        ModelError: The template does not only append, so that what is read at one turn is not a beginning of what is
            read at the next.
    """
    messages = [{"role": each["role"], "content": each["text"]} for each in made.messages]
    ids: list[int] = []
    learned: list[bool] = []
    for index, message in enumerate(made.messages):
        if message["role"] != "assistant":
            continue
        prompt = _ids(tokenizer, messages[:index], True)
        if prompt[: len(ids)] != ids:
            raise ModelError("the chat template changes earlier turns, so a conversation cannot be learned at once")
        answer = tokenizer(message["text"], add_special_tokens=False)["input_ids"]
        learned += [False] * (len(prompt) - len(ids))
        ids = [*prompt, *answer, tokenizer.eos_token_id]
        learned += [bool(message["learn"])] * (len(answer) + 1)
    return Encoded(torch.tensor(ids), torch.tensor(learned))


def _ids(tokenizer: Any, messages: Sequence[dict[str, str]], begin_answer: bool) -> list[int]:
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=begin_answer)
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])
