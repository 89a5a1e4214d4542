"""An episode played in one process and recorded in another, step by step, with no disk in common.

The side that plays has a `Player`: its `play` yields what an `EpisodeRecorder` is to be told, as messages that any
transport can carry. The side that keeps the records applies them with `keep`. So what an interrupted worker played is
on disk up to its last step, and only one process ever writes.
"""

from __future__ import annotations

import queue
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from confkv_agents.errors import InfraError, WorkerLostError
from confkv_agents.evaluation.batch.backends import Station, play_at

if TYPE_CHECKING:
    from confkv_agents.evaluation.batch.options import Unit
    from confkv_agents.evaluation.recording import EpisodeRecorder
    from confkv_agents.evaluation.records import EpisodeResult, StepRecord

Message = tuple[str, tuple[Any, ...]]
"""What to call, and with what: a method of the record, or `on_step`."""
_OF_RECORD = ("asked", "picture", "step")


class PlayerStoppedError(InfraError):
    """The player was told to stop while it played."""


class Player:
    """Plays episodes at a station of its own, and tells of them instead of writing.

    The station is opened and used in one thread of the player's, whoever calls; `stop` may come from any.

    Args:
        open_station: Makes the station.
    """

    def __init__(self, open_station: Callable[[], Station]) -> None:
        self._open_station = open_station
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="confkv-player")
        self._station: Station | None = None
        self._stopped = False

    def open(self) -> None:
        """Open the station.

        Raises:
            ConfKVError: It cannot be opened.
        """
        self._station = self._thread.submit(self._open_station).result()

    def play(self, unit: Unit, limits: dict[str, Any]) -> Iterator[Message]:
        """Play one episode.

        Args:
            unit: What to play.
            limits: `max_steps` and `timeout`.

        Yields:
            What happens, as it happens; `finish` or `abandon` comes last.

        Raises:
            BaseException: What ended the episode without a result, after `abandon` was told.
        """
        told: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        playing = self._thread.submit(self._play, unit, _Relay(told), limits)
        playing.add_done_callback(lambda _done: told.put(None))
        while (message := told.get()) is not None:
            yield message
        playing.result()

    def stop(self) -> None:
        """End the station and whatever is played there; a second time does nothing."""
        self._stopped = True
        if self._station is not None:
            self._station.close()

    def _play(self, unit: Unit, relay: _Relay, limits: dict[str, Any]) -> None:
        if self._station is None:
            raise InfraError("the player has no station; call open() first")
        play_at(self._station, unit, relay, on_step=relay.on_step, check=self._check, **limits)

    def _check(self) -> None:
        if self._stopped:
            raise PlayerStoppedError("the player was stopped")


class _Relay:
    """Takes the calls of an `EpisodeRecorder`."""

    def __init__(self, told: queue.SimpleQueue[Message | None]) -> None:
        self._told = told

    def asked(self, intent: str) -> None:
        self._told.put(("asked", (intent,)))

    def picture(self, name: str, png: bytes) -> str:
        self._told.put(("picture", (name, png)))
        return name

    def step(self, *arguments: Any) -> None:
        self._told.put(("step", arguments))

    def on_step(self, step: StepRecord) -> None:
        self._told.put(("on_step", (step,)))

    def finish(self, result: EpisodeResult, trace: str | None = None) -> None:
        self._told.put(("finish", (result, trace)))

    def abandon(self, status: str, trace: str | None = None) -> None:
        self._told.put(("abandon", (status, trace)))


def keep(
    messages: Iterable[Message | None],
    record: EpisodeRecorder,
    *,
    on_step: Callable[[StepRecord], None],
    check: Callable[[], None],
) -> EpisodeResult:
    """Write an episode that a `Player` plays elsewhere; see `backends.Worker.play`.

    Args:
        messages: What the player tells; None where there was nothing new for a while.
        record: Where it is kept; closed when this returns or raises, unless the worker is lost.
        on_step: Called with each finished step.
        check: Called at each message; what it raises ends the episode without a result.

    Raises:
        WorkerLostError: As `messages` raised it, or they ended without a result.
    """
    abandoned = False
    try:
        for message in messages:
            check()
            if message is None:
                continue
            name, arguments = message
            if name == "finish":
                record.finish(*arguments)
                return arguments[0]
            if name == "abandon":
                record.abandon(*arguments)
                abandoned = True
            elif name == "on_step":
                on_step(*arguments)
            elif name in _OF_RECORD:
                getattr(record, name)(*arguments)
            else:
                raise InfraError(f"a worker told {name!r}, which is nothing to keep: is it of another version?")
    except WorkerLostError:
        raise
    except BaseException as error:
        if not abandoned:
            failed = isinstance(error, Exception)
            record.abandon("failed" if failed else "interrupted", traceback.format_exc() if failed else None)
        raise
    raise WorkerLostError("the worker ended the episode without a result")
