"""What a batch may be told, and what is refused before anything starts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from confkv_agents.cli import main
from confkv_agents.errors import ConfigError, ConfKVError, PluginError, TaskError
from confkv_agents.evaluation.agents import open_agent
from confkv_agents.evaluation.batch.kinds import kinds_of, length_of
from confkv_agents.evaluation.batch.options import BatchOptions, batch_tasks, merged, read_suite
from confkv_agents.evaluation.preparing import remarks_of
from confkv_agents.plugins import data_dir
from confkv_agents.web.tasks import load_tasks
from confkv_agents.web.tasks.models import Extension

SHOP = data_dir("tasks") / "shop"


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("a browser or a model was started")

    monkeypatch.setattr("confkv_agents.web.browser.Browser._ensure", refuse)
    monkeypatch.setattr("confkv_agents.engine.engine.Engine._submit", refuse)


def keys(*tasks: str) -> list[str]:
    return [task.key for task in batch_tasks(BatchOptions(tasks=tasks))]


def test_tasks_are_named_by_pattern_folder_path_or_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(SHOP / "read_sku.json", tmp_path / "own.json")
    monkeypatch.chdir(tmp_path)
    assert keys("own.json", "*.json", str(tmp_path)) == ["own"]
    assert keys("shop/read_sku", "tasks/shop/read_sk*.json") == ["read_sku"]
    assert len(keys("tasks/**/*.json")) > 40
    assert {"office_order", "same_colour", "sku_comment"} < set(keys("cross"))
    with pytest.raises(TaskError, match="fits no file"):
        keys("nowhere/*.json")
    with pytest.raises(PluginError, match="no task"):
        keys("shop/no_such_task")


def test_a_task_in_another_state_of_its_site_is_remarked_on() -> None:
    options = BatchOptions(tasks=("shop/read_sku",), agent="oracle")
    tasks = [load_tasks(SHOP / "read_sku.json")[0], load_tasks(SHOP / "read_sku.json")[0]]
    tasks[1] = tasks[1].model_copy(update={"extension": Extension()})  # holds in every state
    (own,) = {task.seed for task in tasks} - {None}
    agent = open_agent("oracle")
    assert remarks_of(options, agent, tasks) == remarks_of(options, agent, tasks, [own]) == []
    (remark,) = remarks_of(options, agent, tasks, [own, own + 1])
    assert remark.startswith(f"1 of 2 tasks were written for one state of their sites (read_sku for seed {own})")


def test_a_suite_file_holds_options_and_arguments_win(tmp_path: Path) -> None:
    shutil.copy(SHOP / "read_sku.json", tmp_path / "own.json")
    suite = tmp_path / "suite.toml"
    suite.write_text(
        'tasks = ["own.json", "shop/past_order"]\nseeds = [0, 1]\npolicies = ["full", "confkv"]\nbudget = 256\n'
    )
    options = merged(read_suite(suite), {"budget": 128, "agent": None})
    assert options.tasks == (str(tmp_path / "own.json"), "shop/past_order")
    assert (options.seeds, options.policies, options.budget, options.agent) == ((0, 1), "full,confkv", 128, "pilot")


def test_the_suite_that_comes_with_the_package_can_be_played_by_the_oracle() -> None:
    tasks = batch_tasks(merged(read_suite(data_dir("tasks") / "smoke.toml"), {"agent": "oracle"}))
    assert len({task.sites for task in tasks}) == 4 and all(task.oracle for task in tasks)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tasks = [", "no TOML"),
        ("taskz = []", "unknown key 'taskz'"),
        ("seeds = 3", "seeds must be a list"),
        ('seeds = ["a"]', "seeds must be a list"),
        ('budget = "512"', "budget is '512'; give int"),
        ("workers = true", "workers is True"),
        ("tasks = [1]", "tasks must be a list of texts"),
    ],
)
def test_a_wrong_suite_file_is_named_with_its_key(tmp_path: Path, text: str, problem: str) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text(text)
    with pytest.raises(ConfigError, match=problem) as caught:
        read_suite(suite)
    assert str(suite) in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "no task is given"),
        (["--tasks", "shop", "--seeds", "0,x"], "--seeds '0,x'"),
        (["--tasks", "shop", "--seeds", "1,1"], "one twice"),
        (["--tasks", "shop", "--seeds", "0,-1"], "seed"),
        (["--tasks", "shop", "--workers", "0"], "workers is 0"),
        (["--tasks", "shop", "--workers", "2", "--site", "shop=http://127.0.0.1:1"], "--workers 1"),
        (["--tasks", "shop", "--policies", "full,best"], "policy 'best' is unknown"),
        (["--tasks", "shop", "--policies", "confkv:colour=red"], "no setting of the cache"),
        (["--tasks", "shop", "--budget", "8"], "budget"),
        (["--tasks", "shop", "--agent", "nobody"], "no agent 'nobody'"),
        (["--tasks", "shop", "--agent", "oracle", "--trace"], "no cache to trace"),
        (["--tasks", "shop/*.json", "--model", "no/such/folder/x"], "no/such/folder/x"),
        (["--suite", "nowhere.toml"], "cannot be read"),
    ],
)
def test_bad_input_is_one_line_before_anything_starts(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], problem: str
) -> None:
    code = main(["eval", "--out", str(tmp_path / "out"), *arguments])
    error = capfd.readouterr().err
    assert code == 2 and problem in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_tasks_that_cannot_be_played_are_refused_or_left_out(tmp_path: Path) -> None:
    from confkv_agents.evaluation.batch.running import _check

    shutil.copy(SHOP / "read_sku.json", tmp_path / "good.json")
    content = (SHOP / "past_order.json").read_text().replace('"oracle"', '"near_miss"', 1)
    start = content.index('"near_miss"')
    content = content[:start] + content[start:].replace('"near_miss"', '"near_miss"', 1)
    unscripted = content[: content.index('"x_confkv"')].rstrip().rstrip(",") + "}"
    (tmp_path / "unscripted.json").write_text(unscripted)
    told = {"tasks": (str(tmp_path),), "agent": "oracle", "out": tmp_path / "out"}
    with pytest.raises(ConfKVError, match="--skip-unsupported"):
        _check(BatchOptions(**told))
    batch = _check(BatchOptions(**told, skip_unsupported=True))
    assert [task.key for task in batch.tasks] == ["good"] and "unscripted" in batch.left_out[0]


def test_kinds_and_lengths_follow_from_the_task_files() -> None:
    tasks = batch_tasks(BatchOptions(tasks=("tasks/**/*.json",)))
    found = {task.key: (kinds_of(task), length_of(task)) for task in tasks}
    assert found["read_sku"] == (["plain"], "short")
    assert found["serial_number"] == (["visual"], "short")
    assert found["same_colour"] == (["visual", "long-memory", "cross-site"], "medium")
    assert found["phone_relay"] == (["long-memory"], "long")
