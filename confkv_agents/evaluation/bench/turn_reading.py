"""A conversation read turn by turn into one cache, as the engine's jobs do, with what is said given beforehand.

Pictures are read as their features, the end of a prompt looks at each chunk before eviction decides, and a step that
the cache is unsure of is computed again with the cold tier open: see `engine/job.py`, whose order this follows.
"""

from __future__ import annotations

from typing import Any

import torch

from confkv_agents.cache import CacheConfig, ConfKVCache
from confkv_agents.cache.confidence import confidence
from confkv_agents.engine.encoding import Prompt, PromptEncoder
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.engine.reading import feed, read_chunk
from confkv_agents.engine.segments import segments_of
from confkv_agents.engine.vision import PictureFeatures


class TurnReader:
    """One conversation in one cache.

    Args:
        loaded: The model.
        cache: Empty, or a `fork` of another reader's.
        prompt: The prompt that was read last.
        length: Tokens that the cache has read.
        last: Inputs of the forward that gave the last logits.

    Attributes:
        logits: `[1, V]` raw logits of the next token.
    """

    def __init__(self, loaded: LoadedModel, config: CacheConfig) -> None:
        self._loaded = loaded
        self._encoder = PromptEncoder(loaded)
        self.cache = ConfKVCache(loaded.model.config, config)
        self.keys: list[int] = []
        self._prompt = Prompt([], [])
        self._last: dict[str, Any] = {}
        self.logits = torch.empty(1, 0)

    @property
    def encoder(self) -> PromptEncoder:
        """Encodes this conversation, and remembers its answers' ids."""
        return self._encoder

    def read(self, prompt: Prompt) -> int:
        """Read what is new of a prompt.

        Args:
            prompt: It begins with everything read so far.

        Returns:
            Tokens read.
        """
        start = known = len(self.keys)
        self._tell_segments(prompt)
        self._prompt, cache = prompt, self.cache
        features: dict[bytes, PictureFeatures] = {}
        length, chunk = len(prompt.ids), cache.config.chunk
        if start + chunk < length and cache.wants_recall:
            looks = self._ahead(start, features)
            if looks is not None:
                with cache.looking_ahead(recall=True):
                    feed(self._loaded.model, cache, looks)
        while start < length:
            end = min(start + chunk, length)
            if end == length:
                cache.recall_next()
            inputs = self._encoder.embed(prompt, start, end, features)
            self.logits = read_chunk(
                self._loaded.model, cache, inputs, None if end == length else self._ahead(end, features)
            )
            start = end
        self.keys.extend(prompt.keys[known:])
        self._last = self._encoder.embed(prompt, length - 1, length, features)
        return length - known

    def observe(self) -> torch.Tensor:
        """Let the cache see the next token's logits `[1, V]`, computed again if it asks; returns them."""
        cache = self.cache
        if cache.policy.recall == "gated":
            measured = confidence(self.logits, cache.config.confidence).tolist()
            if cache.should_recall(measured):
                with cache.recalling():
                    self.logits = feed(self._loaded.model, cache, self._last)
        cache.observe(self.logits)
        return self.logits

    def say(self, token: int) -> None:
        """Feed one token of the answer."""
        self._last = self._encoder.embed_generated(self._prompt, token, len(self.keys))
        self.logits = feed(self._loaded.model, self.cache, self._last)
        self.keys.append(token)

    def fork(self) -> TurnReader:
        """A reader that goes on by itself from here; release it with `close`."""
        other = TurnReader.__new__(TurnReader)
        other._loaded, other._encoder, other._prompt = self._loaded, self._encoder, self._prompt
        other.cache, other.keys = self.cache.fork(), list(self.keys)
        other._last, other.logits = self._last, self.logits
        return other

    def close(self) -> None:
        """Release what the cache holds."""
        self.cache.reset()

    def _tell_segments(self, prompt: Prompt) -> None:
        cache = self.cache
        if cache.segments is None:
            return
        told = cache.segments.all[-1].start if cache.segments.all else -1
        for segment in segments_of(prompt, cache.config.budget):
            if segment.start >= max(len(self.keys), told):
                cache.segment(segment.kind, start=segment.start, grid=segment.grid)

    def _ahead(self, end: int, features: dict[bytes, PictureFeatures]) -> dict[str, Any] | None:
        """Inputs of the prompt's last tokens as if `end` tokens had been read, if they are to look at those."""
        cache, ids = self.cache, self._prompt.ids
        if not cache.wants_probe or len(ids) <= cache.config.budget:
            return None
        start = max(end, len(ids) - cache.policy.probe)
        pictures = [place for place in range(start, len(ids)) if ids[place] == self._loaded.image_token_id]
        start = pictures[-1] + 1 if pictures else start
        return None if start == len(ids) else self._encoder.embed(self._prompt, start, len(ids), features, after=end)
