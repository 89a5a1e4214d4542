"""`tasks list` counts a benchmark's tasks and names them on demand; `tasks fetch` fetches its pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from confkv_agents import plugins
from confkv_agents.cli import main

MINIWOB = plugins.load_module(plugins.find_env("miniwob"), "envs.miniwob")


def test_the_list_says_how_many_tasks_a_benchmark_has_and_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MINIWOB, "missing", lambda: "fetch it first")
    assert main(["tasks", "list"]) == 0
    *others, last = capsys.readouterr().out.splitlines()
    assert last == (
        "miniwob/NAME  125 tasks of MiniWoB++; `confkv-agent tasks list miniwob` names them (fetch it first)"
    )
    assert not any(line.startswith("miniwob") for line in others)


def test_the_tasks_of_a_benchmark_are_listed_by_the_names_that_run_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "list", "miniwob"]) == 0
    names = capsys.readouterr().out.split()
    assert len(names) == 125 and "miniwob/click-button" in names
    assert plugins.find_task(names[0]).name == "ascending-numbers"


def test_fetch_fetches_and_refuses_what_is_no_benchmark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(progress: Any) -> Path:
        progress("downloading")
        return tmp_path

    monkeypatch.setattr(MINIWOB, "fetch", fetch)
    assert main(["tasks", "fetch", "miniwob"]) == 0
    said = capsys.readouterr()
    assert (said.out.strip(), said.err.strip()) == (str(tmp_path), "downloading")
    assert main(["tasks", "fetch", "shop"]) == 2
    assert "no benchmark 'shop': give one of these names: miniwob" in capsys.readouterr().err
