"""Replaying recorded episodes: identical inputs, and figures against full KV's own."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from confkv_agents.cache import CacheConfig
from confkv_agents.errors import RecordError
from confkv_agents.evaluation.agents import open_agent
from confkv_agents.evaluation.bench.forcing import replay
from confkv_agents.evaluation.bench.progress import Reporter
from confkv_agents.evaluation.bench.recorded import RecordedEpisode, read_recorded
from confkv_agents.evaluation.bench.replay import ReplayBench
from confkv_agents.evaluation.bench.replay_summary import summed
from confkv_agents.evaluation.bench.replay_views import replay_table
from confkv_agents.evaluation.bench.retelling import Asked, actions_equal, retell
from confkv_agents.evaluation.bench.suite import Common, run_bench
from confkv_agents.evaluation.episode import run_episode
from confkv_agents.evaluation.files import read_json
from confkv_agents.evaluation.recording import RunRecorder
from tests.engine.tiny import tiny_llama
from tests.evaluation.fakes import FakeAgent, FakeEnv, FakeTask


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of one episode: two actions, one output that is none, and the end."""
    script: list[Any] = ["click [4]", "I do not know", "click [4]", "stop [$34]"]
    with RunRecorder(tmp_path / "runs", configuration={"agent": "fake", "model": None}) as recorder:
        task: Any = FakeTask()
        run_episode(FakeEnv(), FakeAgent(script, with_usage=False), task, recorder.episode(task, 7), max_steps=5)
    return recorder.directory


@pytest.fixture(scope="module")
def loaded() -> Any:
    return tiny_llama(positions=4096)


def conversation_of(episode: RecordedEpisode) -> list[Asked]:
    return retell(episode, open_agent("react"))


def test_steps_without_an_action_are_left_out(run: Path) -> None:
    (episode,) = read_recorded(run)
    played = [(each.step.index, each.step.action) for each in conversation_of(episode)]
    assert played == [(1, "click [4]"), (3, "click [4]"), (4, "stop [$34]")]
    assert read_recorded(run / episode.name)[0].steps == episode.steps


def test_a_folder_without_recorded_actions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no recorded step"):
        read_recorded(tmp_path)


def test_the_conversation_is_what_the_agent_would_have_had(run: Path) -> None:
    asked = conversation_of(read_recorded(run)[0])
    roles = [[turn.role for turn in each.turns] for each in asked]
    assert roles[0] == ["system", "user"] and roles[2] == ["system", *["user", "assistant"] * 2, "user"]
    first = "".join(str(part) for part in asked[0].turns[1].parts)
    assert "Task: Find the red canvas backpack" in first and "Page 1: link 'Red Canvas Backpack' [4]" in first
    assert asked[1].turns[2].parts == ("thought 1\nclick [4]",)


def test_the_same_action_in_another_spelling_agrees() -> None:
    assert actions_equal("Click [4]", "click [4]") or actions_equal("click [4] ", "click [4]")
    assert not actions_equal("click [5]", "click [4]") and not actions_equal("hello", "click [4]")


def test_full_kv_scores_actions_as_one_forward_of_the_stock_model_does(run: Path, loaded: Any) -> None:
    asked = conversation_of(read_recorded(run)[0])[:2]
    with torch.inference_mode():
        told = replay(loaded, asked, CacheConfig(policy="full"))
        ids, places = sequence(loaded, asked)
        logprobs = loaded.model(torch.tensor([ids]), use_cache=False).logits[0].float().log_softmax(-1)
    for each, (start, end) in zip(told, places, strict=True):
        assert torch.equal(each.tokens, torch.tensor(ids[start:end]))
        assert torch.allclose(each.logprobs, logprobs[start - 1 : end - 1], atol=1e-4)


def sequence(loaded: Any, asked: Any) -> tuple[list[int], list[tuple[int, int]]]:
    """The ids of a whole episode, and where its actions lie."""
    from confkv_agents.engine.encoding import PromptEncoder

    encoder, places, ids = PromptEncoder(loaded), [], []
    for each in asked:
        prompt = encoder.encode(each.turns, {})
        lead, action = encoder.text_ids(each.lead), encoder.text_ids(each.scored)
        assert prompt.ids[: len(ids)] == ids
        places.append((len(prompt.ids) + len(lead), len(prompt.ids) + len(lead) + len(action)))
        encoder.remember(each.turns, each.lead + each.scored, [*lead, *action], prompt)
        ids = [*prompt.ids, *lead, *action]
    return ids, places


