"""One request at work: encode, find the session, read in chunks, decode token by token.

A job advances by one step at a time, so that the engine can give every running job its turn. Reading is its own
business; decoding is cut at the model's forward (`choose`, `take`, `next_inputs`, `fed`), so that one forward can
serve several jobs: see `decoding`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import torch

from confkv_agents.cache import Trace, confidence
from confkv_agents.engine.answer import Answer
from confkv_agents.engine.encoding import Prompt, PromptEncoder
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.engine.misses import WORTH_A_WARNING, Asked, Miss, explain, warn
from confkv_agents.engine.reading import feed, read_chunk
from confkv_agents.engine.request import FinishReason, Progress, Range, Request, Result, Stream
from confkv_agents.engine.sampling import Sampler
from confkv_agents.engine.segments import segments_of
from confkv_agents.engine.session import Match, Session, SessionStore
from confkv_agents.engine.vision import PictureFeatures
from confkv_agents.errors import EngineTimeoutError, PromptTooLongError

if TYPE_CHECKING:
    from confkv_agents.cache import CacheConfig


class Job:
    """The state of one request. Lives in the engine's thread.

    Args:
        stream: Where events go; holds the request.
        loaded: The model.
        encoder: Its prompt encoder.
        store: Its sessions.
    """

    def __init__(self, stream: Stream, loaded: LoadedModel, encoder: PromptEncoder, store: SessionStore):
        self.stream = stream
        self._request: Request = stream.request
        self._loaded = loaded
        self._encoder = encoder
        self._store = store
        self._prompt: Prompt | None = None
        self._session: Session | None = None
        self._match = Match()
        self._miss: Miss | None = None
        self._limit = 0
        self._logits: torch.Tensor | None = None
        self._features: dict[bytes, PictureFeatures] = {}
        self._sampler = Sampler(self._request.sampling)
        self._probed = 0
        self._ids: list[int] = []
        self._answer: Answer | None = None
        self._steps: list[tuple[float, float, int]] = []
        self._trace = Trace() if self._request.trace_cache else None
        self._started = self._read_until = time.monotonic()

    def admit(self, alone: bool) -> bool:
        """Encode the prompt and take a session.

        Args:
            alone: No other job runs, so that waiting would change nothing.

        Returns:
            Whether the job can run; if not, it must wait until another one ends.

        Raises:
            PromptError: The prompt cannot be put to the model.
            PromptTooLongError: It does not fit the model's positions or the memory bound.
        """
        request = self._request
        self._started = time.monotonic()
        if self._prompt is None:
            self._prompt = self._encoder.encode(
                request.turns,
                request.template_vars,
                request.sanitize,
                request.prompt_tools,
                request.prompt_note,
                request.keep_thoughts,
            )
            self._limit = self._token_limit(len(self._prompt.ids))
            after = self._prompt.generation_prompt
            self._answer = Answer(request, self._loaded, self._encoder, self.stream.put, after)
            self._sampler.constraint = self._answer.constraint
        asked = Asked.of(request)
        match = self._store.match(self._prompt.keys, request.cache, request.session, asked)
        if request.kv_memory is not None and not self._make_room(match, alone, request.kv_memory):
            return False
        self._match = match
        self._session = self._store.open(match, request.cache, request.session)
        self._session.reserved = self._needed()
        self._session.cache.trace = self._trace
        if match.snapshot is not None and match.reused == len(self._prompt.ids):
            self._logits = match.snapshot.logits
        self._session.turn_start = len(self._prompt.ids)
        self._explain(asked)
        self._session.asked = asked
        self._tell_segments()
        return True

    @property
    def decoding(self) -> bool:
        """Whether the prompt is read, so that the next step is a token of the answer."""
        return self._logits is not None

    def ended(self) -> bool:
        """Look whether the caller still waits; to be asked before each step.

        Returns:
            Whether the request was cancelled; its result is delivered then.

        Raises:
            EngineTimeoutError: The deadline has passed.
        """
        if self.stream.cancelled:
            return self._finish("cancelled")
        deadline = self.stream.deadline
        if deadline is not None and time.monotonic() > deadline:
            raise EngineTimeoutError(
                f"the request did not finish within its timeout of {self._request.timeout:g} s: "
                f"{len(self.session.keys) - self._match.reused} tokens were read or generated"
            )
        return False

    def _explain(self, asked: Asked) -> None:
        """Say what broke the prefix, if anything did; once per session aloud, if it cost most of it."""
        match, missed, session = self._match, self._match.missed, self.session
        if match.miss_at is None or missed is None:
            return
        roles = [turn.role for turn in self._request.turns]
        before, dropped = missed.asked, self.prompt.thoughts_dropped
        held, reused = match.missed_tokens, match.reused
        miss = self._miss = explain(match.miss_at, held, reused, self.prompt, roles, asked, before, dropped)
        session.warned = session.warned or missed.warned
        costly = reused < WORTH_A_WARNING * (reused + miss.recomputed)
        if costly and not session.warned and before is not None and asked.continues(before):
            warn(session.name, miss, reused)
            session.warned = missed.warned = True

    def _tell_segments(self) -> None:
        """Tell the cache what the tokens to be read are; what it has read it was told before."""
        cache, prompt = self.session.cache, self.prompt
        if cache.segments is None:
            return
        told = cache.segments.all[-1].start if cache.segments.all else -1
        for segment in segments_of(prompt, self.session.config.budget):
            if segment.start >= max(self._match.reused, told):
                cache.segment(segment.kind, start=segment.start, grid=segment.grid)

    def abandon(self, consistent: bool) -> None:
        """End the job without a result.

        Args:
            consistent: The session's cache still holds what its keys say; if not, the session is forgotten.
        """
        if self._session is None:
            return
        if not consistent:
            self._store.discard(self._session)
        self._store.release(self._session)
        self._session = self._logits = None  # whoever keeps the error keeps this job
        self._match = Match()
        self._features.clear()

    @property
    def session(self) -> Session:
        """The session taken by `admit`."""
        if self._session is None:
            raise RuntimeError("the job was not admitted")
        return self._session

    @property
    def prompt(self) -> Prompt:
        """The prompt encoded by `admit`."""
        if self._prompt is None:
            raise RuntimeError("the job was not admitted")
        return self._prompt

    @property
    def answer(self) -> Answer:
        """The answer begun by `admit`."""
        if self._answer is None:
            raise RuntimeError("the job was not admitted")
        return self._answer

    def _token_limit(self, length: int) -> int:
        """How many tokens may be generated."""
        positions = self._loaded.position_limit
        if length >= positions:
            raise PromptTooLongError(
                f"the prompt has {length} tokens, but model {self._loaded.name!r} has {positions} "
                "positions, which must hold the answer too; shorten the conversation",
                length,
                positions - 1,
            )
        room = positions - length
        return room if self._request.max_tokens is None else min(self._request.max_tokens, room)

    def _needed(self) -> int:
        return kv_bytes_needed(self._loaded, self._request.cache, len(self.prompt.ids) + self._limit)

    def _make_room(self, match: Match, alone: bool, bound: int) -> bool:
        held = 0 if match.session is None or not match.in_place else match.session.cache.nbytes
        needed = max(0, self._needed() - held)
        if self._store.make_room(needed, bound, match.session):
            return True
        if match.session is not None and not match.session.busy and not match.in_place:
            # no room for a copy: give up the original too and start afresh
            match.session, match.snapshot, match.reused = None, None, 0
            return self._make_room(match, alone, bound)
        if alone:
            raise PromptTooLongError(
                f"the prompt of {len(self.prompt.ids)} tokens and an answer of {self._limit} need "
                f"{needed + held:,} bytes of KV cache, but kv_memory allows {bound:,}; shorten the "
                "conversation, lower max_tokens or budget, or raise kv_memory",
                len(self.prompt.ids),
            )
        return False

    def read(self) -> None:
        """Read the next chunk of the prompt, and let the end of the prompt look at it."""
        session, prompt = self.session, self.prompt
        start = len(session.keys)
        end = min(start + session.config.chunk, len(prompt.ids))
        looks = None
        if start == self._match.reused and end < len(prompt.ids) and session.cache.wants_recall:
            looks = self._ahead(start)
            if looks is not None:
                with session.cache.looking_ahead(recall=True):
                    feed(self._loaded.model, session.cache, looks)
        last = end == len(prompt.ids)
        if last:
            session.cache.recall_next()
        chunk, ahead = self._encoder.embed(prompt, start, end, self._features), None if last else self._ahead(end)
        logits = read_chunk(self._loaded.model, session.cache, chunk, ahead)[0]
        self._probed += sum(inputs["input_ids"].shape[1] for inputs in (looks, ahead) if inputs is not None)
        session.keys.extend(prompt.keys[start:end])
        self.stream.put(Progress(end - self._match.reused, len(prompt.ids) - self._match.reused))
        if last:
            self._features.clear()
            self._read_until = time.monotonic()
            self._logits = logits
            self._store.remember(session, logits, self._request.kv_memory)

    def _ahead(self, end: int) -> dict[str, Any] | None:
        """Inputs of the prompt's last tokens as if `end` tokens had been read before, if they are to look at those."""
        session, prompt = self.session, self.prompt
        if not session.cache.wants_probe or len(prompt.ids) <= session.config.budget:
            return None
        start = max(end, len(prompt.ids) - session.cache.policy.probe)
        pictures = [
            index for index in range(start, len(prompt.ids)) if prompt.ids[index] == self._loaded.image_token_id
        ]
        start = pictures[-1] + 1 if pictures else start  # a picture is looked at, it does not look
        if start == len(prompt.ids):
            return None
        return self._encoder.embed(prompt, start, len(prompt.ids), self._features, after=end)

    # ---- one token; `decoding.decode` calls these in this order

    def choose(self) -> torch.Tensor:
        """Choose the next token from the last forward's logits.

        Returns:
            Raw confidence and token id, `[2]` fp32 on the device: that holds every id below 16 million exactly.
        """
        if not self._ids and not self._match.reused < len(self.prompt.ids):
            self._read_until = time.monotonic()
        measured = confidence(self.logits[None], self.session.config.confidence)[0]
        return torch.stack((measured.float(), self._sampler.choose(self.logits).float()))

    def unsure(self, raw: float) -> bool:
        """Whether the last step is to be computed again with the cold tier open; `raw` is its confidence."""
        return self.session.cache.should_recall([raw])

    def last_inputs(self) -> dict[str, Any]:
        """What the last forward was fed last, to be computed again: one token."""
        if self._ids:
            return self._encoder.embed_generated(self.prompt, self._ids[-1], len(self.session.keys) - 1)
        length = len(self.prompt.ids)
        return self._encoder.embed(self.prompt, length - 1, length, self._features)

    def recalled(self, logits: torch.Tensor) -> None:
        """Take the logits `[V]` of the last token, computed again; the choice is to be made again."""
        self._logits = logits

    def take(self, raw: float, token: int) -> bool:
        """Make a token part of the answer.

        Args:
            raw: Confidence of the step that gave it.
            token: Its id.

        Returns:
            Whether the answer is over; its result is delivered then.
        """
        cache = self.session.cache
        smoothed = cache.observe_confidence([raw])[0]
        usage = cache.usage()
        self._steps.append((float(smoothed), float(usage.budget), int(usage.kv_bytes)))
        self._ids.append(token)
        if self.answer.push(token, self.logits):
            return self._finish("stop")
        return len(self._ids) >= self._limit and self._finish("length")

    def next_inputs(self) -> dict[str, Any]:
        """What to feed next: the token taken last."""
        return self._encoder.embed_generated(self.prompt, self._ids[-1], len(self.session.keys))

    def fed(self, logits: torch.Tensor) -> None:
        """Note that the token taken last was fed to the session's cache and gave these logits, `[V]`."""
        self._logits = logits
        self.session.keys.append(self._ids[-1])

    @property
    def logits(self) -> torch.Tensor:
        """Raw logits of the next token, `[V]`."""
        if self._logits is None:
            raise RuntimeError("the prompt is not read yet")
        return self._logits

    def _finish(self, reason: FinishReason) -> bool:
        answer = self.answer
        reason = answer.finish(reason)
        session, match = self.session, self._match
        now = time.monotonic()
        thought = answer.thought
        session.own = self.prompt.own
        if reason != "cancelled":
            said = (self._request.turns, answer.text, self._ids, self.prompt, answer.calls, thought)
            session.own += (self._encoder.remember(*said),)
        session.cache.compact()
        usage = session.cache.usage()
        read_until = self._read_until if self._logits is not None else now
        result = Result(
            text=answer.text,
            token_ids=tuple(self._ids),
            finish_reason=reason,
            session=session.name,
            tokens_prompt=len(self.prompt.ids),
            tokens_read=min(len(session.keys), len(self.prompt.ids)) - match.reused,
            tokens_reused=match.reused,
            tokens_probed=self._probed,
            miss_at=match.miss_at,
            tokens_generated=len(self._ids),
            kv_bytes=int(usage.kv_bytes),
            peak_kv_bytes=int(usage.peak_kv_bytes),
            full_kv_bytes=int(usage.full_kv_bytes),
            budget=Range.of([step[1] for step in self._steps]),
            confidence=Range.of([step[0] for step in self._steps]),
            steps=tuple(self._steps) if self._request.trace else (),
            read_ms=(read_until - self._started) * 1000,
            decode_ms=(now - read_until) * 1000,
            logprobs=answer.logprobs,
            tool_calls=answer.calls,
            constrained=answer.constrained,
            trace=() if self._trace is None else tuple(self._trace.records),
            reasoning="" if thought is None else thought.text,
            reasoning_tokens=0 if thought is None else thought.tokens,
            miss=self._miss,
        )
        self._store.release(session)
        self.stream.put(result, last=True)
        return True


def kv_bytes_needed(loaded: LoadedModel, config: CacheConfig, tokens: int) -> int:
    """Most bytes that a session of `tokens` takes, reading buffer and one snapshot included."""
    from confkv_agents.cache.sizes import CacheSizes

    sizes = CacheSizes(loaded.model.config, config, dtype=loaded.dtype)
    return sizes.most(tokens) + (sizes.copied(tokens) if sizes.policy.bounded else 0)
