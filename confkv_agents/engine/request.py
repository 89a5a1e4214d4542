"""A request to an engine and the stream of events that answers it, for threads and for asyncio."""

from __future__ import annotations

import asyncio
import itertools
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from confkv_agents.engine.conversation import Turn
from confkv_agents.engine.sampling import Logprob, SamplingConfig
from confkv_agents.engine.tools import Tool, ToolCall, ToolUse, schema_instruction
from confkv_agents.errors import ConfigError, EngineClosedError

if TYPE_CHECKING:
    from confkv_agents.cache import CacheConfig, StepTrace
    from confkv_agents.engine.misses import Miss

FinishReason = Literal["stop", "length", "tool_calls", "cancelled"]


@dataclass(frozen=True)
class Request:
    """A conversation to be continued by the model.

    Attributes:
        turns: The whole conversation; what an earlier request already read is found and reused.
        cache: How the session's KV cache spends memory.
        sampling: How tokens are chosen.
        max_tokens: Most tokens to generate; `None` is as many as the model has positions left.
        stop: Strings that end the answer; they are not part of it.
        session: A name for the conversation; a hint only, the token prefix decides what is reused.
        kv_memory: Most bytes the engine's sessions may hold together while this request runs; `None` is no
            bound.
        timeout: Seconds from submission after which the request fails; `None` is never.
        logprobs: Return each token's log probability.
        top_logprobs: How many likeliest alternatives to return with it.
        trace: Return one entry per generated token in `Result.steps`.
        trace_cache: Return what the cache did at each step in `Result.trace`.
        template_vars: Extra variables for the chat template.
        sanitize: Encode control tokens that stand in the turns' text as text, so that a page cannot forge a
            turn.
        tools: Tools that may or must be called.
        schema: JSON schema that the answer must fit where it is no tool call; the prompt says so too.
        strict: Refuse a schema that cannot be held entirely, instead of leaving out what cannot.
        grammar: A grammar of the answer in llguidance's Lark dialect, in place of tools and schema.
        reasoning: Whether the model is to think first, for templates that can switch it; `None` is the template's
            own choice.
        keep_thoughts: Leave thoughts of earlier answers in the prompt; if not, the template decides, which costs what
            was read after them.
    """

    turns: tuple[Turn, ...]
    cache: CacheConfig
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    session: str | None = None
    kv_memory: int | None = None
    timeout: float | None = None
    logprobs: bool = False
    top_logprobs: int = 0
    trace: bool = False
    trace_cache: bool = False
    template_vars: dict[str, Any] = field(default_factory=dict)
    sanitize: bool = True
    tools: ToolUse | None = None
    schema: dict[str, Any] | None = None
    strict: bool = True
    grammar: str | None = None
    reasoning: bool | None = None
    keep_thoughts: bool = True

    def __post_init__(self) -> None:
        """Refuse what no answer could keep to.

        Raises:
            ConfigError: A bound is no number or out of its range, or a stop string is no text.
        """
        for name, least in (("max_tokens", 1), ("kv_memory", 1), ("top_logprobs", 0)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise ConfigError(f"{name} must be an integer >= {least}, got {value!r}")
        if self.timeout is not None and (
            isinstance(self.timeout, bool) or not isinstance(self.timeout, int | float) or not self.timeout > 0
        ):
            raise ConfigError(f"timeout must be a number of seconds above 0, got {self.timeout!r}")
        if isinstance(self.stop, str) or not all(isinstance(stop, str) for stop in self.stop):
            raise ConfigError(f"stop must be strings, got {self.stop!r}")

    @property
    def prompt_tools(self) -> tuple[Tool, ...]:
        """The tools that stand in the prompt."""
        return () if self.tools is None else self.tools.tools

    @property
    def prompt_note(self) -> str:
        """What the system turn says of the answer's form."""
        return "" if self.schema is None else schema_instruction(self.schema)


@dataclass(frozen=True)
class Progress:
    """Part of the prompt was read: `done` of `total` tokens that had to be read."""

    done: int
    total: int


@dataclass(frozen=True)
class Delta:
    """New text of the answer, and the log probabilities of the tokens since the last delta if asked for."""

    text: str
    logprobs: tuple[Logprob, ...] = ()


@dataclass(frozen=True)
class ThoughtDelta:
    """New text of the thought before the answer, and log probabilities as in `Delta`."""

    text: str
    logprobs: tuple[Logprob, ...] = ()


@dataclass(frozen=True)
class CallDelta:
    """A piece of a tool call.

    Attributes:
        index: Number of the call in the answer.
        id: Its id, on its first piece only.
        name: The tool's name, on its first piece only.
        text: More of the arguments' JSON.
        logprobs: Of the tokens since the last delta, if asked for.
    """

    index: int
    id: str | None
    name: str | None
    text: str
    logprobs: tuple[Logprob, ...] = ()


@dataclass(frozen=True)
class Range:
    """Least, mean and largest value over the steps of one answer."""

    min: float
    mean: float
    max: float

    @classmethod
    def of(cls, values: list[float]) -> Range:
        """The range of `values`; zeros if there are none."""
        if not values:
            return cls(0.0, 0.0, 0.0)
        return cls(min(values), sum(values) / len(values), max(values))

    def as_dict(self) -> dict[str, float]:
        """`{"min": .., "mean": .., "max": ..}`, rounded to four digits."""
        return {"min": round(self.min, 4), "mean": round(self.mean, 4), "max": round(self.max, 4)}


@dataclass(frozen=True)
class Result:
    """What became of a request.

    Attributes:
        text: The whole answer, thought and tool calls left out.
        token_ids: The generated ids, the end-of-turn token included.
        finish_reason: Why it ended.
        session: Name of the session that answered.
        tokens_prompt: Length of the whole prompt.
        tokens_read: Prompt tokens that went through the model.
        tokens_reused: Prompt tokens found in the session's cache.
        tokens_probed: Tokens run a second time to look ahead at what was read; the probe's cost.
        miss_at: Where the prompt departs from what the nearest session had read, if anything had to be read
            again.
        tokens_generated: Number of generated ids.
        kv_bytes: Bytes the session's cache holds now.
        peak_kv_bytes: Most bytes it held since the session began.
        full_kv_bytes: Bytes that a full-precision cache of every token seen would hold.
        budget: Slots per layer over the steps of this answer.
        confidence: Confidence over the steps of this answer.
        steps: `(confidence, budget, kv_bytes)` per generated token, if asked for.
        trace: What the cache did at each step, if asked for.
        reasoning: What the model thought before it spoke.
        reasoning_tokens: How many of the generated ids are thought.
        miss: What broke the prefix, if anything did.
        read_ms: Time from the start of work to the end of reading.
        decode_ms: Time from there to the end.
        logprobs: One entry per generated token, if asked for.
        tool_calls: The calls that the model made, invalid ones too.
        constrained: How the answer was held to what was asked of its form: by a grammar, by its forced
            opening only, or not at all.
    """

    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    session: str
    tokens_prompt: int
    tokens_read: int
    tokens_reused: int
    tokens_probed: int
    miss_at: int | None
    tokens_generated: int
    kv_bytes: int
    peak_kv_bytes: int
    full_kv_bytes: int
    budget: Range
    confidence: Range
    steps: tuple[tuple[float, float, int], ...]
    read_ms: float
    decode_ms: float
    logprobs: tuple[Logprob, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    constrained: Literal["grammar", "opening"] | None = None
    trace: tuple[StepTrace, ...] = ()
    reasoning: str = ""
    reasoning_tokens: int = 0
    miss: Miss | None = None


Event = Progress | Delta | ThoughtDelta | CallDelta | Result
_numbers = itertools.count(1)


class Stream:
    """The events of one request, read by one consumer, from a thread or from asyncio.

    The engine's thread puts events; it never waits for the consumer, so a consumer that stops reading blocks
    nobody. Iterating ends after the `Result`; an error of the engine is raised where the consumer waits.
    Leaving the iteration early, or `close`, cancels the request within one token or one chunk.
    """

    def __init__(self, request: Any, wake: Callable[[], None]):
        self.request = request
        self.number = next(_numbers)
        self.submitted = time.monotonic()
        self._wake = wake
        self._cancelled = threading.Event()
        self._finished = threading.Event()
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_queue: asyncio.Queue[Any] | None = None

    @property
    def cancelled(self) -> bool:
        """Whether the consumer gave the request up."""
        return self._cancelled.is_set()

    @property
    def finished(self) -> bool:
        """Whether the engine has delivered the last event."""
        return self._finished.is_set()

    @property
    def deadline(self) -> float | None:
        """Time on the monotonic clock after which the request fails."""
        timeout = getattr(self.request, "timeout", None)
        return None if timeout is None else self.submitted + timeout

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Deliver events to this event loop; called before the request is queued."""
        self._loop, self._loop_queue = loop, asyncio.Queue()

    def close(self) -> None:
        """Give the request up if it still runs; the engine notices before its next token or chunk."""
        if not self._finished.is_set():
            self._cancelled.set()
            self._wake()

    def put(self, item: Any, last: bool = False) -> None:
        """Engine side: deliver an event, a result or an exception; `last` ends the stream."""
        if last:
            self._finished.set()
        if self._loop is None or self._loop_queue is None:
            self._queue.put(item)
            return
        try:
            self._loop.call_soon_threadsafe(self._loop_queue.put_nowait, item)
        except RuntimeError:  # the consumer's event loop is closed: nobody reads any more
            self._cancelled.set()

    def __iter__(self) -> Iterator[Any]:
        try:
            while True:
                item = self._queue.get()
                if isinstance(item, BaseException):
                    raise item
                yield item
                if self._is_last(item):
                    return
        finally:
            self.close()

    async def __aiter__(self) -> AsyncIterator[Any]:
        if self._loop_queue is None:
            raise EngineClosedError("this stream was not submitted from asyncio; iterate it from a thread")
        try:
            while True:
                item = await self._loop_queue.get()
                if isinstance(item, BaseException):
                    raise item
                yield item
                if self._is_last(item):
                    return
        finally:
            self.close()

    @staticmethod
    def _is_last(item: Any) -> bool:
        return isinstance(item, (Result, Returned))


@dataclass(frozen=True)
class Returned:
    """The value of a function that ran in the engine's thread."""

    value: Any
