"""How requests end before their answer does: left, timed out, failed, closed."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import weakref
from typing import Any

import pytest

from confkv_agents.engine.engine import Engine
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.engine.request import Delta
from confkv_agents.errors import (
    EngineClosedError,
    EngineTimeoutError,
    ModelError,
)
from tests.engine.asking import LONG, Gate, request, user


def test_leaving_a_stream_stops_the_model_within_one_token(loaded: LoadedModel) -> None:
    gate = Gate(loaded, stop_at=4)
    with Engine(lambda: loaded) as engine:
        stream = engine.submit(request(user("Hi"), max_tokens=1000))
        assert gate.reached.wait(60)
        stream.close()
        gate.open.set()
        result = list(stream)[-1]
        assert result.finish_reason == "cancelled" and gate.calls == 4
        assert engine.run(request(user("Ho"))).finish_reason in ("stop", "length")


def test_leaving_while_a_prompt_is_read_stops_within_one_chunk(loaded: LoadedModel) -> None:
    gate = Gate(loaded, stop_at=2)
    with Engine(lambda: loaded) as engine:
        stream = engine.submit(request(user(LONG)))
        assert gate.reached.wait(60)
        stream.close()
        gate.open.set()
        assert list(stream)[-1].finish_reason == "cancelled" and gate.calls == 2
        again = engine.run(request(user(LONG)))
        assert again.tokens_reused == 64  # the two chunks that were read


def test_breaking_out_of_the_iteration_cancels(engine: Engine) -> None:
    stream = engine.submit(request(user("Hi"), max_tokens=3000))
    for event in stream:
        if isinstance(event, Delta):
            break
    assert stream.cancelled or engine.run(request(user("Ho"))) is not None


def test_a_timeout_is_raised_where_the_caller_waits(loaded: LoadedModel) -> None:
    with Engine(lambda: loaded) as engine:
        with pytest.raises(EngineTimeoutError, match="timeout"):
            engine.run(request(user(LONG), max_tokens=3000, timeout=0.02))
        assert engine.run(request(user("Hi"))).tokens_generated > 0


def test_an_error_of_the_model_reaches_the_caller_and_costs_only_its_session(loaded: LoadedModel) -> None:
    forward = loaded.model.forward
    calls = 0

    def failing(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise RuntimeError("out of luck")
        return forward(*args, **kwargs)

    loaded.model.forward = failing
    with Engine(lambda: loaded) as engine:
        with pytest.raises(RuntimeError, match="out of luck"):
            engine.run(request(user("Hi")))
        assert engine.sessions() == []
        assert engine.run(request(user("Hi"))).tokens_generated == 6


def test_an_error_of_loading_reaches_every_caller() -> None:
    def load() -> LoadedModel:
        raise ModelError("no such weights")

    with Engine(load) as engine:
        for _ in range(2):
            with pytest.raises(ModelError, match="no such weights"):
                engine.run(request(user("Hi")))


def test_closing_ends_the_thread_and_fails_what_is_left(loaded: LoadedModel) -> None:
    gate = Gate(loaded, stop_at=2)
    engine = Engine(lambda: loaded, "closing")
    streams = [engine.submit(request(user(f"{number}"))) for number in range(6)]
    assert gate.reached.wait(60)
    closer = threading.Thread(target=engine.close)
    closer.start()
    gate.open.set()
    closer.join(60)
    for stream in streams:
        with pytest.raises(EngineClosedError):
            list(stream)
    with pytest.raises(EngineClosedError):
        engine.run(request(user("late")))
    assert not any("closing" in thread.name for thread in threading.enumerate())
    engine.close()


async def test_one_stream_and_many_calls_finish_together(engine: Engine) -> None:
    async def stream() -> str:
        text = ""
        async for event in engine.submit_async(request(user("stream"), max_tokens=20)):
            text += event.text if isinstance(event, Delta) else ""
            await asyncio.sleep(0)
        return text

    calls = [engine.arun(request(user(f"call {number}"))) for number in range(12)]
    streamed, *results = await asyncio.wait_for(asyncio.gather(stream(), *calls), 120)
    assert streamed and all(result.tokens_generated == 6 for result in results)


async def test_cancelling_a_task_frees_the_engine(loaded: LoadedModel) -> None:
    gate = Gate(loaded, stop_at=3)
    with Engine(lambda: loaded) as engine:
        task = asyncio.create_task(engine.arun(request(user("Hi"), max_tokens=3000)))
        await asyncio.to_thread(gate.reached.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.open.set()
        assert (await engine.arun(request(user("Ho")))).tokens_generated > 0
        assert gate.calls < 60


def test_a_consumer_whose_event_loop_is_gone_blocks_nobody(engine: Engine) -> None:
    async def start() -> None:
        engine.submit_async(request(user("Hi"), max_tokens=3000))

    asyncio.run(start())
    assert engine.run(request(user("Ho"))).tokens_generated > 0


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), GeneratorExit(), MemoryError("full")])
def test_whatever_ends_loading_reaches_everybody_who_waits_and_the_engine_goes_on(
    loaded: LoadedModel, error: BaseException
) -> None:
    entered, go_on, failures = threading.Event(), threading.Event(), [error, error, error]

    def load() -> LoadedModel:
        entered.set()
        assert go_on.wait(60)
        if failures:
            raise failures.pop()
        return loaded

    def count(engine: Engine) -> None:
        with contextlib.suppress(ModelError, MemoryError):
            engine.text_ids("x")

    with Engine(load, "tiny") as engine:
        waiting = [engine.submit(request(user("a"))), engine.submit(request(user("b")))]
        assert entered.wait(60)
        counting = threading.Thread(target=count, args=(engine,))
        counting.start()
        go_on.set()
        expected = type(error) if isinstance(error, Exception) else ModelError
        for stream in waiting:
            with pytest.raises(expected):
                list(stream)
        counting.join(60)
        assert not counting.is_alive()
        failures.clear()
        assert engine.run(request(user("c"))).tokens_generated == 6


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_whatever_interrupts_a_step_fails_that_request_only(loaded: LoadedModel, error: BaseException) -> None:
    forward, failures = loaded.model.forward, [error]

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        if failures:
            raise failures.pop()
        return forward(*args, **kwargs)

    loaded.model.forward = interrupted
    with Engine(lambda: loaded, "tiny") as engine:
        with pytest.raises(ModelError, match=f"interrupted by {type(error).__name__}") as caught:
            engine.run(request(user("Hi")))
        assert caught.value.__cause__ is error
        assert engine.sessions() == []
        assert engine.run(request(user("Hi"))).tokens_generated == 6


def test_a_thread_that_ends_by_itself_fails_everybody_and_closes_the_engine(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.load()

    def broken() -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(engine, "_start_waiting", broken)
    with pytest.raises(EngineClosedError, match="a bug"):
        engine.run(request(user("Hi")))
    assert engine.closed
    with pytest.raises(EngineClosedError):
        engine.submit(request(user("Hi")))


def test_an_engine_whose_thread_is_gone_says_that_it_is_closed(engine: Engine) -> None:
    engine.load()
    gone = threading.Thread(target=lambda: None)
    gone.start()
    gone.join()
    thread, engine._thread = engine._thread, gone  # as after a fork, which takes no other thread along
    try:
        assert engine.closed and engine.sessions() == []
        with pytest.raises(EngineClosedError):
            engine.run(request(user("Hi")))
    finally:
        engine._thread = thread


def test_an_error_that_is_kept_holds_no_cache(loaded: LoadedModel) -> None:
    forward, caches = loaded.model.forward, []

    def failing(*args: Any, **kwargs: Any) -> Any:
        caches.append(weakref.ref(kwargs["cache"]))
        forward(*args, **kwargs)
        raise ValueError("broken")

    loaded.model.forward = failing
    with Engine(lambda: loaded, "tiny") as engine, pytest.raises(ValueError, match="broken") as caught:
        engine.run(request(user("Hi")))
    gc.collect()
    assert caught.value.__traceback__ is not None and caches[0]() is None
