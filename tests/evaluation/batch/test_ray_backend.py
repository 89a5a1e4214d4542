"""A batch on a Ray cluster of this machine: real tasks, sites and browsers, played by the oracle.

Ray is an extra that the other tests do without; docs/evaluation.md says how to run these.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.batch import BatchCallback, BatchOptions, Unit
from confkv_agents.evaluation.batch.running import run_batch
from confkv_agents.evaluation.batch.store import read_set
from confkv_agents.evaluation.files import read_json

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'confkv-agents[ray]'")
pytestmark = pytest.mark.browser

TASKS = ("shop/read_sku", "shop/past_order", "shop/registry_wishes", "shop/fox_shirt")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[str]:
    """A cluster with room for two workers; gives its address."""
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 * 2**20)
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()


def options(out: Path, **more: Any) -> BatchOptions:
    return BatchOptions(tasks=TASKS, agent="oracle", out=out, **{"backend": "ray", "workers": 2, **more})


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> dict[Any, int]:
    """Which process played which episode last."""
    from confkv_agents.evaluation.batch import ray_backend

    playing: dict[Any, int] = {}
    play = ray_backend._RayWorker.play

    def noted(self: Any, unit: Unit, *arguments: Any, **more: Any) -> Any:
        playing[unit.key] = self.process
        return play(self, unit, *arguments, **more)

    monkeypatch.setattr(ray_backend._RayWorker, "play", noted)
    return playing


def test_a_worker_that_is_killed_costs_one_more_try_and_all_land(tmp_path: Path, workers: dict[Any, int]) -> None:
    killed: list[tuple[Unit, int]] = []
    played: set[int] = set()

    class Killer(BatchCallback):
        def on_step(self, unit: Unit, step: Any) -> None:
            played.add(workers[unit.key])
            if not killed:
                killed.append((unit, workers[unit.key]))
                os.kill(workers[unit.key], signal.SIGKILL)

    results = run_batch(options(tmp_path), [Killer()])
    (unit, process) = killed[0]
    assert results.complete and all(row["success"] for row in results.rows) and len(results.rows) == len(TASKS)
    assert {row["task"]: row["attempts"] for row in results.rows if row["attempts"] > 1} == {unit.task.key: 2}
    assert workers[unit.key] != process and os.getpid() not in played and len(played) >= 2
    for row in results.rows:
        folder = results.directory / Path(row["link"]).parent
        names = {path.name for path in folder.iterdir()}
        assert {"episode.json", "steps.jsonl", "report.html", "final.png", "step-001.png"} <= names
    lost = read_json(results.directory / "episodes" / f"{unit.task.key}-seed{unit.seed}" / "episode.json")
    assert lost["result"]["stop_reason"] == "infra_error" and "the worker was lost" in lost["result"]["error"]


def test_interrupted_by_ctrl_c_it_leaves_no_process_and_the_same_command_continues(
    tmp_path: Path, cluster: str, workers: dict[Any, int]
) -> None:
    arguments = [word for task in TASKS for word in ("--tasks", task)]
    code = "import sys; from confkv_agents.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "eval", *arguments, "--agent", "oracle", "--out", str(tmp_path)]
    command += ["--backend", "ray", "--ray-address", cluster, "--workers", "2"]
    before = actors()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("1/4"):
                os.killpg(process.pid, signal.SIGINT)
                break
        process.stdout.read()
    assert process.returncode == 130
    deadline = time.monotonic() + 60
    while actors() - before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert actors() <= before
    content, rows = read_set(next(tmp_path.iterdir()))
    kept = {row["task"] for row in rows if row["success"]}
    assert content["status"] == "interrupted" and 1 <= len(kept) < 4
    results = run_batch(options(tmp_path))
    assert results.complete and all(row["attempts"] == 1 for row in results.rows)
    assert {key[0] for key in workers} == {row["task"] for row in results.rows} - kept


def actors() -> set[int]:
    """Processes of our actors on this machine."""
    import psutil

    found = set()
    for process in psutil.process_iter(["cmdline"]):
        if any(word.startswith("ray::_Actor") for word in process.info["cmdline"] or []):
            found.add(process.pid)
    return found


def test_a_worker_that_no_machine_has_room_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="wants 1 GPU and the cluster has 0 in all"):
        run_batch(options(tmp_path, ray_gpus=1.0))


def test_a_machine_with_other_files_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from confkv_agents.evaluation.batch import remote_station

    honest = remote_station.sources_of
    monkeypatch.setattr(remote_station, "sources_of", lambda *given: honest(*given) | {"version": "0"})
    with pytest.raises(ConfigError, match=r"other files than the machine that began this batch \(version\)"):
        run_batch(options(tmp_path, workers=1))
