"""The environment's benchmark: what its figures mean, and one small run in a browser."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.bench.browsing import DISTINCT, WINDOW, Played, spread, summarize
from confkv_agents.evaluation.bench.commands import bench_app
from confkv_agents.plugins import find_task
from confkv_agents.web.tasks import Task, load_tasks


def played(site: str, steps: list[float], memory: int = 100, **changes) -> Played:
    given = {"task": "t", "success": True, "stop_reason": "stop", "begin_s": 0.5}
    return Played(site=site, step_s=steps, memory=memory, **given | changes)


def test_steps_are_told_by_site():
    found = [
        played("shopping", [0.1, 0.3]),
        played("shopping", [0.2], begin_s=0.7),
        played("reddit+shopping", [1.0]),
        played("shopping", [], success=None, stop_reason="infra_error", begin_s=9.0),
    ]
    summary = summarize(found, left=2)
    assert summary["sites"]["shopping"] == {"steps": 3, "step_ms": 200.0, "step_p90_ms": 300.0, "begin_ms": 700.0}
    assert summary["sites"]["reddit+shopping"]["step_ms"] == 1000.0
    assert (summary["episodes"], summary["succeeded"], summary["infra_errors"], summary["left"]) == (4, 3, 1, 2)
    assert summary["memory"] is None


@pytest.mark.parametrize(("last", "flat"), [(105, True), (106, False), (90, True)])
def test_memory_is_flat_when_the_last_episodes_hold_at_most_a_twentieth_more(last: int, flat: bool):
    middle = [played("shopping", [0.1], memory=500)] * 7
    found = [played("shopping", [0.1])] * WINDOW + middle + [played("shopping", [0.1], memory=last)] * WINDOW
    memory = summarize(found, 0)["memory"]
    assert memory == {"first": 100, "last": last, "ratio": last / 100, "flat": flat}


def test_episodes_that_warm_up_are_not_weighed():
    found = [played("shopping", [0.1], memory=memory) for memory in [5, 7] + [100] * (2 * WINDOW)]
    assert summarize(found, 0, warm_up=2)["memory"]["ratio"] == 1
    assert summarize(found, 0, warm_up=3)["memory"] is None
    assert summarize(found, 0, warm_up=2)["episodes"] == 2 * WINDOW + 2


def task(number: int, oracle: bool = True) -> Task:
    own = {"x_confkv": {"oracle": [{"action": "stop", "answer": "x"}]}} if oracle else {}
    return Task.read(
        {
            "sites": ["shopping"],
            "task_id": number,
            "intent": "x",
            "start_url": "__SHOPPING__",
            "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "x"}},
        }
        | own
    )


def test_tasks_are_taken_evenly_and_only_those_with_a_script():
    tasks = [task(number, number % 2 == 0) for number in range(20)]
    assert [each.task_id for each in spread(tasks, 4)] == [0, 4, 10, 14]
    assert [each.task_id for each in spread(tasks, 99)] == list(range(0, 20, 2))
    assert WINDOW % DISTINCT == 0
    with pytest.raises(ConfigError, match="none of the tasks has a scripted solution"):
        spread(tasks[1:2])


@pytest.mark.browser
def test_a_small_run_ends_with_its_figures_and_leaves_no_process(tmp_path):
    file = str(find_task("shop/read_sku"))
    shown = CliRunner().invoke(bench_app, ["env", "--tasks", file, "--episodes", "1", "--bare", "--out", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    (folder,) = tmp_path.iterdir()
    summary = json.loads((folder / "result.json").read_text())
    (task,) = load_tasks(file)
    assert (summary["succeeded"], summary["infra_errors"], summary["left"]) == (2, 0, 0)
    assert summary["sites"]["shopping"]["steps"] == 2 * len(task.oracle)
    rows = [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]
    assert [row["task"] for row in rows] == ["read_sku", "read_sku"] and all(row["memory"] > 50e6 for row in rows)
    assert "shopping" in shown.output and "infra errors" in shown.output
