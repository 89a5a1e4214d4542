"""Whole runs by the command line: what they leave behind, interrupted and killed too."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from confkv_agents.cache import read_trace
from confkv_agents.evaluation.files import read_json, read_json_lines
from tests.test_cli import COMMAND, TASK, run, task_file

SLOW_AGENT = '''
"""Waits for the test: says that it was asked, then scrolls until the file `go` is gone."""
import time
from pathlib import Path
from confkv_agents.evaluation.agents import Decision

NEEDS_MODEL = False

class Slow:
    def reset(self, task, observation):
        self.steps = 0

    def act(self, observation):
        self.steps += 1
        if self.steps > 2:
            (Path(__file__).parent / "waiting").touch()
            while True:
                time.sleep(0.05)
        return Decision("scroll [down]" if self.steps % 2 else "scroll [up]")

def create_agent(model):
    return Slow()
'''


def run_alone(out: Path, *arguments: str, **environment: str) -> str:
    """What a run in a process of its own printed; it must end well and without a word of complaint."""
    command = [*COMMAND, "run", "--out", str(out), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.browser
def test_an_episode_is_run_recorded_and_reported(tmp_path: Path):
    printed = run_alone(tmp_path, "--task", "shop/read_sku", "--agent", "oracle", COLUMNS="80", TERM="dumb")
    assert "Success" in printed
    assert "\x1b" not in printed
    (report,) = [line.split()[-1] for line in printed.splitlines() if line.startswith("report")]
    episode = Path(report).parent
    assert "Success" in Path(report).read_text()
    assert all(len(line) <= 80 for line in printed.splitlines() if not line.startswith("report"))
    assert read_json(episode / "episode.json")["result"]["success"] is True
    assert read_json(episode.parent / "run.json")["status"] == "finished"
    assert (episode.parent / "report.html").is_file()
    (row,) = read_json_lines(episode.parent / "episodes.jsonl")
    assert row["steps"] == len(read_json_lines(episode / "steps.jsonl"))


@pytest.mark.browser
def test_an_episode_that_fails_its_checks_is_no_error(tmp_path: Path):
    wrong = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "no such answer"}}
    assert "No success" in run_alone(tmp_path, "--task", task_file(tmp_path, eval=wrong), "--agent", "oracle")


@contextmanager
def waiting_run(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run whose agent hangs in its third step; the process leads a group of its own, as in a shell."""
    (tmp_path / "slow.py").write_text(SLOW_AGENT)
    command = [*COMMAND, "run", "--task", str(TASK), "--agent", str(tmp_path / "slow.py"), "--out", str(tmp_path / "r")]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        until(lambda: (tmp_path / "waiting").exists() or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)


def browsers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def assert_valid_records(folder: Path, status: str) -> None:
    (run_folder,) = folder.iterdir()
    (episode,) = [path for path in run_folder.iterdir() if path.is_dir()]
    for path in (*run_folder.rglob("*.json"), *run_folder.rglob("*.jsonl")):
        for text in path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]:
            json.loads(text)
    assert read_json(run_folder / "run.json")["status"] == status
    assert read_json(episode / "episode.json")["status"] == status
    assert len(read_json_lines(episode / "steps.jsonl")) == 2
    assert not (run_folder / "episodes.jsonl").exists()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("number", "whole_group", "code"),
    [(signal.SIGINT, False, 130), (signal.SIGINT, True, 130), (signal.SIGTERM, False, 143)],
    ids=["ctrl-c", "ctrl-c-to-the-group", "terminated"],
)
def test_an_interrupted_run_leaves_valid_records_a_report_and_no_browser(
    tmp_path: Path, number: int, whole_group: bool, code: int
):
    with waiting_run(tmp_path) as process:
        browsers = browsers_of(process)
        assert browsers
        (os.killpg if whole_group else os.kill)(process.pid, number)
        os.kill(process.pid, number)  # an impatient second one changes nothing
        out, err = process.communicate(timeout=60)
        assert process.returncode == code, err
        assert err.strip() == "stopped"
        assert [each for each in browsers if each.is_running() and each.status() != psutil.STATUS_ZOMBIE] == []
    assert_valid_records(tmp_path / "r", "interrupted")
    (report,) = [line.split()[-1] for line in out.splitlines() if "report.html" in line]
    assert "Interrupted" in Path(report).read_text()


@pytest.mark.browser
def test_a_killed_run_leaves_valid_records_that_can_be_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    with waiting_run(tmp_path) as process:
        browsers = browsers_of(process)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
        psutil.wait_procs(browsers, timeout=30)
        assert [each for each in browsers if each.is_running() and each.status() != psutil.STATUS_ZOMBIE] == []
    assert_valid_records(tmp_path / "r", "running")
    (run_folder,) = (tmp_path / "r").iterdir()
    code, out, _ = run(capfd, "report", str(run_folder))
    assert code == 0
    assert "was killed" in Path(out.strip()).read_text()


@pytest.mark.browser
@pytest.mark.model
def test_the_embedded_model_plays_with_its_costs_recorded_and_its_weakness_said(tmp_path: Path):
    limits = ["--max-steps", "2", "--max-tokens", "12", "--page-tokens", "300"]
    printed = run_alone(tmp_path, "--task", "shop/read_sku", "--model", "embedded", "--trace", *limits)
    assert "rarely succeeds" in " ".join(printed.split())
    (episode,) = [path.parent for path in tmp_path.glob("*/*/episode.json")]
    first, second = read_json_lines(episode / "steps.jsonl")
    assert first["tokens_read"] > 300
    assert second["tokens_reused"] >= first["tokens_read"], "the conversation only grows, so its KV is used again"
    result = read_json(episode / "episode.json")["result"]
    assert result["peak_kv_bytes"] > 0
    assert result["full_kv_bytes"] == second["full_kv_bytes"]
    assert 0 <= result["confidence"]["min"] <= result["confidence"]["max"] <= 1
    assert 1 <= result["budget"]["min"] <= result["budget"]["max"] <= 512
    traced = [entry for row in read_json_lines(episode / "trace.jsonl") for entry in row["tokens"]]
    assert len(traced) == result["tokens_generated"]
    cache_trace = read_trace(episode / "cache-trace.jsonl")
    assert (cache_trace.facts["model"], cache_trace.facts["policy"]) == ("embedded", "confkv")
    read = sum(step.tokens for step in cache_trace.records if step.kind == "read")
    assert read == result["tokens_read"]
    assert 'href="cache-trace.jsonl"' in (episode / "report.html").read_text()
    assert "rarely succeeds" in (episode / "report.html").read_text()


@pytest.mark.browser
@pytest.mark.model
def test_without_a_model_or_an_agent_named_the_pilot_plays(tmp_path: Path):
    assert "rarely" not in run_alone(tmp_path, "--task", "shop/read_sku", "--max-steps", "2")
    (episode,) = [path.parent for path in tmp_path.glob("*/*/episode.json")]
    configuration = read_json(episode.parent / "run.json")["configuration"]
    assert (configuration["agent"], configuration["model"], configuration["policy"]) == ("pilot", "pilot", "confkv")
    for step in read_json_lines(episode / "steps.jsonl"):
        assert step["parsed"] and step["error"] is None, step["raw"]