def test_full_kv_agrees_with_itself_and_a_small_budget_departs(run: Path, loaded: Any) -> None:
    asked = conversation_of(read_recorded(run)[0])
    with torch.inference_mode():
        full = replay(loaded, asked, CacheConfig(policy="full"))
        small = replay(loaded, asked, CacheConfig(policy="window", budget=40, window=16))
    same = [each.figures(each) for each in full]
    assert all(each["divergence"] == 0 and each["agrees_with_full"] for each in same)
    other = [mine.figures(theirs) for mine, theirs in zip(small, full, strict=True)]
    assert max(each["divergence"] for each in other) > 0
    assert other[-1]["kv_bytes"] < same[-1]["kv_bytes"]
    assert [each["tokens_read"] for each in other] == [each["tokens_read"] for each in same]


def test_sums_are_per_token_and_per_step() -> None:
    step = {"agrees": True, "agrees_with_full": False, "token_agreement": 0.5, "divergence": 0.1, "kv_bytes": 10}
    step |= {"peak_kv_bytes": 20, "full_kv_bytes": 40, "cold_bytes": 0, "read_s": 1.0, "token_s": 0.01}
    rows = [
        {
            "episode": "a",
            "steps": [{**step, "step": 1, "nats": 2.0, "tokens": 1}, {**step, "step": 2, "nats": 4.0, "tokens": 5}],
        }
    ]
    found = summed(rows)
    assert found["log_likelihood"] == -1.0 and found["agreement"] == 1.0 and found["agreed_with_full"] == 0
    assert found["by_step"]["2"]["log_likelihood"] == pytest.approx(-0.8)
    assert found["ms_per_token"] == pytest.approx(10)


def test_a_policy_is_paired_with_full_kv_step_by_step_and_intervals_are_over_episodes() -> None:
    step = {"agrees_with_full": True, "token_agreement": 0.5, "divergence": 0.1, "kv_bytes": 10, "peak_kv_bytes": 20}
    step |= {"full_kv_bytes": 40, "cold_bytes": 0, "read_s": 1.0, "token_s": 0.01, "tokens": 2}

    def rows(*episodes: list[tuple[bool, float]]) -> list[dict[str, Any]]:
        return [
            {"episode": name, "steps": [{**step, "step": at, "agrees": a, "nats": n} for at, (a, n) in enumerate(told)]}
            for name, told in zip("abcd", episodes, strict=False)
        ]

    full = rows([(True, 1.0), (True, 1.0)], [(True, 2.0), (False, 2.0)])
    found = summed(rows([(True, 1.5), (False, 2.0)], [(True, 2.0), (True, 3.0)]), full)["against_full"]
    assert (found["agreement"], found["gained"], found["lost"]) == (0.0, 1, 1)
    assert found["log_likelihood"] == pytest.approx(-(0.5 + 1.0 + 0.0 + 1.0) / 8)
    low, high = found["log_likelihood_interval"]  # two episodes: -1.5 and -1.0 of 4 tokens each
    assert (low, high) == (pytest.approx(-0.375), pytest.approx(-0.25))
    assert summed(full, full)["against_full"] is None


def test_a_replay_is_measured_once_and_continues(run: Path, loaded: Any, tmp_path: Path) -> None:
    episodes: list[RecordedEpisode] = read_recorded(run)
    first = replayed(episodes, "full,window:window=16", tmp_path, loaded)
    ledger = (first / "items.jsonl").read_text().splitlines()
    assert [json.loads(line)["policy"] for line in ledger] == ["full", "window:window=16"]
    again = replayed(episodes, "full,window:window=16,h2o", tmp_path, loaded)
    assert again == first and (first / "items.jsonl").read_text().splitlines()[:2] == ledger
    result = read_json(first / "result.json")
    assert set(result["summary"]["policies"]) == {"full", "window:window=16", "h2o"}
    assert result["summary"]["policies"]["full"]["agreement_with_full"] == 1
    assert "observation" not in json.dumps(result["options"]) and (first / "plot.png").is_file()
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(replay_table(result["summary"]))
    drawn = console.export_text()
    assert "…" not in drawn and "points to full" in drawn
    table = (first / "table.md").read_text().splitlines()
    assert table[0].startswith("1 episode, 2 steps") and [line.split(" | ")[0] for line in table[4:]] == [
        "| full", "| window:window=16", "| h2o",
    ]  # fmt: skip
    with (first / "table.csv").open(newline="") as stream:
        flat = list(csv.DictReader(stream))
    assert [row["policy"] for row in flat] == ["full", "window:window=16", "h2o"]
    assert float(flat[1]["to_full_log_likelihood"]) == pytest.approx(
        result["summary"]["policies"]["window:window=16"]["against_full"]["log_likelihood"]
    )


def replayed(episodes: list[RecordedEpisode], policies: str, out: Path, loaded: Any) -> Path:
    common = Common(model="tiny", policies=policies, budget=40, out=out / "results")
    return run_bench(ReplayBench(common, episodes, 2), Reporter(), loaded)
