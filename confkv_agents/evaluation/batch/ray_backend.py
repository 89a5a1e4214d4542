"""Workers in processes of a Ray cluster: each an actor that holds a model, a browser and sites.

Actors only play. What they play comes back to the process that began the batch as a stream of messages (see `relay`),
which writes it into the same files as a batch of one machine: the machines need no disk in common. An actor that is
gone is not restarted by Ray; the loop of the batch opens another one and plays the episode again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import ray
from ray import exceptions

from confkv_agents.errors import ConfigError, ConfKVError, InfraError, WorkerLostError
from confkv_agents.evaluation.batch.backends import Station, Worker
from confkv_agents.evaluation.batch.relay import Message, Player, keep

if TYPE_CHECKING:
    from confkv_agents.evaluation.batch.options import Unit
    from confkv_agents.evaluation.recording import EpisodeRecorder
    from confkv_agents.evaluation.records import EpisodeResult, StepRecord

_TICK_S = 0.5
_PATIENCE_S = 10.0
_STORE_BYTES = 256 * 2**20  # of a cluster started here; what is in it at a time are a few screenshots
_CALLS_AT_A_TIME = 2  # an episode, and `stop` beside it
_LOST = (exceptions.RayActorError, exceptions.ObjectLostError, exceptions.OutOfMemoryError)


class RayBackend:
    """Makes workers on a cluster; connects to it, or starts one on this machine.

    Args:
        open_station: Makes a worker's station in its process; sent there, so its parts must be plain values.
        workers: How many there are to be; a cluster that is started here has room for them.
        address: `host:port` or `auto`; None is the variable RAY_ADDRESS, else a cluster of this machine's own.
        cpus: Processors per worker, of those that the cluster counts.
        gpus: GPUs per worker.

    Raises:
        ConfigError: There is no cluster at this address, or it has no room for one worker.
    """

    def __init__(
        self,
        open_station: Callable[[], Station],
        *,
        workers: int = 1,
        address: str | None = None,
        cpus: float = 1.0,
        gpus: float = 0.0,
    ) -> None:
        self._ours = not ray.is_initialized()
        if self._ours:
            _connect(address or os.environ.get("RAY_ADDRESS") or "local", workers, cpus)
        try:
            _require_room(cpus, gpus)
            self._sent = ray.put(open_station)
        except BaseException:
            self.close()
            raise
        self._actors = ray.remote(
            num_cpus=cpus, num_gpus=gpus, max_restarts=0, max_task_retries=0, max_concurrency=_CALLS_AT_A_TIME
        )(_Actor)

    def open_worker(self, check: Callable[[], None]) -> Worker:
        """Start an actor and its station; waits until the cluster has room for it."""
        check()
        worker = _RayWorker(self._actors.remote(self._sent))
        try:
            worker.open(check)
        except BaseException:
            worker.close()
            raise
        return worker

    def close(self) -> None:
        """Leave the cluster, which ends one that was started here; not if the caller was connected before."""
        if self._ours:
            ray.shutdown()


class _Actor:
    """A player in a process of the cluster."""

    def __init__(self, open_station: Callable[[], Station]) -> None:
        self._player = Player(open_station)

    def open(self) -> int:
        """Open the station; returns the process's id."""
        self._player.open()
        return os.getpid()

    def play(self, unit: Unit, limits: dict[str, Any]) -> Iterator[Message]:
        yield from self._player.play(unit, limits)

    def stop(self) -> None:
        self._player.stop()


class _RayWorker:
    """An actor, seen from the thread that gives it episodes."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor
        self._closed = False
        self.process: int | None = None

    def open(self, check: Callable[[], None]) -> None:
        """Wait until the station is open."""
        opened = self._actor.open.remote()
        while not ray.wait([opened], timeout=_TICK_S)[0]:
            check()
        with _own_errors():
            self.process = ray.get(opened)

    def play(
        self,
        unit: Unit,
        record: EpisodeRecorder,
        *,
        on_step: Callable[[StepRecord], None],
        check: Callable[[], None],
        **limits: Any,
    ) -> EpisodeResult:
        """Play one episode there and keep it here; see `backends.Worker.play`."""
        return keep(self._messages(unit, limits), record, on_step=on_step, check=check)

    def close(self) -> None:
        """End the station in order if it answers, then the process."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(exceptions.RayError):
            ray.wait([self._actor.stop.remote()], timeout=_PATIENCE_S)
        with contextlib.suppress(exceptions.RayError):
            ray.kill(self._actor)

    def _messages(self, unit: Unit, limits: dict[str, Any]) -> Iterator[Message | None]:
        """What the actor tells, and None where it told nothing for a moment."""
        with _own_errors():
            told = self._actor.play.options(num_returns="streaming").remote(unit, limits)
            while True:
                if not ray.wait([told], timeout=_TICK_S)[0]:
                    yield None
                    continue
                try:
                    reference = next(told)
                except StopIteration:
                    return
                yield ray.get(reference)


@contextlib.contextmanager
def _own_errors() -> Iterator[None]:
    """Raise what Ray raises as what it is here: a lost worker, or the error that the worker had."""
    try:
        yield
    except _LOST as error:
        raise WorkerLostError(f"the worker was lost: {_line(error)}") from error
    except exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, ConfKVError):
            raise cause from None
        raise InfraError(f"a worker failed: {type(cause).__name__}: {_line(cause)}") from error
    except exceptions.RayError as error:
        raise InfraError(f"Ray failed: {type(error).__name__}: {_line(error)}") from error


def _connect(address: str, workers: int, cpus: float) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
    if address == "local":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        room = max(os.cpu_count() or 1, -int(-workers * cpus // 1))
        ray.init("local", num_cpus=room, object_store_memory=_STORE_BYTES, include_dashboard=False, **quiet)
        return
    try:
        ray.init(address, **quiet)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        raise ConfigError(f"there is no Ray cluster at {address}: {_line(error)}") from error


def _require_room(cpus: float, gpus: float) -> None:
    has = ray.cluster_resources()
    for name, wanted in (("CPU", cpus), ("GPU", gpus)):
        if wanted > has.get(name, 0.0):
            raise ConfigError(
                f"a worker wants {wanted:g} {name} and the cluster has {has.get(name, 0.0):g} in all; "
                f"lower --ray-{name.lower()}s"
            )


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
