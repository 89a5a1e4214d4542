"""The site of MiniWoB++: what it serves, what it keeps of an episode, and what it says where the pages are missing."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from confkv_agents import plugins
from confkv_agents.errors import PluginError, SiteError, TaskError, WheelError
from confkv_agents.evaluation.batch.options import BatchOptions, batch_tasks
from confkv_agents.web.benchmarks import benchmark_at, find_benchmark
from confkv_agents.web.sites import SiteServer, installed_sites
from confkv_agents.web.tasks import load_tasks

MINIWOB = plugins.load_module(plugins.find_env("miniwob"), "envs.miniwob")
GAMES_OF_TIMING = {"button-delay", "chase-circle", "hover-shape", "moving-items", "simon-says"}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    MINIWOB.fetch()
    with TestClient(MINIWOB.create_app(Path("unused"), 7)) as client:
        yield client


@pytest.fixture
def episode(client: TestClient) -> TestClient:
    assert client.post("/__reset__", json={"seed": 7}).status_code == 204
    return client


def tell(client: TestClient, **what: Any) -> dict[str, Any]:
    assert client.post("/__report__", json=what).status_code == 204
    state: dict[str, Any] = client.get("/__state__").json()
    return state


def test_the_tasks_are_the_pages_of_the_wheel_without_the_games_of_timing() -> None:
    MINIWOB.fetch()
    pages = {name for name in MINIWOB._read_files() if name.startswith("miniwob/") and name.endswith(".html")}
    assert {f"miniwob/{name}.html" for name in [*MINIWOB.NAMES, *GAMES_OF_TIMING]} == pages
    assert len(MINIWOB.NAMES) == len(set(MINIWOB.NAMES)) == 125


def test_pages_are_served_unchanged_and_their_common_script_with_the_harness_and_the_seed(episode: TestClient) -> None:
    files = MINIWOB._read_files()
    page = episode.get("/miniwob/click-button.html")
    assert page.content == files["miniwob/click-button.html"] and page.headers["content-type"].startswith("text/html")
    script = episode.get("/core/core.js")
    assert script.content.startswith(files["core/core.js"]) and "const seed = 7, task" in script.text
    assert script.headers["cache-control"] == "no-store"
    episode.post("/__reset__", json={"seed": -12})
    assert "const seed = -12, task" in episode.get("/core/core.js").text


@pytest.mark.parametrize(
    "path",
    [
        "/../../miniwob/environment.py",
        "/..%2f..%2fenvironment.py",
        "/%2e%2e/%2e%2e/environment.py",
        "/miniwob/../../__init__.py",
        "//etc/passwd",
        "/core/..%5c..%5cenvironment.py",
        "/miniwob",
        "/",
    ],
)
def test_nothing_but_the_pages_is_served(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_an_episode_is_what_its_first_page_tells_and_its_first_verdict_counts(episode: TestClient) -> None:
    before = tell(episode, task="click-test", reward=1.0)  # a verdict before the page has begun
    assert before == {
        "seed": 7, "task": None, "intent": "", "fields": {}, "over": False, "reward": 0.0, "reason": None,
    }  # fmt: skip
    assert tell(episode, task="click-test", intent="Click the button.")["intent"] == "Click the button."
    assert not tell(episode, task="other", reward=1)["over"]
    over = tell(episode, task="click-test", reward=-1, reason="wrong")
    assert (over["over"], over["reward"], over["reason"]) == (True, -1.0, "wrong")
    assert tell(episode, task="click-test", reward=1)["reward"] == -1.0
    assert tell(episode, task="click-test", intent="Again")["intent"] == "Click the button."
    episode.post("/__reset__", json={"seed": 8})
    assert episode.get("/__state__").json()["task"] is None


@pytest.mark.parametrize("body", ["[1]", "no json", "x" * 200_000, '{"seed": "7"}', '{"seed": true}'])
def test_what_makes_no_sense_changes_nothing(episode: TestClient, body: str) -> None:
    before = episode.get("/__state__").json()
    episode.post("/__report__", content=body)
    episode.post("/__reset__", content=body)
    assert episode.get("/__state__").json() == before


def test_pages_that_were_not_fetched_are_told_with_the_command_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONFKV_HOME", str(tmp_path))
    monkeypatch.setattr(MINIWOB, "_installed", lambda: None)
    words = "pages of MiniWoB.. have not been fetched .*: run `confkv-agent tasks fetch miniwob` once"
    (task,) = load_tasks(plugins.find_task("miniwob/click-test"))
    with pytest.raises(TaskError, match=words):
        task.require_supported()
    with pytest.raises(SiteError, match=words):
        SiteServer("miniwob").start()
    MINIWOB.WHEEL.path.parent.mkdir()
    MINIWOB.WHEEL.path.write_bytes(b"half")
    assert task.unsupported == ()
    with pytest.raises(WheelError, match="is damaged: run `confkv-agent tasks fetch miniwob` again"):
        MINIWOB.create_app(tmp_path, 0)


def test_an_installed_package_serves_as_well_as_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MINIWOB.fetch()
    from_wheel = MINIWOB._read_files()
    if MINIWOB._installed() is None:
        with zipfile.ZipFile(MINIWOB.WHEEL.path) as wheel:
            wheel.extractall(tmp_path)
        monkeypatch.setattr(MINIWOB, "_installed", lambda: tmp_path / "miniwob")
    assert MINIWOB.fetch() == MINIWOB._installed()
    assert MINIWOB._read_files() == from_wheel


def test_tasks_have_names_of_their_own_and_patterns() -> None:
    (task,) = load_tasks(plugins.find_task("miniwob/click-button"))
    assert (task.key, task.start_urls, task.sites) == (
        "miniwob:click-button",
        ("__MINIWOB__/miniwob/click-button.html",),
        ("miniwob",),
    )
    assert plugins.find_task("tasks/miniwob/click-button") == plugins.find_task("miniwob/click-button")
    assert len(load_tasks(plugins.find_task("miniwob"))) == 125
    keys = [each.key for each in batch_tasks(BatchOptions(tasks=("miniwob/click-tab*", "miniwob/click-test")))]
    assert keys == [
        f"miniwob:click-{name}" for name in ("tab", "tab-2", "tab-2-easy", "tab-2-hard", "tab-2-medium", "test")
    ]
    assert installed_sites()["miniwob"].placeholder == "__MINIWOB__"
    assert benchmark_at(plugins.find_env("shop")) is None


@pytest.mark.parametrize("name", ["miniwob/click-buton", "miniwob/zzz*"])
def test_unknown_names_are_refused_with_those_like_them(name: str) -> None:
    with pytest.raises(TaskError, match=r"no task miniwob/.*one of the 125 names.*`confkv-agent tasks list miniwob`"):
        load_tasks(plugins.find_task(name))
    with pytest.raises(PluginError, match="no task 'miniwob/a/b'"):
        plugins.find_task("miniwob/a/b")
    with pytest.raises(PluginError, match="no benchmark 'shop': give one of these names: miniwob"):
        find_benchmark("shop")
