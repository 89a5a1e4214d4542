"""Judges: asked last, recorded in the checks, never shown what was not said, and needed where nothing else decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from confkv_agents.errors import InfraError, TaskError
from confkv_agents.web.evaluators import Check, EvaluationInput, Judged, Means, Verdict, evaluate, settle, succeeded
from confkv_agents.web.tasks import Task


@dataclass
class Fake:
    """A judge that says yes to what equals the reference in its first letter, and remembers what it was asked."""

    asked: list[tuple[str, ...]] = field(default_factory=list)

    def same_answer(self, question: str, reference: str, answer: str) -> Verdict:
        self.asked.append((question, reference, answer))
        return Verdict(reference[0].lower() == answer[0], "the first letters")

    def same_reason(self, task: str, reason: str, report: str) -> Verdict:
        self.asked.append((task, reason, report))
        return Verdict(reason.lower() in report, "the reason is named")


def task(references: dict[str, Any], dialect: str = "vwa", **more: Any) -> Task:
    evaluation = {"eval_types": ["string_match"], "reference_answers": references} | more
    raw = {"sites": ["pages"], "intent": "Ask.", "start_url": "__PAGES__", "eval": evaluation}
    return Task.read(raw, dialect, Path("task.json"))


def verdicts(judge: Fake | None, answer: str, asked: Task, stopped: bool = True) -> list[Check]:
    return evaluate(asked, EvaluationInput(answer, means=Means(judge=judge), stopped=stopped))


def test_every_reference_of_fuzzy_match_is_judged_with_the_task_and_the_cleaned_answer() -> None:
    judge = Fake()
    checks = verdicts(judge, "'Apple'", task({"fuzzy_match": ["Avocado", "Artichoke"]}))
    assert succeeded(checks)
    assert judge.asked == [("Ask.", "Avocado", "apple"), ("Ask.", "Artichoke", "apple")]
    assert [(check.name, check.why) for check in checks] == [
        ("string_match.fuzzy_match[0]", "the judge says yes: the first letters"),
        ("string_match.fuzzy_match[1]", "the judge says yes: the first letters"),
    ]


def test_after_a_no_and_after_a_failed_exact_check_no_judge_is_asked() -> None:
    judge = Fake()
    checks = verdicts(judge, "b", task({"fuzzy_match": ["a", "b"]}))
    assert [check.ok for check in checks] == [False, False] and len(judge.asked) == 1
    assert "was not asked" in checks[1].why
    judge = Fake()
    # The judged condition stands first in the file and is asked last all the same.
    checks = verdicts(judge, "apple", task({"fuzzy_match": ["a"], "must_include": ["pear"]}))
    assert not succeeded(checks) and judge.asked == []
    assert [check.name for check in checks] == ["string_match.fuzzy_match[0]", "string_match.must_include[0]"]


def test_an_empty_answer_is_shown_to_no_judge() -> None:
    judge = Fake()
    assert not succeeded(verdicts(judge, " ", task({"fuzzy_match": ["a"]})))
    assert succeeded(verdicts(judge, "", task({"fuzzy_match": [""]})))
    assert not succeeded(verdicts(judge, "", task({"fuzzy_match": "N/A"}, string_note="sold out")))
    assert judge.asked == []


@pytest.mark.parametrize("dialect", ["vwa", "webarena", "browsergym"])
@pytest.mark.parametrize(
    ("answer", "ok", "asked"),
    [
        ("N/A", True, 0),
        ('"n/a"', True, 0),
        ("It is sold out.", True, 1),
        ("I could not log in", False, 1),
    ],
)
def test_not_applicable_is_compared_first_and_then_by_its_reason(
    answer: str, ok: bool, asked: int, dialect: str
) -> None:
    judge = Fake()
    checks = verdicts(judge, answer, task({"fuzzy_match": "N/A"}, dialect, string_note="sold out"))
    assert (succeeded(checks), len(judge.asked)) == (ok, asked)


def test_not_applicable_needs_no_judge_and_is_stricter_without() -> None:
    asked = task({"fuzzy_match": "N/A"}, string_note="sold out")
    assert succeeded(verdicts(None, "N/A", asked))
    (check,) = verdicts(None, "It is sold out.", asked)
    assert not check.ok and "would take a judge" in check.why
    assert not succeeded(verdicts(Fake(), "It is sold out.", task({"fuzzy_match": "N/A"})))  # no reason to compare with


def test_while_the_episode_goes_on_no_judge_hears_of_an_answer() -> None:
    judge = Fake()
    assert not succeeded(verdicts(judge, "whatever", task({"fuzzy_match": ["w"]}, "browsergym"), stopped=False))
    assert judge.asked == []


def test_without_a_judge_what_needs_one_is_refused() -> None:
    with pytest.raises(TaskError, match="needs llm-judge, and no judge is given"):
        verdicts(None, "x", task({"fuzzy_match": ["x"]}))


def _fails(error: Exception) -> Callable[[], Verdict]:
    def ask() -> Verdict:
        raise error

    return ask


def test_a_judge_that_fails_is_an_infra_error_with_its_words() -> None:
    with pytest.raises(InfraError, match=r"the judge of x failed: ValueError: no connection"):
        settle([Judged("x", "a", "b", _fails(ValueError("no connection")))])
