"""Agents, sites and tasks are found by path or name and loaded without touching sys.path."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from confkv_agents import plugins
from confkv_agents.errors import PluginError


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "checkout" / "confkv_agents"
    root = package.parent
    for file in (
        "agents/solo.py",
        "agents/_private.py",
        "envs/market/site.py",
        "envs/market/goods.py",
        "envs/bench.py",
        "tasks/market/buy.json",
        "tasks/market/deep/sell.json",
    ):
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}" if path.suffix == ".json" else "VALUE = 1\n")
    package.mkdir()
    monkeypatch.setattr(plugins, "_PACKAGE", package)
    monkeypatch.chdir(tmp_path)
    return root


def test_data_dir_prefers_the_wheels_folder_over_the_checkouts(data: Path) -> None:
    assert plugins.data_dir("agents") == data / "agents"
    packed = data / "confkv_agents" / "_data" / "agents"
    packed.mkdir(parents=True)
    assert plugins.data_dir("agents") == packed


def test_data_dir_refuses_an_unknown_kind() -> None:
    with pytest.raises(PluginError, match="agents, envs, tasks"):
        plugins.data_dir("robots")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["market/buy", "market/buy.json", "tasks/market/buy", "tasks/market/buy.json", "./market/buy"]
)
def test_every_form_of_a_task_name_resolves(data: Path, name: str) -> None:
    assert plugins.find_task(name) == data / "tasks" / "market" / "buy.json"


@pytest.mark.parametrize(
    ("find", "words"),
    [
        (plugins.find_task, "not a file that ends in .json, as a task is: .* market/buy"),
        (plugins.find_agent, "not a file that ends in .py, as an agent is: .* solo"),
        (plugins.find_env, "not a folder that holds site.py, as a site is: .* market"),
    ],
)
def test_a_path_to_something_else_is_not_called_missing(data: Path, find: Callable[[str], Path], words: str) -> None:
    (data / "folder").mkdir()
    (data / "notes.txt").touch()
    for path in ("folder", "notes.txt"):
        with pytest.raises(PluginError, match=words):
            find(str(data / path))


def test_agent_and_site_resolve_by_name(data: Path) -> None:
    assert plugins.find_agent("solo") == plugins.find_agent("agents/solo.py") == data / "agents" / "solo.py"
    assert plugins.find_env("market") == plugins.find_env("envs/market") == data / "envs" / "market"
    assert plugins.find_env("bench") == data / "envs" / "bench.py"


def test_path_as_given_wins_over_a_name(data: Path, tmp_path: Path) -> None:
    own = tmp_path / "market" / "buy.json"
    own.parent.mkdir()
    own.write_text("{}")
    assert plugins.find_task("market/buy.json") == own
    assert plugins.find_task(own) == own


def test_folder_of_the_same_name_in_the_working_directory_does_not_hide_a_plugin(data: Path, tmp_path: Path) -> None:
    (tmp_path / "market").mkdir()
    (tmp_path / "solo.py").mkdir()
    assert plugins.find_env("market") == data / "envs" / "market"
    assert plugins.find_agent("solo.py") == data / "agents" / "solo.py"


@pytest.mark.parametrize("name", ["market/steal", "", ".", "tasks", "market", "../agents/solo.py", "/nowhere.json"])
def test_missing_task_is_refused_with_the_names_that_exist(data: Path, name: str) -> None:
    with pytest.raises(PluginError, match=r"task .*market/buy, market/deep/sell"):
        plugins.find_task(name)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("market/task_03x", "a name such as market/task_03, "),
        ("taks_03.json", "a name such as market/task_03, "),
        ("tasks/market/by", "a name such as market/buy, "),
        ("xyz", "or a name; "),
        ("", "or a name; "),
        (".", "or a name; "),
    ],
)
def test_of_many_tasks_only_those_like_the_one_wanted_are_named(data: Path, name: str, words: str) -> None:
    for number in range(10, 0, -1):
        (data / "tasks" / "market" / f"task_{number:02}.json").write_text("{}")
    with pytest.raises(PluginError) as caught:
        plugins.find_task(name)
    message = str(caught.value)
    assert words in message and "`confkv-agent tasks list` shows all 12 names" in message
    assert message.partition("give a path")[2].count("market/") <= 3


def test_name_does_not_leave_the_data_folder(data: Path) -> None:
    (data / "secret.json").write_text("{}")
    with pytest.raises(PluginError, match="no task"):
        plugins.find_task("../secret")


def test_available_lists_public_names_only(data: Path) -> None:
    assert plugins.available("agents") == ["solo"]
    assert plugins.available("envs") == ["bench", "market"]


def test_module_loads_neighbours_relatively_and_leaves_sys_path_alone(data: Path) -> None:
    site = data / "envs" / "market" / "site.py"
    site.write_text("from .goods import VALUE\nDOUBLE = 2 * VALUE\n")
    before = list(sys.path)
    module = plugins.load_module(site.parent, "envs.relative-market")
    assert module.DOUBLE == 2
    assert module.__name__ == "confkv_agents._plugins.envs.relative_market"
    assert sys.path == before
    assert "goods" not in sys.modules and "envs" not in sys.modules
    assert plugins.load_module(site, "envs.relative-market") is module


def test_two_files_of_one_name_are_two_modules(data: Path, tmp_path: Path) -> None:
    other = tmp_path / "solo.py"
    other.write_text("VALUE = 2\n")
    first = plugins.load_module(data / "agents" / "solo.py", "agents.twins")
    second = plugins.load_module(other, "agents.twins")
    assert (first.VALUE, second.VALUE) == (1, 2)
    assert plugins.load_module(other, "agents.twins") is second


def test_failing_module_raises_plugin_error_and_can_be_loaded_after_repair(data: Path) -> None:
    agent = data / "agents" / "solo.py"
    agent.write_text("import a_package_nobody_has\n")
    with pytest.raises(PluginError, match=r"solo\.py: ModuleNotFoundError: .*a_package_nobody_has") as caught:
        plugins.load_module(agent, "agents.repaired")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    assert "confkv_agents._plugins.agents.repaired" not in sys.modules
    agent.write_text("VALUE = 'repaired'\n")
    assert plugins.load_module(agent, "agents.repaired").VALUE == "repaired"


def test_syntax_error_in_a_plugin_names_the_file(data: Path) -> None:
    agent = data / "agents" / "solo.py"
    agent.write_text("def broken(:\n")
    with pytest.raises(PluginError, match=r"solo\.py: SyntaxError"):
        plugins.load_module(agent, "agents.broken")


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="no such file"):
        plugins.load_module(tmp_path / "gone.py", "agents.gone")


def test_code_in_the_working_folder_does_not_take_an_installed_names_place(data: Path, tmp_path: Path) -> None:
    (tmp_path / "market").mkdir()
    (tmp_path / "market" / "site.py").write_text("VALUE = 2\n")
    assert plugins.find_env("market") == data / "envs" / "market"
    assert plugins.find_env("./market") == tmp_path / "market"
