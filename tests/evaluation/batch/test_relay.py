"""An episode played in one place and recorded in another leaves the same files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from confkv_agents.errors import BrowserError, InfraError, WorkerLostError
from confkv_agents.evaluation.batch.callbacks import BatchCallback
from confkv_agents.evaluation.batch.options import Unit
from confkv_agents.evaluation.batch.relay import Message, Player, keep
from confkv_agents.evaluation.files import read_json
from tests.evaluation.batch.helpers import FakeStation, batch, units
from tests.evaluation.fakes import FakeEnv

Change = Callable[[Iterator[Message]], Iterator[Message]]


@pytest.fixture(autouse=True)
def _no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("memory_plot", "confidence_plot", "comparison_plot"):
        monkeypatch.setattr(f"confkv_agents.evaluation.plots.{name}", lambda *_, **__: None)
    for name in ("tradeoff_plot", "steps_plot"):
        monkeypatch.setattr(f"confkv_agents.evaluation.batch.plots.{name}", lambda *_, **__: None)
    monkeypatch.setattr("confkv_agents.evaluation.report._picture", lambda *_: None)
    monkeypatch.setattr("os.fsync", lambda _descriptor: None)


class Relayed:
    """A backend whose workers play behind a relay, in this process; `change` stands for what the way does."""

    def __init__(self, change: Change = lambda messages: messages, station: Any = FakeStation) -> None:
        self.change, self.station = change, station
        self.opened = self.closed = 0

    def open_worker(self, check: Callable[[], None]) -> Relayed.Worker:
        check()
        self.opened += 1
        return Relayed.Worker(self)

    def close(self) -> None:
        self.closed += 1

    class Worker:
        def __init__(self, backend: Relayed) -> None:
            self.backend, self.player = backend, Player(backend.station)
            self.player.open()

        def play(self, unit: Unit, record: Any, *, on_step: Any, check: Any, **limits: Any) -> Any:
            messages = self.backend.change(self.player.play(unit, limits))
            return keep(messages, record, on_step=on_step, check=check)

        def close(self) -> None:
            self.player.stop()


def files(folder: Path) -> dict[str, Any]:
    """Every file of the episodes, without what differs from one run to the next."""
    changing = {"started", "ended", "seconds", "memory", "peak_memory", "model", "total"}

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(entry) for key, entry in value.items() if key not in changing}
        return [plain(entry) for entry in value] if isinstance(value, list) else value

    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".png":
            found[name] = path.read_bytes()
        elif path.name == "episode.json":
            found[name] = plain(read_json(path))
        elif path.is_file():
            found[name] = len(path.read_text().splitlines()) if path.suffix == ".jsonl" else None
    return found


def test_a_relayed_batch_leaves_the_files_of_a_local_one(tmp_path: Path) -> None:
    asked = units()[:2]
    local = batch(tmp_path / "local", asked=asked)
    relayed = batch(tmp_path / "relayed", backend=Relayed(), asked=asked)
    assert files(local.directory) == files(relayed.directory)
    keys = ("task", "seed", "policy", "success", "steps", "peak_kv_bytes", "answer")
    assert [[row[key] for key in keys] for row in local.rows] == [[row[key] for key in keys] for row in relayed.rows]


def cut(times: int, after: int) -> tuple[Change, list[int]]:
    """A way that loses its worker after some messages, so many times."""
    lost: list[int] = []

    def change(messages: Iterator[Message]) -> Iterator[Message]:
        for number, message in enumerate(messages):
            if len(lost) < times and number == after:
                lost.append(number)
                raise WorkerLostError("its machine is gone")
            yield message

    return change, lost


def test_a_lost_workers_episode_is_played_again_by_another_worker(tmp_path: Path) -> None:
    change, lost = cut(times=1, after=4)
    backend = Relayed(change)
    results = batch(tmp_path, backend=backend)
    assert len(lost) == 1 and backend.opened == 2 and backend.closed == 1
    assert results.complete and all(row["success"] for row in results.rows)
    assert sorted(row["attempts"] for row in results.rows) == [1] * 7 + [2]
    first = results.directory / "full" / f"{units()[0].task.key}-seed0"
    record = read_json(first / "episode.json")["result"]
    assert (record["stop_reason"], record["error"]) == ("infra_error", "its machine is gone")
    assert record["steps"] == 1  # what had come over before: picture, step, on_step, picture


def test_an_episode_that_loses_every_worker_is_given_up_and_reported_apart(tmp_path: Path) -> None:
    change, lost = cut(times=2, after=0)
    results = batch(tmp_path, backend=Relayed(change), attempts=2, asked=units()[:1])
    assert len(lost) == 2 and not results.complete
    assert [(each["attempts"], each["error"]) for each in results.summary["infra_errors"]] == [
        (2, "its machine is gone")
    ]
    assert batch(tmp_path, backend=Relayed(), asked=units()[:1]).complete


def test_workers_that_are_lost_while_they_start_end_the_batch_at_the_third(tmp_path: Path) -> None:
    class Losing(Relayed):
        def open_worker(self, check: Callable[[], None]) -> Relayed.Worker:
            super().open_worker(check)
            if self.opened < 3 or self.always:
                raise WorkerLostError("no memory")
            return Relayed.Worker(self)

        always = False

    healing = Losing()
    assert batch(tmp_path / "a", backend=healing).complete and healing.opened == 3
    failing = Losing()
    failing.always = True
    with pytest.raises(WorkerLostError, match="no memory"):
        batch(tmp_path / "b", backend=failing)
    assert failing.opened == 3 and failing.closed == 1


def test_what_a_worker_raises_is_raised_and_its_episode_is_closed(tmp_path: Path) -> None:
    class NoAgent(FakeStation):
        def agent(self, policy: str) -> Any:
            raise BrowserError("the agent needs another browser")

    with pytest.raises(BrowserError, match="another browser"):
        batch(tmp_path, backend=Relayed(station=NoAgent))
    (record,) = (read_json(path) for path in tmp_path.glob("*/*/*/episode.json"))
    assert record["status"] == "failed" and "another browser" in record["traceback"]


def test_a_stopped_batch_leaves_relayed_episodes_without_a_result(tmp_path: Path) -> None:
    backend = Relayed()
    with pytest.raises(KeyboardInterrupt):
        batch(tmp_path, backend=backend, callbacks=[Stopping()])
    assert backend.closed == 1
    states = [read_json(path)["status"] for path in tmp_path.glob("*/*/*/episode.json")]
    assert "running" not in states
    assert batch(tmp_path, backend=Relayed()).complete


class Stopping(BatchCallback):
    """Ctrl-C at the first step of the third episode."""

    def on_step(self, unit: Unit, step: Any) -> None:
        if unit.key == units()[2].key:
            raise KeyboardInterrupt


def test_a_player_that_was_stopped_plays_no_further_step() -> None:
    stations: list[FakeStation] = []

    def station() -> FakeStation:
        stations.append(FakeStation())
        return stations[0]

    player = Player(station)
    player.open()
    messages = player.play(units()[0], {"max_steps": 5, "timeout": 60.0})
    player.stop()
    with pytest.raises(InfraError, match="stopped"):
        list(messages)
    assert stations[0].closed and stations[0].env.actions == []


def test_a_message_that_means_nothing_is_refused(tmp_path: Path) -> None:
    def change(messages: Iterator[Message]) -> Iterator[Message]:
        yield "unlink", ("all",)

    with pytest.raises(InfraError, match="'unlink'"):
        batch(tmp_path, backend=Relayed(change))


def test_a_step_that_the_environment_failed_is_tried_again_behind_a_relay(tmp_path: Path) -> None:
    station = lambda: FakeStation(make_env=lambda: FakeEnv(fail_at=1))  # noqa: E731
    results = batch(tmp_path, backend=Relayed(station=station), attempts=2, asked=units()[:1])
    assert [each["attempts"] for each in results.summary["infra_errors"]] == [2]
