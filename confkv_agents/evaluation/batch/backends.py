"""Where a batch's workers are: the seam between the loop of a batch and what plays its episodes.

`LocalBackend` plays in threads of this process, with one loaded model for all; `ray_backend.RayBackend` in processes of
a Ray cluster. Records are written by the process that runs the loop, whoever plays.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from confkv_agents.evaluation.episode import Environment, run_episode

if TYPE_CHECKING:
    from confkv_agents.evaluation.agents import Agent
    from confkv_agents.evaluation.batch.options import Unit
    from confkv_agents.evaluation.recording import EpisodeRecorder
    from confkv_agents.evaluation.records import EpisodeResult, StepRecord


class Station(Protocol):
    """What one worker plays with; used by one thread, but for `close`."""

    @property
    def env(self) -> Environment:
        """The environment, for one episode after the other."""

    def agent(self, policy: str) -> Agent:
        """The agent that plays under a policy."""

    def close(self) -> None:
        """End it, also from another thread while an episode runs; a second time does nothing."""


class Worker(Protocol):
    """Plays one episode after the other; used by one thread, but for `close`."""

    def play(
        self,
        unit: Unit,
        record: EpisodeRecorder,
        *,
        on_step: Callable[[StepRecord], None],
        check: Callable[[], None],
        **limits: Any,
    ) -> EpisodeResult:
        """Play one episode and keep it.

        Args:
            unit: What to play.
            record: Where steps and result are kept; closed when this returns or raises, unless the worker is lost.
            on_step: Called with each finished step.
            check: Called now and then; what it raises ends the episode without a result.
            limits: `max_steps` and `timeout`.

        Raises:
            WorkerLostError: The worker is gone. The record is left open, and this worker plays nothing more.
        """

    def close(self) -> None:
        """End it, also from another thread while an episode runs; a second time does nothing."""


class Backend(Protocol):
    """Makes workers."""

    def open_worker(self, check: Callable[[], None]) -> Worker:
        """Start a worker; called in the thread that is going to use it.

        Args:
            check: Called now and then while this waits; raises when nobody needs the worker any more.

        Raises:
            WorkerLostError: It was gone before it was ready; another one may do better.
            ConfKVError: It cannot be started.
        """

    def close(self) -> None:
        """End what the backend itself holds, once its workers are closed."""


class LocalBackend:
    """Workers in threads of this process.

    Args:
        open_station: Makes what one worker plays with; called in the worker's thread.
    """

    def __init__(self, open_station: Callable[[], Station]) -> None:
        self._open_station = open_station

    def open_worker(self, check: Callable[[], None]) -> Worker:
        """Open a station; it starts in seconds, so nothing is checked meanwhile."""
        return _StationWorker(self._open_station())

    def close(self) -> None:
        """Nothing is held."""


class _StationWorker:
    def __init__(self, station: Station) -> None:
        self._station = station

    def play(
        self,
        unit: Unit,
        record: EpisodeRecorder,
        *,
        on_step: Callable[[StepRecord], None],
        check: Callable[[], None],
        **limits: Any,
    ) -> EpisodeResult:
        return play_at(self._station, unit, record, on_step=on_step, check=check, **limits)

    def close(self) -> None:
        self._station.close()


def play_at(
    station: Station,
    unit: Unit,
    record: Any,
    *,
    on_step: Callable[[StepRecord], None],
    check: Callable[[], None],
    **limits: Any,
) -> EpisodeResult:
    """Play one episode at a station of this process; see `Worker.play`.

    Args:
        station: What to play with.
        unit: What to play.
        record: An `EpisodeRecorder`, or what takes its calls.
        on_step: Called with each finished step.
        check: Called before each phase of a step.
        limits: `max_steps` and `timeout`.
    """
    try:
        agent = station.agent(unit.policy)
    except BaseException:
        record.abandon("failed", traceback.format_exc())
        raise
    return run_episode(
        station.env,
        agent,
        unit.task,
        record,
        seed=unit.seed,
        on_step=on_step,
        on_phase=lambda _index, _phase: check(),
        **limits,
    )
