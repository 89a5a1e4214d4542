"""An agent's conversation that grows turn by turn, and the ways of having it: by the engine, or read anew each time.

Every contender is shown the same pages and answers in its own words, as many tokens as it likes up to a bound.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from PIL import Image, ImageDraw
from transformers.cache_utils import DynamicCache
from transformers.generation.streamers import BaseStreamer

from confkv_agents.cache import CacheConfig, attach
from confkv_agents.cache.usage import held_bytes
from confkv_agents.engine import Engine, Request
from confkv_agents.engine.conversation import Picture, Turn
from confkv_agents.engine.encoding import PromptEncoder
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.engine.request import Delta, Result
from confkv_agents.errors import ConfigError, ModelError
from confkv_agents.evaluation.bench.needles import Haystack
from confkv_agents.evaluation.bench.texts import encode

SYSTEM = "You are an agent that reads web pages, one after another. You say in a sentence or two what each is about."
_ASK = "\n\nWhat is this page about?"
_LEAST = 32
_SIZE = (480, 270)
Row = dict[str, Any]
Say = Callable[[tuple[Turn, ...]], tuple[str, Row]]


class Pages:
    """What is shown, one page per turn.

    Args:
        haystack: Where the texts come from.
        tokens: Tokens of a page, what is asked about it included.
        pictures: Show a picture with each.
        seed: Of the place in the texts, and of the pictures.

    Raises:
        ConfigError: The texts are too short, or a page is too small for words.
    """

    def __init__(self, haystack: Haystack, tokens: int, pictures: bool, seed: object) -> None:
        if tokens < _LEAST:
            raise ConfigError(f"--observation is {tokens}; a page needs at least {_LEAST} tokens")
        self._haystack = haystack
        self._tokens = tokens
        self._pictures = pictures
        self._seed = seed
        self._start = random.Random(f"{seed} pages").randrange(max(1, len(haystack.ids)))

    def turn(self, number: int) -> Turn:
        """The user's turn with page `number`, from 1."""
        length = self._tokens
        start = self._start + (number - 1) * self._tokens
        while True:
            text = f"Page {number}:\n{self._haystack.window(start, length).strip()}{_ASK}"
            over = len(encode(self._haystack.tokenizer, text)) - self._tokens
            if over <= 0:
                break
            length -= over
        return Turn("user", (self._picture(number), text) if self._pictures else (text,))

    def _picture(self, number: int) -> Picture:
        """A picture like a page's, another one for each number."""
        chance = random.Random(f"{self._seed} picture {number}")
        image = Image.new("RGB", _SIZE, "white")
        draw = ImageDraw.Draw(image)
        for _ in range(24):
            x, y = chance.randrange(_SIZE[0]), chance.randrange(_SIZE[1])
            colour = tuple(chance.randrange(256) for _ in range(3))
            draw.rectangle((x, y, x + chance.randrange(8, 120), y + chance.randrange(8, 60)), fill=colour)
        draw.text((8, 8), f"Page {number}", fill="black")
        return Picture.of(image)


def through_engine(engine: Engine, config: CacheConfig, session: str, reply: int) -> Say:
    """A way of talking that keeps its session: it reads what is new.

    Args:
        engine: Holds the session.
        config: How its cache spends memory.
        session: Its name.
        reply: Most tokens of an answer.
    """

    def say(turns: tuple[Turn, ...]) -> tuple[str, Row]:
        request = Request(turns, config, max_tokens=reply, session=session)
        clock = Clock()
        result: Result | None = None
        for event in engine.submit(request):
            if isinstance(event, Delta) and event.text:
                clock.first_token()
            if isinstance(event, Result):
                result = event
        if result is None:
            raise ModelError("the engine ended a request without a result")
        return result.text, {
            "prompt": result.tokens_prompt,
            "read": result.tokens_read,
            "reused": result.tokens_reused,
            "probed": result.tokens_probed,
            "generated": result.tokens_generated,
            "kv_bytes": result.kv_bytes,
            "peak_kv_bytes": result.peak_kv_bytes,
            **clock.times(result.tokens_generated, reply),
        }

    return say


def reading_anew(engine: Engine, reply: int) -> Say:
    """The way of `generate` with the stock cache, as ChatHuggingFace calls it: all is read again at each turn.

    Args:
        engine: In whose thread the model runs.
        reply: Most tokens of an answer.
    """

    def say(turns: tuple[Turn, ...]) -> tuple[str, Row]:
        answer: tuple[str, Row] = engine.call(lambda loaded, encoder: _generate(loaded, encoder, turns, reply))
        return answer

    return say


