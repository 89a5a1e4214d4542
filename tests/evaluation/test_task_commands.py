"""`confkv-agent tasks check` tells what tasks need; `run` and `eval` refuse what is not there before they start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from confkv_agents.cli import main


@pytest.fixture
def file(tmp_path: Path) -> Path:
    def task(number: int, **fields: Any) -> dict[str, Any]:
        return {"sites": ["shopping"], "task_id": number, "intent": "x", "start_url": "__SHOPPING__"} | fields

    def answer(**references: Any) -> dict[str, Any]:
        return {"eval_types": ["string_match"], "reference_answers": references}

    path = tmp_path / "mine.json"
    tasks = [
        task(0, eval=answer(exact_match="x")),
        task(1, eval=answer(fuzzy_match=["x"])),
        task(2, eval=answer(fuzzy_match="N/A"), sites=["gitlab"], storage_state="no.json"),
    ]
    path.write_text(json.dumps(tasks))
    return path


def checked(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["tasks", "check", *arguments]) == 0
    return " ".join(capfd.readouterr().out.split())


def test_needs_and_reasons_are_counted(capfd: pytest.CaptureFixture[str], file: Path) -> None:
    out = checked(capfd, str(file), "--each")
    assert "2 llm-judge 1 of them are judged without it too, more strictly" in out
    assert "3 site shopping" in out
    assert "1 site gitlab: give its address" in out
    assert "mine:1: valid, but cannot be run here: llm-judge: " in out
    assert "3 valid tasks, 1 can be run, 0 with a scripted solution; 1 never need a model to be judged" in out


def test_what_is_given_counts(capfd: pytest.CaptureFixture[str], file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFKV_SITE_GITLAB", "http://127.0.0.1:9")
    out = checked(capfd, str(file), "--judge", "embedded")
    assert "cannot be run here" not in out and "3 valid tasks, 3 can be run" in out
    assert "gitlab by http://127.0.0.1:9, shopping by the installed Larkspur Market" in out
    assert "1 task will start signed out" in out


@pytest.mark.parametrize("command", [["run", "--task"], ["eval", "--tasks"]])
def test_nothing_starts_where_a_need_is_not_met(
    command: list[str], capfd: pytest.CaptureFixture[str], file: Path, tmp_path: Path
) -> None:
    assert main([*command, str(file), "--out", str(tmp_path / "out")]) == 2
    error = capfd.readouterr().err
    assert "task 1 cannot be run: llm-judge: " in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_an_empty_judge_is_refused(capfd: pytest.CaptureFixture[str], file: Path) -> None:
    assert main(["tasks", "check", str(file), "--judge", " "]) == 2
    assert "the name of the judge is empty" in capfd.readouterr().err
