"""Figures of a set against hand-computed values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from confkv_agents.errors import RecordError
from confkv_agents.evaluation.batch.compare import compare
from confkv_agents.evaluation.batch.summary import compare_cases, summarize
from confkv_agents.evaluation.bench.statistics import wilson
from confkv_agents.evaluation.files import append_json_line, write_json

MIB = 2**20


def row(task: str, policy: str, success: bool | None, peak: int = 2, **more: Any) -> dict[str, Any]:
    return {
        "policy": policy,
        "episode": f"{task}-seed0",
        "task": task,
        "task_sha256": task * 4,
        "seed": 0,
        "success": success,
        "stop_reason": "stop",
        "steps": 4,
        "parse_failures": 0,
        "tokens_read": 100,
        "tokens_reused": 300,
        "tokens_generated": 8,
        "peak_kv_bytes": peak * MIB,
        "full_kv_bytes": 8 * MIB,
        "seconds": {"total": 6.0, "model": 2.0, "environment": 0.0},
        "sites": ["shop"],
        "kinds": ["plain"],
        "length": "short",
        "error": None,
        "attempts": 1,
        "link": f"{policy}/{task}-seed0/report.html",
        **more,
    }


ROWS = [
    *(row("a", "full", True, 8), row("b", "full", True, 8), row("c", "full", False, 8), row("d", "full", True, 8)),
    *(row("a", "confkv", True), row("b", "confkv", False, kinds=["visual", "long-memory"])),
    *(row("c", "confkv", True), row("d", "confkv", None, error="the site is gone", attempts=3)),
]


def content(**more: Any) -> dict[str, Any]:
    named = {label: {"folder": label, "config": None} for label in ("full", "confkv")}
    record = {"policies": named, "asked": [["e@eeee", 0, "full"]], "configuration": {}, "configuration_hash": "1"}
    return {**record, "status": "finished", "tasks": {}, **more}


def test_figures_of_a_policy_are_those_of_its_episodes_with_a_verdict() -> None:
    figures = summarize(content(), ROWS)["policies"]["confkv"]
    assert (figures["episodes"], figures["judged"], figures["infra_errors"], figures["succeeded"]) == (4, 3, 1, 2)
    assert figures["success_interval"] == wilson(2, 3)
    assert (figures["peak_kv_bytes"], figures["of_full_kv"]) == (2 * MIB, 0.25)
    assert (figures["seconds"], figures["model_seconds_per_step"]) == (6.0, 0.5)


def test_policies_are_compared_on_the_cases_that_both_have_a_verdict_on() -> None:
    against = summarize(content(), ROWS)["policies"]["confkv"]["against_full"]
    assert against["cases"] == 3 and against["succeeded"] == [2, 2]
    assert against["difference"] == 0 and against["retention"] == 1
    low, high = against["difference_interval"]
    assert low < 0 < high
    assert (against["gained"], against["lost"]) == (["c seed 0"], ["b seed 0"])
    assert against["peak_kv_ratio"] == 0.25 and against["peak_kv_ratio_interval"] == (0.25, 0.25)


def test_seeds_of_one_task_make_no_interval_narrower() -> None:
    seeds = range(5)
    own = [row(task, "confkv", task == "a", seed=seed) for task in "ab" for seed in seeds]
    full = [row(task, "full", False, seed=seed) for task in "ab" for seed in seeds]
    against = compare_cases(own, full)
    assert against is not None and against["cases"] == 10 and against["difference"] == 0.5
    # Two tasks, one gained: Wilson's 1 of 2 is 0.0945 to 0.9055 and 0 of 2 is 0 to 0.6576, so from
    # 0.5 - hypot(0.4055, 0.6576); of the draws of two tasks a quarter gains both.
    assert against["difference_interval"] == (pytest.approx(-0.2726, abs=1e-4), 1.0)
    figures = summarize(content(), own + full)["policies"]["confkv"]
    assert figures["success"] == 0.5 and figures["success_interval"] == wilson(1, 2)
    assert compare_cases(own[:5], full[:5])["peak_kv_ratio_interval"] is None  # type: ignore[index]


def test_infra_errors_and_what_is_missing_are_told_apart() -> None:
    summary = summarize(content(), ROWS)
    assert [(each["task"], each["attempts"]) for each in summary["infra_errors"]] == [("d", 3)]
    assert (summary["asked"], summary["missing"]) == (1, 1)


def test_a_task_of_two_kinds_counts_in_both() -> None:
    kinds = summarize(content(), ROWS)["by"]["kind"]
    assert list(kinds) == ["visual", "long-memory", "plain"]
    assert kinds["visual"]["confkv"]["judged"] == kinds["long-memory"]["confkv"]["judged"] == 1
    assert kinds["plain"]["confkv"]["judged"] == 2


def test_no_common_case_is_no_comparison() -> None:
    assert compare_cases([row("a", "x", True)], [row("b", "x", True)]) is None


_FACTS: dict[str, Any] = {"started": "2026-01-01T00:00:00Z", "ended": None, "details": {}, "versions": {}}


def written(folder: Path, rows: list[dict[str, Any]], policies: tuple[str, ...] = ("full", "confkv")) -> Path:
    named = {label: {"folder": label, "config": None} for label in policies}
    for label in policies:
        (folder / label).mkdir(parents=True)
    write_json(folder / "batch.json", {"schema": "confkv-batch/1", **_FACTS, **content(policies=named)})
    for each in rows:
        append_json_line(folder / each["policy"] / "episodes.jsonl", each)
    return folder


def test_two_sets_are_paired_on_common_cases(tmp_path: Path) -> None:
    left = written(tmp_path / "a", ROWS)
    right = written(tmp_path / "b", [row("a", "confkv", False, 4), row("z", "confkv", True)])
    found = compare(left, right)
    assert [(entry["a"], entry["b"]) for entry in found] == [("confkv", "confkv")]
    assert found[0]["figures"]["cases"] == 1 and found[0]["figures"]["gained"] == ["a seed 0"]
    assert found[0]["figures"]["peak_kv_ratio"] == 0.5
    crossed = compare(left, right, ["full/confkv"])
    assert crossed[0]["figures"]["peak_kv_ratio"] == 2.0


def test_what_cannot_be_paired_is_refused_with_what_is_there(tmp_path: Path) -> None:
    left = written(tmp_path / "a", ROWS)
    right = written(tmp_path / "b", [row("z", "confkv", True)])
    with pytest.raises(RecordError, match="no case"):
        compare(left, right)
    with pytest.raises(RecordError, match="no policy 'h2o'; it has: full, confkv"):
        compare(left, right, ["h2o"])
    scripted = written(tmp_path / "d", [row("a", "-", True)], ("-",))
    with pytest.raises(RecordError, match="no policy 'h2o'; its agent used no model"):
        compare(scripted, scripted, ["h2o"])
    with pytest.raises(RecordError, match="neither"):
        compare(tmp_path, right)
    changed = written(tmp_path / "c", [row("a", "confkv", False) | {"task_sha256": "other"}])
    with pytest.raises(RecordError, match="--changed-tasks"):
        compare(left, changed)
    assert compare(left, changed, changed_tasks=True)[0]["figures"]["cases"] == 1
