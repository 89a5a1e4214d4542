"""One episode: how it ends, and what is recorded of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from confkv_agents.errors import AgentError, InfraError, PromptTooLongError
from confkv_agents.evaluation.episode import run_episode
from confkv_agents.evaluation.files import read_json, read_json_lines
from confkv_agents.evaluation.recording import RunRecorder
from tests.evaluation.fakes import FakeAgent, FakeCheck, FakeEnv, FakeTask


def recorder(tmp_path: Path) -> RunRecorder:
    return RunRecorder(tmp_path / "runs", configuration={"agent": "fake"}, name="fake")


def test_an_episode_that_stops_with_the_right_answer_succeeds():
    env = FakeEnv()
    result = run_episode(env, FakeAgent(["click [4]", "stop [$34]"]), FakeTask())
    assert (result.success, result.stop_reason, result.answer, result.steps) == (True, "stop", "$34", 2)
    assert env.actions == ["click [4]", "stop [$34]"]


def test_one_failed_check_is_no_success_and_no_checks_are_none_either():
    checks = [FakeCheck("a", 1, 1, ok=True), FakeCheck("b", 1, 2, ok=False, why="differs")]
    result = run_episode(FakeEnv(checks=checks), FakeAgent(["stop [x]"]), FakeTask())
    assert result.success is False
    assert [check["ok"] for check in result.checks] == [True, False]
    assert run_episode(FakeEnv(checks=[]), FakeAgent(["stop [x]"]), FakeTask()).success is False


def test_steps_run_out_and_the_state_is_still_checked():
    result = run_episode(FakeEnv(), FakeAgent(["click [4]"]), FakeTask(max_steps=3))
    assert (result.stop_reason, result.steps, result.success) == ("max_steps", 3, True)
    assert run_episode(FakeEnv(), FakeAgent(["click [4]"]), FakeTask(), max_steps=2).steps == 2


def test_no_step_begins_after_the_timeout():
    result = run_episode(FakeEnv(), FakeAgent(["click [4]"]), FakeTask(), timeout=0.0)
    assert (result.stop_reason, result.steps) == ("timeout", 0)


def test_outputs_that_are_no_actions_are_counted():
    result = run_episode(FakeEnv(), FakeAgent(["well", "click [4]", "hm", "stop [x]"]), FakeTask())
    assert result.parse_failures == 2


@pytest.mark.parametrize("where", [{"fail_reset": True}, {"fail_at": 2}, {"fail_evaluate": True}])
def test_a_failing_environment_gives_no_verdict(where):
    env = FakeEnv(**where, error=InfraError("the browser crashed"))
    result = run_episode(env, FakeAgent(["click [4]", "stop [x]"]), FakeTask())
    assert (result.success, result.stop_reason, result.error) == (None, "infra_error", "the browser crashed")


def test_an_unexpected_exception_is_named_and_gives_no_verdict(tmp_path: Path):
    with recorder(tmp_path) as run:
        episode = run.episode(FakeTask(), 1)
        result = run_episode(FakeEnv(), FakeAgent([ZeroDivisionError("oops")]), FakeTask(), episode)
    assert (result.success, result.stop_reason) == (None, "infra_error")
    assert result.error == "ZeroDivisionError: oops"
    assert "Traceback" in read_json(episode.directory / "episode.json")["traceback"]


@pytest.mark.parametrize("error", [AgentError("no such link"), PromptTooLongError("context is full")])
def test_an_agent_that_cannot_go_on_is_judged(error):
    failed = FakeEnv(checks=[FakeCheck("a", 1, 2, ok=False)])
    result = run_episode(failed, FakeAgent(["click [4]", error]), FakeTask())
    assert (result.success, result.stop_reason, result.error, result.steps) == (
        False,
        "agent_error",
        str(error),
        1,
    )


def test_costs_are_summed_and_peaks_kept():
    result = run_episode(FakeEnv(), FakeAgent(["click [4]", "click [4]", "stop [x]"]), FakeTask())
    assert result.tokens_read == 360
    assert result.tokens_reused == 120 * (0 + 1 + 2)
    assert result.peak_kv_bytes == 9_500_000
    assert result.full_kv_bytes == 9_300_000
    assert result.budget == {"min": 128, "mean": 300.0, "max": 512}
    assert result.peak_memory["browser_bytes"] == 400_000_000
    assert result.peak_memory["process_bytes"] > 0
    assert set(result.seconds) == {"model", "environment", "evaluation", "total"}


def test_an_agent_without_a_model_has_no_costs():
    result = run_episode(FakeEnv(), FakeAgent(["stop [x]"], with_usage=False), FakeTask())
    assert (result.tokens_read, result.peak_kv_bytes, result.budget) == (None, None, None)


def test_every_step_is_recorded_as_it_happens(tmp_path: Path):
    seen = []
    phases = []
    with recorder(tmp_path) as run:
        episode = run.episode(FakeTask(), 7)
        run_episode(
            FakeEnv(),
            FakeAgent(["click [4]", "stop [$34]"]),
            FakeTask(),
            episode,
            on_step=lambda step: seen.append((step.index, len(read_json_lines(episode.directory / "steps.jsonl")))),
            on_phase=lambda index, phase: phases.append((index, phase)),
        )
    assert seen == [(1, 1), (2, 2)]
    assert (1, "model") in phases
    assert phases[-1] == (3, "evaluation")
    first, second = read_json_lines(episode.directory / "steps.jsonl")
    assert first["action"] == "click [4]"
    assert first["target"] == {
        "id": 4,
        "role": "link",
        "name": "Red Canvas Backpack",
        "box": [40, 60, 200, 40],
    }
    assert first["outcome"] == "did click [4]"
    assert first["observation"].startswith("Page 1")
    assert (first["tokens_read"], second["tokens_reused"]) == (120, 120)
    assert set(first["memory"]) == {"process_bytes", "browser_bytes"}
    for name in ("step-001.png", "step-002.png", "final.png"):
        assert (episode.directory / name).read_bytes().startswith(b"\x89PNG")
    trace = read_json_lines(episode.directory / "trace.jsonl")
    assert [row["step"] for row in trace] == [1, 2]
    assert len(trace[0]["tokens"]) == 4


def test_a_finished_episode_has_a_row_in_the_run(tmp_path: Path):
    with recorder(tmp_path) as run:
        run_episode(FakeEnv(), FakeAgent(["stop [x]"]), FakeTask(), run.episode(FakeTask(), 7), seed=7)
    (row,) = read_json_lines(run.directory / "episodes.jsonl")
    assert (row["task"], row["seed"], row["success"], row["stop_reason"]) == ("fake:1", 7, True, "stop")
    assert row["configuration_hash"] == run.configuration_hash
    assert row["task_sha256"] == "0" * 64


@pytest.mark.parametrize("script", [[KeyboardInterrupt()], ["click [4]", KeyboardInterrupt()]])
def test_an_interruption_passes_through_and_leaves_a_valid_record_without_a_result(tmp_path: Path, script):
    with pytest.raises(KeyboardInterrupt), recorder(tmp_path) as run:
        run_episode(FakeEnv(), FakeAgent(script), FakeTask(), run.episode(FakeTask(), 7))
    (episode,) = run.directory.glob("*/episode.json")
    assert json.loads(episode.read_text())["status"] == "interrupted"
    assert json.loads((run.directory / "run.json").read_text())["status"] == "interrupted"
    assert read_json_lines(run.directory / "episodes.jsonl") == []
    assert len(read_json_lines(episode.parent / "steps.jsonl")) == len(script) - 1
