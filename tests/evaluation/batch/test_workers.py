"""A batch plays everything once, whatever interrupts it."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from confkv_agents.errors import BrowserError, ConfigError, RecordError
from confkv_agents.evaluation.batch.callbacks import BatchCallback
from confkv_agents.evaluation.batch.options import Unit
from confkv_agents.evaluation.batch.store import read_set
from confkv_agents.evaluation.files import read_json, read_json_lines
from tests.evaluation.batch.helpers import FakeStation, batch, store_in, units
from tests.evaluation.fakes import FakeEnv


@pytest.fixture(autouse=True)
def _no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plots take longer than everything else here."""
    for name in ("memory_plot", "confidence_plot", "comparison_plot"):
        monkeypatch.setattr(f"confkv_agents.evaluation.plots.{name}", lambda *_, **__: None)
    for name in ("tradeoff_plot", "steps_plot"):
        monkeypatch.setattr(f"confkv_agents.evaluation.batch.plots.{name}", lambda *_, **__: None)
    monkeypatch.setattr("confkv_agents.evaluation.report._picture", lambda *_: None)
    monkeypatch.setattr("os.fsync", lambda _descriptor: None)  # nobody pulls the plug here


class Killed(BaseException):
    """The process is gone: from here on nothing is written."""


class Heard(BatchCallback):
    def __init__(self) -> None:
        self.events: list[str] = []
        self.begun: Counter[tuple[Any, ...]] = Counter()

    def on_start(self, info: Any) -> None:
        self.events.append(f"start {len(info.rows)} of {info.total}")

    def on_episode_start(self, unit: Unit, attempt: int) -> None:
        self.begun[unit.key] += 1
        self.events.append(f"begin {unit.name} {attempt}")

    def on_step(self, unit: Unit, step: Any) -> None:
        self.events.append(f"step {step.index}")

    def on_episode_end(self, unit: Unit, row: Any, final: bool) -> None:
        self.events.append(f"end {unit.name} {row['success']} {final}")

    def on_end(self, results: Any) -> None:
        self.events.append(f"over {len(results.rows)}")


@pytest.mark.parametrize("workers", [1, 3])
def test_every_unit_is_played_once_and_has_a_row_and_a_page(tmp_path: Path, workers: int) -> None:
    heard = Heard()
    results = batch(tmp_path, callbacks=[heard], workers=workers)
    assert set(heard.begun.values()) == {1}
    assert [(row["task"], row["seed"], row["policy"]) for row in results.rows] == [
        (unit.task.key, unit.seed, unit.policy) for unit in units()
    ]
    assert results.complete and all(row["success"] for row in results.rows)
    assert all((results.directory / row["link"]).is_file() for row in results.rows)
    assert heard.events[0] == "start 0 of 8" and heard.events[-1] == "over 8"
    assert heard.events.count("step 3") == 8


def test_each_worker_opens_a_station_of_its_own_and_closes_it(tmp_path: Path) -> None:
    opened: list[FakeStation] = []

    def station() -> FakeStation:
        opened.append(FakeStation())
        return opened[-1]

    batch(tmp_path, station, workers=2)
    assert len(opened) == 2 and all(each.closed for each in opened)
    assert sum(len(each.played) for each in opened) == 8


def test_a_finished_set_plays_nothing_again_and_more_seeds_join_it(tmp_path: Path) -> None:
    first = batch(tmp_path)
    heard = Heard()
    again = batch(tmp_path, callbacks=[heard])
    assert heard.begun == Counter() and again.rows == first.rows and again.directory == first.directory
    more = batch(tmp_path, callbacks=[heard], asked=units(seeds=(0, 1, 2)))
    assert len(heard.begun) == 4 and len(more.rows) == 12


def test_another_configuration_is_another_set(tmp_path: Path) -> None:
    assert store_in(tmp_path, budget=256).directory != store_in(tmp_path).directory
    assert store_in(tmp_path / "a").directory.name == store_in(tmp_path).directory.name


