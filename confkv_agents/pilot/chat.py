"""Ordinary conversations to learn beside episodes, in the text model's own words, so that it stays a chat model.

Questions are put together from parts; the text model answers them before it is trained, greedily. Learning its own
answers keeps it near what it was, whatever else is learned.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from confkv_agents.engine.conversation import Turn
from confkv_agents.engine.encoding import PromptEncoder
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.pilot.demonstrations import Demonstration

_THINGS = (
    "a bicycle", "rain", "a library", "the moon", "bread", "a garden", "a lighthouse", "winter", "a river", "music",
    "a train", "coffee", "the sea", "a bridge", "a cat", "a market", "honey", "a clock", "a forest", "a kite",
)  # fmt: skip
_TOPICS = (
    "why the sky is blue", "how a candle burns", "what a database is", "why leaves fall in autumn",
    "how bees make honey",
    "what inflation means", "how a lock on a canal works", "why we sleep", "how vaccines work", "what gravity is",
    "how a refrigerator cools", "what an eclipse is", "how glass is made", "why ice floats", "what an algorithm is",
)  # fmt: skip
_PLACES = (
    "France", "Japan", "Kenya", "Canada", "Peru", "Norway", "Egypt", "India", "Portugal", "Chile", "Greece", "Vietnam",
)  # fmt: skip
_FORMS = (
    ("Write one sentence about {}.", _THINGS),
    ("Name three words that go with {}.", _THINGS),
    ("Write a short poem about {}.", _THINGS),
    ("What can one do with {}?", _THINGS),
    ("Explain {} in one sentence.", _TOPICS),
    ("Tell a child {}.", _TOPICS),
    ("What is the capital of {}?", _PLACES),
    ("What should I see in {}?", _PLACES),
    ("Which language is spoken in {}?", _PLACES),
    ("Give me two facts about {}.", _PLACES),
)


def questions(count: int, seed: int = 0) -> list[str]:
    """Return different questions, at most as many as there are; a seed gives the same ones, fewer the first of them.

    Args:
        count: How many.
        seed: Of their choice.
    """
    every = [form.format(part) for form, parts in _FORMS for part in parts]
    return random.Random(seed).sample(every, len(every))[:count]


@torch.inference_mode()
def chats(loaded: LoadedModel, asked: Sequence[str], most: int = 96) -> Iterator[Demonstration]:
    """Let a model answer questions; an answer that does not end is no success, and is not learned from.

    Args:
        loaded: A text model.
        asked: Questions.
        most: Tokens of an answer at most.
    """
    encoder = PromptEncoder(loaded)
    for question in asked:
        prompt = encoder.encode([Turn("user", (question,))], {})
        ids = torch.tensor([prompt.ids], device=loaded.device)
        out = loaded.model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=most, do_sample=False, pad_token_id=0
        )
        answer = out[0, len(prompt.ids) :].tolist()
        ended = bool(answer) and answer[-1] in loaded.eos_ids
        text = loaded.tokenizer.decode(answer[:-1] if ended else answer, skip_special_tokens=True)
        said: list[dict[str, Any]] = [
            {"role": "user", "content": [{"text": question}]},
            {"role": "assistant", "content": [{"text": text}], "learn": True},
        ]
        yield Demonstration(f"chat:{question}", ended, 1, said)
