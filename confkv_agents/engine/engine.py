"""The engine: one thread that owns one model and answers requests from any thread or event loop.

Every request is a job that advances by one chunk or one token at a time. Answers get their tokens together, all in one
forward; between two tokens one of the requests that still read gets one chunk, so that neither starves the other.
Waiting requests start in the order of their arrival. No lock is held while a job runs, and the thread never waits for
a consumer.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
import traceback
import uuid
import weakref
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from confkv_agents.engine.decoding import decode
from confkv_agents.engine.encoding import PromptEncoder
from confkv_agents.engine.job import Job
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.engine.request import Request, Result, Returned, Stream
from confkv_agents.engine.session import SessionInfo, SessionStore
from confkv_agents.errors import ConfKVError, EngineClosedError, EngineTimeoutError, ModelError

if TYPE_CHECKING:
    from confkv_agents.cache import CacheConfig, ConfKVCache
    from confkv_agents.engine.conversation import Turn
    from confkv_agents.engine.tools import Tool

logger = logging.getLogger(__name__)


class Engine:
    """One loaded model and its sessions behind a queue.

    The model loads in the engine's thread at the first request. Close the engine, or use it as a context
    manager, to stop the thread and free model and sessions.

    Args:
        load: Returns the loaded model; called once, in the engine's thread.
        name: Name of the model, for messages and the thread's name.
        max_active: Most requests that run together; the others wait. Each needs memory for its session.
        on_close: Called when the engine is closed.
    """

    def __init__(
        self,
        load: Callable[[], LoadedModel],
        name: str = "model",
        *,
        max_active: int = 8,
        on_close: Callable[[Engine], None] | None = None,
    ):
        self.name = name
        self.identity = uuid.uuid4().hex  # a name tells two models loaded by hand not apart
        self._load = load
        self._max_active = max_active
        self._on_close = on_close
        self._inbox: queue.SimpleQueue[Stream | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._unfinished: weakref.WeakSet[Stream] = weakref.WeakSet()  # whoever waits holds his stream
        self._waiting: deque[Stream] = deque()
        self._active: list[Job] = []
        self._blocked: Job | None = None  # the request that waits for memory, its prompt encoded
        self._freed = False  # whether a running request ended since it was refused
        self._loaded: LoadedModel | None = None
        self._encoder: PromptEncoder | None = None
        self._store = SessionStore(self._new_cache)

    def submit(self, request: Request) -> Stream:
        """Queue a request; iterate the returned stream from this or another thread.

        Raises:
            EngineClosedError: The engine is closed.
        """
        return self._submit(Stream(request, self._wake))

    def submit_async(self, request: Request) -> Stream:
        """Queue a request from a running event loop; iterate the returned stream with `async for` there.

        Raises:
            EngineClosedError: The engine is closed.
        """
        stream = Stream(request, self._wake)
        stream.bind(asyncio.get_running_loop())
        return self._submit(stream)

    def run(self, request: Request) -> Result:
        """Answer a request and wait for it."""
        stream = self.submit(request)
        try:
            for event in stream:
                if isinstance(event, Result):
                    return event
        finally:
            stream.close()
        raise EngineClosedError(f"engine {self.name!r} ended the request without a result")

    async def arun(self, request: Request) -> Result:
        """Answer a request and wait for it without blocking the event loop."""
        stream = self.submit_async(request)
        try:
            async for event in stream:
                if isinstance(event, Result):
                    return event
        finally:
            stream.close()
        raise EngineClosedError(f"engine {self.name!r} ended the request without a result")

    def call(self, function: Callable[[LoadedModel, PromptEncoder], Any]) -> Any:
        """Run a short function of model and encoder in the engine's thread and return its value."""
        stream = self._submit(Stream(function, self._wake))
        for event in stream:
            if isinstance(event, Returned):
                return event.value
        raise EngineClosedError(f"engine {self.name!r} ended the call without a value")

    def load(self) -> LoadedModel:
        """Load the model now, if it is not loaded, and return it."""
        return self.call(lambda loaded, encoder: loaded)

    def count_tokens(
        self,
        turns: tuple[Turn, ...],
        template_vars: dict[str, Any] | None = None,
        sanitize: bool = True,
        tools: tuple[Tool, ...] = (),
        note: str = "",
        keep_thoughts: bool = True,
    ) -> int:
        """Exact number of tokens of a conversation's prompt, template, tools and pictures included."""
        return self.call(
            lambda loaded, encoder: len(
                encoder.encode(turns, template_vars or {}, sanitize, tools, note, keep_thoughts).ids
            )
        )

    def text_ids(self, text: str) -> list[int]:
        """Token ids of plain text."""
        return self.call(lambda loaded, encoder: encoder.text_ids(text))

    def sessions(self) -> list[SessionInfo]:
        """What the sessions hold, most recently used first."""
        return [] if self._idle_forever() else self.call(lambda loaded, encoder: self._store.infos())

    def drop_session(self, name: str | None = None) -> int:
        """Forget the idle sessions of a name, or all idle ones; returns how many."""
        return 0 if self._idle_forever() else self.call(lambda loaded, encoder: self._store.drop(name))

    def save_session(self, name: str, path: str | Path) -> None:
        """Write a session to a file; see `session_files`."""
        from confkv_agents.engine.session_files import save_session

        self.call(lambda loaded, encoder: save_session(self._store, loaded, encoder, name, path))

    def load_session(
        self, path: str | Path, config: CacheConfig, name: str | None = None, kv_memory: int | None = None
    ) -> SessionInfo:
        """Take up a session from a file; see `session_files`."""
        from confkv_agents.engine.session_files import load_session

        return self.call(
            lambda loaded, encoder: load_session(self._store, loaded, encoder, path, config, name, kv_memory)
        )

    @property
    def kv_bytes(self) -> int:
        """Bytes that all sessions hold now."""
        return sum(info.nbytes for info in self.sessions())

    @property
    def closed(self) -> bool:
        """Whether it answers no more: `close` was called, or its thread ended (as in a forked process)."""
        return self._closed or (self._thread is not None and not self._thread.is_alive())

    def close(self, timeout: float | None = None) -> None:
        """Stop the thread, fail what waits or runs, free model and sessions; a second time does nothing.

        Args:
            timeout: Most seconds to wait for the thread, which a model that is loading cannot leave; `None` is
                no bound.
        """
        with self._lock:
            already, self._closed = self._closed, True
            thread = self._thread
        if already:
            return
        self._inbox.put(None)
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
        if self._on_close is not None:
            self._on_close(self)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _submit(self, stream: Stream) -> Stream:
        with self._lock:
            if self.closed:
                raise EngineClosedError(f"engine {self.name!r} is closed; make a new one")
            self._unfinished.add(stream)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=f"confkv-engine-{self.name}", daemon=True)
                self._thread.start()
            self._inbox.put(stream)
        return stream

    def _idle_forever(self) -> bool:
        """Whether nothing was ever asked of the engine, so that looking would load the model for nothing."""
        with self._lock:
            return self.closed or self._thread is None

    def _wake(self) -> None:
        self._inbox.put(None)

    def _new_cache(self, config: CacheConfig) -> ConfKVCache:
        from confkv_agents.cache import ConfKVCache

        return ConfKVCache(self._model.config, config)

    @property
    def _model(self) -> Any:
        if self._loaded is None:
            raise RuntimeError("the model is not loaded")
        return self._loaded.model

    # ---- the engine's thread

    def _run(self) -> None:
        reason = "it was closed"
        try:
            while self._take_in():
                self._start_waiting()
                self._step()
        except BaseException as error:  # nobody else is there to tell those who wait
            logger.exception("the thread of engine %r ended", self.name)
            reason = f"its thread failed ({type(error).__name__}: {error})"
        finally:
            self._end_all(reason)

    def _take_in(self) -> bool:
        """Move what arrived to the waiting line, blocking while there is nothing to do; False when closed."""
        idle = not self._waiting and not self._active
        while not self._closed:
            try:
                stream = self._inbox.get(block=idle)
            except queue.Empty:
                return True
            if stream is not None:
                self._waiting.append(stream)
                idle = False
        return False

    def _start_waiting(self) -> None:
        """Answer calls at once and start waiting requests, in order, while there is room."""
        still: deque[Stream] = deque()
        blocked = False
        while self._waiting and not self._closed:
            stream = self._waiting.popleft()
            if callable(stream.request):
                self._answer_call(stream)
            elif stream.cancelled or (stream.deadline is not None and time.monotonic() > stream.deadline):
                self._end_waiting(stream)
            elif blocked or len(self._active) >= self._max_active or self._session_busy(stream.request.session):
                still.append(stream)
            elif not self._start(stream):
                blocked = True
                still.append(stream)
        still.extend(self._waiting)
        self._waiting = still

    def _start(self, stream: Stream) -> bool:
        """Start a request; False if it must wait for memory that running ones hold."""
        job, self._blocked = self._blocked, None
        if job is not None and job.stream is not stream:
            job = None
        if job is not None and not self._freed:
            self._blocked = job
            return False
        try:
            loaded, encoder = self._ready()
            with torch.inference_mode():
                job = job or Job(stream, loaded, encoder, self._store)
                if not job.admit(alone=not self._active):
                    self._blocked, self._freed = job, False
                    return False
        except BaseException as error:  # noqa: BLE001 - whatever went wrong is raised where the caller waits
            self._fail(stream, error)
            return True
        self._active.append(job)
        return True

    def _step(self) -> None:
        """Give every answer under way one token, then one of the requests that read one chunk, in turn."""
        running = len(self._active)
        with torch.inference_mode():
            decoding = [job for job in self._active if job.decoding]
            reading = [job for job in self._active if not job.decoding]
            if decoding:
                going = decode(decoding, self._model, self._drop)
                self._active = [job for job in self._active if job in going or job in reading]
            if reading:
                self._active.remove(reading[0])
                if self._read(reading[0]):
                    self._active.append(reading[0])
        self._freed = self._freed or len(self._active) < running

    def _read(self, job: Job) -> bool:
        """Let a job read one chunk; returns whether it goes on."""
        try:
            if job.ended():
                return False
            job.read()
        except BaseException as error:  # noqa: BLE001 - whatever went wrong is raised where the caller waits
            self._drop(job, error)
            return False
        return True

    def _drop(self, job: Job, error: BaseException) -> None:
        """End a job that failed; its session is kept only if the failure was that time ran out."""
        timed_out = isinstance(error, EngineTimeoutError)
        job.abandon(consistent=timed_out)
        if not timed_out:  # an error that is kept must not keep a cache alive
            for each in (error, error.__cause__):
                traceback.clear_frames(each.__traceback__ if each is not None else None)
        self._fail(job.stream, error)

    def _answer_call(self, stream: Stream) -> None:
        try:
            loaded, encoder = self._ready()
            value = stream.request(loaded, encoder)
        except BaseException as error:  # noqa: BLE001 - whatever went wrong is raised where the caller waits
            self._fail(stream, error)
        else:
            stream.put(Returned(value), last=True)

    def _ready(self) -> tuple[LoadedModel, PromptEncoder]:
        if self._loaded is None or self._encoder is None:
            started = time.monotonic()
            loaded = self._load()
            self._loaded, self._encoder = loaded, PromptEncoder(loaded)
            logger.info("model %s is loaded after %.1f s", self.name, time.monotonic() - started)
        return self._loaded, self._encoder

    def _session_busy(self, name: str | None) -> bool:
        return name is not None and any(session.busy and session.name == name for session in self._store)

    def _end_waiting(self, stream: Stream) -> None:
        if self._blocked is not None and self._blocked.stream is stream:
            self._blocked = None
        if stream.cancelled:
            self._fail(stream, EngineClosedError("the request was cancelled before it started"))
        else:
            self._fail(
                stream,
                EngineTimeoutError(
                    f"the request's timeout of {stream.request.timeout:g} s ran out before its answer was begun; "
                    "give it more time, as other requests or loading the model may come first"
                ),
            )

    def _fail(self, stream: Stream, error: BaseException) -> None:
        if not isinstance(error, ConfKVError):
            logger.debug("request %d failed", stream.number, exc_info=error)
        if not isinstance(error, Exception):  # such as SystemExit, which must not end the caller's process
            cause, kind = error, type(error).__name__
            error = ModelError(f"model {self.name!r} was interrupted by {kind} at this request ({cause}); ask again")
            error.__cause__ = cause
        stream.put(error, last=True)

    def _end_all(self, reason: str) -> None:
        """Fail whatever is left and let go of model and sessions."""
        with self._lock:
            self._closed = True
            left = [stream for stream in self._unfinished if not stream.finished]
        for stream in left:
            self._fail(stream, EngineClosedError(f"engine {self.name!r} did not end the request: {reason}"))
        self._active.clear()
        self._waiting.clear()
        self._inbox = queue.SimpleQueue()
        self._loaded = self._encoder = self._blocked = None
        self._store = SessionStore(self._new_cache)
