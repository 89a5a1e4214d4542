"""The loop of a batch: threads that play episodes, and one thread that hears of it.

Each thread has a worker of its own, in this process or elsewhere, see `backends`. What it tells goes over a queue to
the thread that called, so that callbacks are never called twice at a time, and Ctrl-C comes through. An episode whose
worker is lost counts as failed by the environment, and the thread goes on with another worker.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from confkv_agents.errors import WorkerLostError
from confkv_agents.evaluation.batch.backends import Backend, Worker
from confkv_agents.evaluation.batch.callbacks import BatchCallback, tell
from confkv_agents.evaluation.batch.options import Unit
from confkv_agents.evaluation.records import EpisodeResult

if TYPE_CHECKING:
    from confkv_agents.evaluation.batch.store import BatchStore
    from confkv_agents.evaluation.recording import EpisodeRecorder
    from confkv_agents.evaluation.records import StepRecord

_log = logging.getLogger(__name__)
_PATIENCE_S = 20.0
_TICK_S = 0.5
_LOST_IN_A_ROW = 3


class _StoppedError(BaseException):
    """The batch is being stopped; leaves a running episode without a result."""


class _Crew:
    """The workers' shared state."""

    def __init__(
        self,
        units: Sequence[Unit],
        store: BatchStore,
        backend: Backend,
        attempts: int,
        limits: Mapping[str, Any],
    ) -> None:
        self.events: queue.SimpleQueue[tuple[str, tuple[Any, ...]]] = queue.SimpleQueue()
        self._todo = deque((unit, 1) for unit in units)
        self._playing = 0
        self._change = threading.Condition()
        self._stopped = False
        self._workers: list[Worker] = []
        self._store, self._backend = store, backend
        self._attempts, self._limits = attempts, dict(limits)

    def work(self) -> None:
        """Play until nothing is left: what a worker's thread runs."""
        error: BaseException | None = None
        try:
            while self._use_worker():
                pass
        except _StoppedError:
            pass
        except BaseException as caught:  # noqa: BLE001 - handed to the thread that called
            error = caught
        self.events.put(("left", (error,)))

    def _use_worker(self) -> bool:
        """Play with one worker until it is lost (True), or nothing is left (False)."""
        with contextlib.closing(self._open()) as worker:
            with self._change:
                self._workers.append(worker)
            try:
                while (job := self._next()) is not None:
                    if not self._play(worker, *job):
                        return True
                return False
            finally:
                with self._change:
                    self._workers.remove(worker)

    def _open(self) -> Worker:
        for failures in range(1, _LOST_IN_A_ROW + 1):
            try:
                return self._backend.open_worker(self._check_wanted)
            except WorkerLostError:
                if failures == _LOST_IN_A_ROW:
                    raise
                _log.warning("a worker was lost while it started; the next one is tried", exc_info=True)
        raise AssertionError("the loop returns or raises")

    def stop(self) -> None:
        """Let no episode go on; those that run get no result."""
        with self._change:
            self._stopped = True
            self._todo.clear()
            workers = list(self._workers)
            self._change.notify_all()
        for worker in workers:
            with contextlib.suppress(Exception):  # it is on its way out
                worker.close()

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

    def _play(self, worker: Worker, unit: Unit, attempt: int) -> bool:
        """Play one episode; False if the worker is lost."""
        again, lost, began = False, False, time.monotonic()
        steps: list[StepRecord] = []

        def on_step(step: StepRecord) -> None:
            steps.append(step)
            self.events.put(("on_step", (unit, step)))

        try:
            self.events.put(("on_episode_start", (unit, attempt)))
            record = self._store.episode(unit, self._check)
            try:
                result = worker.play(unit, record, on_step=on_step, check=self._check, **self._limits)
            except WorkerLostError as error:
                lost = True
                result = _lost(unit, str(error), steps, time.monotonic() - began)
                self._close_lost(record, result)
            again = result.success is None and attempt < self._attempts
            self.events.put(("on_episode_end", (unit, self._row(unit, record, asdict(result), attempt), not again)))
        finally:
            with self._change:
                self._playing -= 1
                if again:
                    self._todo.append((unit, attempt + 1))
                self._change.notify_all()
        return not lost

    def _close_lost(self, record: EpisodeRecorder, result: EpisodeResult) -> None:
        """Keep that a worker was lost, unless it is gone because the batch is being stopped."""
        try:
            record.finish(result)
        except _StoppedError:
            record.abandon("interrupted")
            raise

    def _check_wanted(self) -> None:
        """Raise where a worker that is only starting would find nothing to do."""
        with self._change:
            if self._stopped or not (self._todo or self._playing):
                raise _StoppedError

    def _check(self) -> None:
        if self._stopped:
            raise _StoppedError

    @staticmethod
    def _row(unit: Unit, record: EpisodeRecorder, result: dict[str, Any], attempt: int) -> dict[str, Any]:
        return {"policy": unit.policy, "directory": str(record.directory), **result, "attempts": attempt}


def _lost(unit: Unit, error: str, steps: Sequence[StepRecord], seconds: float) -> EpisodeResult:
    """The result of an episode whose worker is gone: like any failure of the environment, as far as it is known."""
    return EpisodeResult(
        task=unit.task.key,
        seed=unit.seed,
        success=None,
        stop_reason="infra_error",
        error=error,
        steps=len(steps),
        seconds={
            **{part: sum(step.seconds.get(part, 0.0) for step in steps) for part in ("model", "environment")},
            "total": seconds,
        },
    )


def play_units(
    units: Sequence[Unit],
    store: BatchStore,
    backend: Backend,
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
        backend: Makes workers; closed at the end.
        workers: Episodes at the same time.
        attempts: How often an episode that the environment failed is tried.
        limits: `max_steps` and `timeout` of each episode.
        callbacks: Whom to tell.

    Raises:
        BaseException: What a worker or a record could not do, or what stopped the calling thread. Episodes that ran
            then have no result.
    """
    crew = _Crew(units, store, backend, attempts, limits or {})
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
    finally:
        backend.close()
    if failure is not None:
        raise failure
