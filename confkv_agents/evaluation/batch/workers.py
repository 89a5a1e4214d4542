"""The loop of a batch: threads that play episodes, and one thread that hears of it.

Each worker has a station of its own: a browser, sites, and an agent per policy. What it tells goes over a queue to the
thread that called, so that callbacks are never called twice at a time, and Ctrl-C comes through.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from confkv_agents.evaluation.batch.callbacks import BatchCallback, tell
from confkv_agents.evaluation.batch.options import Unit
from confkv_agents.evaluation.episode import Environment, run_episode

if TYPE_CHECKING:
    from confkv_agents.evaluation.agents import Agent
    from confkv_agents.evaluation.batch.store import BatchStore
    from confkv_agents.evaluation.records import EpisodeRecorder

_log = logging.getLogger(__name__)
_PATIENCE_S = 20.0
_TICK_S = 0.5


class Station(Protocol):
    """What one worker plays with; used by one thread, but for `close`."""

    @property
    def env(self) -> Environment:
        """The environment, for one episode after the other."""

    def agent(self, policy: str) -> Agent:
        """The agent that plays under a policy."""

    def close(self) -> None:
        """End it, also from another thread while an episode runs; a second time does nothing."""


class _StoppedError(BaseException):
    """The batch is being stopped; leaves a running episode without a result."""


class _Crew:
    """The workers' shared state."""

    def __init__(
        self,
        units: Sequence[Unit],
        store: BatchStore,
        open_station: Callable[[], Station],
        attempts: int,
        limits: Mapping[str, Any],
    ) -> None:
        self.events: queue.SimpleQueue[tuple[str, tuple[Any, ...]]] = queue.SimpleQueue()
        self._todo = deque((unit, 1) for unit in units)
        self._playing = 0
        self._change = threading.Condition()
        self._stopped = False
        self._stations: list[Station] = []
        self._store, self._open_station = store, open_station
        self._attempts, self._limits = attempts, dict(limits)

    def work(self) -> None:
        """Play until nothing is left: what a worker's thread runs."""
        error: BaseException | None = None
        try:
            with contextlib.closing(self._open_station()) as station:
                with self._change:
                    self._stations.append(station)
                while (job := self._next()) is not None:
                    self._play(station, *job)
        except _StoppedError:
            pass
        except BaseException as caught:  # noqa: BLE001 - handed to the thread that called
            error = caught
        self.events.put(("left", (error,)))

    def stop(self) -> None:
        """Let no episode go on; those that run get no result."""
        with self._change:
            self._stopped = True
            self._todo.clear()
            stations = list(self._stations)
            self._change.notify_all()
        for station in stations:
            with contextlib.suppress(Exception):  # it is on its way out
                station.close()

    def _next(self) -> tuple[Unit, int] | None:
        """The next episode; waits while one that runs may have to be tried again."""
        with self._change:
            while not self._todo and self._playing and not self._stopped:
                self._change.wait()
            if not self._todo:
                self._change.notify_all()
                return None
            self._playing += 1
            return self._todo.popleft()

    def _play(self, station: Station, unit: Unit, attempt: int) -> None:
        again = False
        try:
            self.events.put(("on_episode_start", (unit, attempt)))
            agent = station.agent(unit.policy)
            record = self._store.episode(unit, self._check)
            result = run_episode(
                station.env,
                agent,
                unit.task,
                record,
                seed=unit.seed,
                on_step=lambda step: self.events.put(("on_step", (unit, step))),
                on_phase=lambda _index, _phase: self._check(),
                **self._limits,
            )
            again = result.success is None and attempt < self._attempts
            self.events.put(("on_episode_end", (unit, self._row(unit, record, asdict(result), attempt), not again)))
        finally:
            with self._change:
                self._playing -= 1
                if again:
                    self._todo.append((unit, attempt + 1))
                self._change.notify_all()

    def _check(self) -> None:
        if self._stopped:
            raise _StoppedError

    @staticmethod
    def _row(unit: Unit, record: EpisodeRecorder, result: dict[str, Any], attempt: int) -> dict[str, Any]:
        return {"policy": unit.policy, "directory": str(record.directory), **result, "attempts": attempt}


def play_units(
    units: Sequence[Unit],
    store: BatchStore,
    open_station: Callable[[], Station],
    *,
    workers: int = 1,
    attempts: int = 3,
    limits: Mapping[str, Any] | None = None,
    callbacks: Sequence[BatchCallback] = (),
) -> None:
    """Play episodes, several at a time, and keep their records.

    Args:
        units: What to play, in order.
        store: Where records go; it was told the plan.
        open_station: Makes what one worker plays with; called in the worker's thread.
        workers: Episodes at the same time.
        attempts: How often an episode that the environment failed is tried.
        limits: `max_steps` and `timeout` of each episode.
        callbacks: Whom to tell.

    Raises:
        BaseException: What a station or a record could not do, or what stopped the calling thread. Episodes that ran
            then have no result.
    """
    crew = _Crew(units, store, open_station, attempts, limits or {})
    threads = [
        threading.Thread(target=crew.work, name=f"confkv-eval-{number}", daemon=True)
        for number in range(1, min(workers, len(units)) + 1)
    ]
    left, failure = 0, None
    try:
        for thread in threads:
            thread.start()
        while left < len(threads):
            with contextlib.suppress(queue.Empty):
                event, arguments = crew.events.get(timeout=_TICK_S)
                if event != "left":
                    tell(callbacks, event, *arguments)
                    continue
                left += 1
                if arguments[0] is not None and failure is None:
                    failure = arguments[0]
                    crew.stop()
    except BaseException:
        crew.stop()
        deadline = time.monotonic() + _PATIENCE_S
        for thread in threads:
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))
        raise
    if failure is not None:
        raise failure
