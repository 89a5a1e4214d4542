"""What the terminal shows: fits its width, plain without a terminal."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from confkv_agents.evaluation.console import RunConsole
from confkv_agents.evaluation.episode import run_episode
from confkv_agents.evaluation.records import EpisodeResult
from tests.evaluation.fakes import FakeAgent, FakeCheck, FakeEnv, FakeTask

NO_TIME = {"total": 0.0, "model": 0.0, "environment": 0.0}
LONG = "a_very_long_unbroken_text_" * 12


def show(width: int, *, terminal: bool = False, with_usage: bool = True, **environ: str) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=terminal, highlight=False, _environ=environ)
    view = RunConsole(console, uses_model=with_usage)
    view.facts([("task", "fake:1"), ("goal", LONG)])
    view.heading()
    script = ["click [4]", f"type [4] [{LONG}]", "no action", "stop [$34]"]
    env = FakeEnv(checks=[FakeCheck("url_match", LONG, "http://x", ok=False, why="another page")])
    with view.waiting("starting"):
        result = run_episode(env, FakeAgent(script, with_usage), FakeTask(), on_step=view.step, on_phase=view.phase)
    view.result(result, Path("/" + "x" * 150) / "report.html")
    return stream.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("with_usage", [True, False])
def test_no_line_but_the_reports_path_is_wider_than_the_terminal(width: int, with_usage: bool):
    lines = show(width, with_usage=with_usage).splitlines()
    assert max(len(line) for line in lines if not line.startswith("report")) <= width
    (path,) = [line for line in lines if line.startswith("report")]
    assert path.endswith("report.html")


def test_there_is_a_line_per_step_with_what_it_cost():
    lines = show(80).splitlines()
    assert any(line.split()[:3] == ["1", "click", "[4]"] and "120" in line for line in lines)
    assert any("not an action" in line for line in lines)


def test_the_end_says_result_checks_memory_and_report():
    text = show(80)
    for words in (
        "No success",
        "url_match",
        "stop reason",
        "steps",
        "tokens read",
        "tokens reused",
        "peak KV held",
        "full KV would hold",
        "budget, slots",
        "128 to 512",
        "confidence",
        "0.32 to 0.90",
        "time",
        "report",
    ):
        assert words in text, words


def test_a_check_says_whether_it_passed_what_was_expected_and_what_came():
    checks = [
        {"name": "url_match", "ok": True, "expected": "http://x", "got": "http://x", "why": "the address equals it"},
        {"name": "string_match[0]", "ok": False, "expected": "12", "got": "", "why": "no answer"},
    ]
    result = EpisodeResult("fake", 0, success=False, stop_reason="stop", checks=checks, seconds=NO_TIME)
    stream = io.StringIO()
    RunConsole(Console(file=stream, width=80, highlight=False), uses_model=False).result(result, Path("report.html"))
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    start = lines.index("check       url_match: passed")
    assert lines[start : start + 8] == [
        "check       url_match: passed",
        "  expected  http://x",
        "  got       http://x",
        "  why       the address equals it",
        "check       string_match[0]: failed",
        "  expected  12",
        "  got       (empty)",
        "  why       no answer",
    ]
    assert "result       No success (the agent stopped)" in lines


@pytest.mark.parametrize(
    ("peak", "budget", "short"),
    [(97, {"min": 40, "max": 512}, True), (40, {"min": 40, "max": 512}, False), (100, None, False)],
)
def test_a_peak_near_that_of_full_kv_is_explained(peak: int, budget: dict[str, int] | None, short: bool):
    result = run_episode(FakeEnv(), FakeAgent(["stop [$34]"]), FakeTask())
    result = replace(result, peak_kv_bytes=peak * 2**20, full_kv_bytes=100 * 2**20, budget=budget)
    stream = io.StringIO()
    RunConsole(Console(file=stream, width=120), uses_model=True).result(result, Path("report.html"))
    (line,) = [line for line in stream.getvalue().splitlines() if line.startswith("full KV would hold")]
    assert f"(peak is {peak} % of it" in line and ("hardly outgrew" in line) == short


def test_without_a_terminal_there_are_no_control_characters():
    assert "\x1b" not in show(80)
    assert "\x1b" in show(80, terminal=True, TERM="xterm-256color")


def test_an_agent_without_a_model_shows_no_model_figures():
    text = show(80, with_usage=False)
    assert "tokens" not in text
    assert "KV" not in text


def test_texts_of_pages_and_models_cannot_act_on_the_terminal():
    stream = io.StringIO()
    console = RunConsole(Console(file=stream, width=80, highlight=False))
    console.task("shop/\x1b]0;title\x07", "go \x1b[2Jal\x9b31m", 0)
    console.remark("\x1b[31mred")
    shown = stream.getvalue()
    assert "go [2Jal31m" in shown and "[31mred" in shown
    assert not any(each in shown for each in "\x1b\x07\x9b")