@pytest.mark.parametrize("after", sorted(random.Random(6).sample(range(1, 110), 6)))
def test_killed_at_any_write_it_loses_the_running_episodes_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    written, replace = 0, Path.replace

    def dying(self: Path, target: Path) -> Path:
        nonlocal written
        written += 1
        if written > after:
            raise Killed
        return replace(self, target)

    workers = 1 + after % 2
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Path, "replace", dying)
        batch(tmp_path, workers=workers)
    ledgers = list(tmp_path.glob("*/*/episodes.jsonl"))
    kept = {(row["task"], row["seed"], path.parent.name) for path in ledgers for row in read_json_lines(path)}
    heard = Heard()
    results = batch(tmp_path, callbacks=[heard], workers=workers)
    replayed = {(key[0], key[2], key[3]) for key in heard.begun}
    assert not replayed & kept and len(replayed) + len(kept) == 8
    assert len(results.rows) == 8 and results.complete
    assert all(row["attempts"] == 1 for row in results.rows)
    assert len(list(tmp_path.iterdir())) == 1
    states = Counter(read_json(path)["status"] for path in tmp_path.glob("*/*/*/episode.json"))
    assert states.pop("finished") >= 8 and set(states) <= {"interrupted"} and states.total() <= workers


def test_ctrl_c_leaves_running_episodes_without_a_result_and_the_rest_for_later(tmp_path: Path) -> None:
    class Stop(BatchCallback):
        def on_step(self, unit: Unit, step: Any) -> None:
            if unit.key == units()[3].key:
                raise KeyboardInterrupt

    heard = Heard()
    with pytest.raises(KeyboardInterrupt):
        batch(tmp_path, callbacks=[heard, Stop()])
    folder = next(tmp_path.iterdir())
    content, rows = read_set(folder)
    assert content["status"] == "interrupted" and 3 <= len(rows) < 8
    assert heard.events[-1] == f"over {len(rows)}" and (folder / "report.html").is_file()
    assert batch(tmp_path).complete


def test_infra_errors_are_tried_again_bounded_and_reported_apart(tmp_path: Path) -> None:
    heard = Heard()
    results = batch(tmp_path, lambda: FakeStation(make_env=lambda: FakeEnv(fail_at=1)), [heard], attempts=3)
    assert set(heard.begun.values()) == {3}
    assert all(row["success"] is None and row["attempts"] == 3 for row in results.rows)
    assert not results.complete and len(results.summary["infra_errors"]) == 8
    assert results.summary["policies"]["full"]["judged"] == 0
    healed = batch(tmp_path)
    assert healed.complete and healed.summary["infra_errors"] == []
    assert all(row["attempts"] == 4 for row in healed.rows)


def test_a_failure_that_passes_costs_one_more_try(tmp_path: Path) -> None:
    failures = [True, False]

    def env() -> FakeEnv:
        class Flaky(FakeEnv):
            def reset(self, *args: Any, **kwargs: Any) -> Any:
                self.fail_reset = bool(failures) and failures.pop(0)
                return super().reset(*args, **kwargs)

        return Flaky()

    heard = Heard()
    results = batch(tmp_path, lambda: FakeStation(make_env=env), [heard])
    assert results.complete and sorted(heard.begun.values()) == [1] * 7 + [2]


def test_a_callback_that_fails_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(BatchCallback):
        def on_step(self, unit: Unit, step: Any) -> None:
            raise RuntimeError("no connection")

    assert batch(tmp_path, callbacks=[Broken()]).complete
    assert "Broken.on_step failed" in caplog.text


def test_a_station_that_does_not_open_ends_the_batch_with_its_error(tmp_path: Path) -> None:
    def station() -> FakeStation:
        raise BrowserError("no Chromium was found")

    with pytest.raises(BrowserError, match="no Chromium"):
        batch(tmp_path, station, workers=2)
    assert batch(tmp_path).complete


def test_two_processes_do_not_work_on_one_set(tmp_path: Path) -> None:
    with store_in(tmp_path), pytest.raises(ConfigError, match="another process"):
        batch(tmp_path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="file"):
        batch(tmp_path / "file")