class Clock(BaseStreamer):  # type: ignore[misc,no-untyped-call,unused-ignore]
    """Takes the times of one answer: wall clock and the process's own, so that a busy machine shows."""

    def __init__(self) -> None:
        self._began = self._now()
        self._first: tuple[float, float] | None = None
        self._puts = 0

    def first_token(self) -> None:
        """The first token is there; later calls change nothing."""
        self._first = self._first or self._now()

    def put(self, value: Any) -> None:
        """Called by `generate` with the prompt, then with each token."""
        self._puts += 1
        if self._puts == 2:
            self.first_token()

    def end(self) -> None:
        """Called by `generate` at the end."""

    def times(self, generated: int, reply: int) -> Row:
        """Seconds to the first token, tokens per second after it, and the latency of an answer of `reply` tokens."""
        ended = self._now()
        first = self._first or ended
        found: Row = {}
        for place, prefix in enumerate(("", "cpu_")):
            to_first = first[place] - self._began[place]
            each = (ended[place] - first[place]) / (generated - 1) if generated > 1 else None
            found[f"{prefix}first_s"] = to_first
            found[f"{prefix}latency_s"] = None if each is None else to_first + (reply - 1) * each
            if not prefix:
                found["tokens_per_s"] = 1 / each if each else None
        return found

    @staticmethod
    def _now() -> tuple[float, float]:
        return time.perf_counter(), time.process_time()


@contextmanager
def stock_attention(loaded: LoadedModel) -> Iterator[None]:
    """Give the text part transformers' sdpa while the block runs, and the cache's attention afterwards."""
    try:
        if loaded.text_config is loaded.model.config:
            loaded.model.set_attn_implementation("sdpa")
        else:
            loaded.model.set_attn_implementation({"text_config": "sdpa"})
        yield
    finally:
        attach(loaded.model)


def _generate(loaded: LoadedModel, encoder: PromptEncoder, turns: tuple[Turn, ...], reply: int) -> tuple[str, Row]:
    clock = Clock()
    inputs = _inputs(loaded, encoder, turns)
    cache = DynamicCache(config=loaded.model.config)
    ends = sorted(loaded.eos_ids)
    with stock_attention(loaded), torch.inference_mode():
        ids = loaded.model.generate(
            **inputs,
            cache=cache,
            streamer=clock,
            max_new_tokens=reply,
            do_sample=False,
            temperature=None,
            top_p=None,
            top_k=None,
            eos_token_id=ends or None,
            pad_token_id=ends[0] if ends else None,
        )
    prompt = inputs["input_ids"].shape[1]
    said = ids[0, prompt:].tolist()
    times = clock.times(len(said), reply)
    layers: list[Any] = list(cache.layers)
    nbytes = held_bytes(tensor for layer in layers for tensor in (layer.keys, layer.values) if tensor is not None)
    text = loaded.tokenizer.decode(said, skip_special_tokens=True)
    row = {"prompt": prompt, "read": prompt, "reused": 0, "probed": 0, "generated": len(said)}
    return text, {**row, "kv_bytes": nbytes, "peak_kv_bytes": nbytes, **times}


def _inputs(loaded: LoadedModel, encoder: PromptEncoder, turns: tuple[Turn, ...]) -> dict[str, Any]:
    if not any(turn.pictures for turn in turns):
        ids = torch.tensor([encoder.encode(turns, {}, True).ids], device=loaded.device)
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    messages = [{"role": turn.role, "content": [_part(part) for part in turn.parts]} for turn in turns]
    made = loaded.processor.apply_chat_template(
        messages, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
    )
    return {
        name: value.to(loaded.device, loaded.dtype) if value.is_floating_point() else value.to(loaded.device)
        for name, value in made.items()
    }


def _part(part: str | Picture) -> dict[str, Any]:
    return {"type": "text", "text": part} if isinstance(part, str) else {"type": "image", "image": part.image}


def with_new(rows: Sequence[Row]) -> list[Row]:
    """The rows of one conversation with `new`: a prompt's tokens less those of the prompt and answer before it."""
    found = []
    known = 0
    for row in rows:
        found.append({**row, "new": row["prompt"] - known})
        known = row["prompt"] + row["generated"]
    return found
