"""string_match: the answer against references."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confkv_agents.web.evaluators.base import Check, EvaluationInput, brief
from confkv_agents.web.evaluators.judging import Finding, Judged
from confkv_agents.web.evaluators.words import clean_answer, includes, same, satisfies, whole_number

if TYPE_CHECKING:
    from confkv_agents.web.tasks import Task

OR = " |OR| "


def string_match(task: Task, given: EvaluationInput) -> list[Finding]:
    """One check for each condition of `reference_answers`, in the order of the file."""
    references = task.evaluation.reference_answers
    assert references is not None  # the loader saw to it
    dialect, answer = task.rules, clean_answer(given.answer, task.rules)
    shown = brief(given.answer)
    checks: list[Finding] = []
    written = task.raw.get("eval", {}).get("reference_answers") or {}
    for approach in written or references.model_fields_set:
        value = getattr(references, approach)
        name = f"string_match.{approach}"
        if approach == "exact_match":
            ok = same(value, answer, dialect)
            checks.append(Check(name, value, shown, ok, _is(ok, "the answer equals the reference")))
        elif approach == "must_include":
            for index, entry in enumerate(value):
                alternatives = entry.split(OR) if dialect == "vwa" else [entry]
                found = [includes(each, answer, dialect, tokenize=len(value) == 1) for each in alternatives]
                ok = any(each[0] for each in found)
                why = _is(ok, f"the answer includes it {found[0][1]}")
                checks.append(Check(f"{name}[{index}]", entry, shown, ok, why))
        elif approach == "must_exclude":
            for index, entry in enumerate(value):
                present, how = includes(entry, answer, dialect, tokenize=True)
                checks.append(
                    Check(
                        f"{name}[{index}]",
                        f"not {entry}",
                        shown,
                        not present,
                        _is(present, f"it is there {how}"),
                    )
                )
        elif approach == "required_values":
            number = whole_number(answer)
            for index, entry in enumerate(value):
                ok = number is not None and any(satisfies(number, each) for each in entry.split(OR))
                why = "the answer is no whole number" if number is None else _is(ok, f"{number} satisfies it")
                checks.append(Check(f"{name}[{index}]", entry, shown, ok, why))
        elif approach == "one_of":
            ok = any(clean_answer(option, dialect) in answer for option in value)
            checks.append(Check(name, OR.join(value), shown, ok, _is(ok, "the answer includes one of them")))
        elif value == "N/A":
            checks.append(_infeasible(task, given, answer, name))
        else:
            for index, reference in enumerate(value):
                checks.append(_same_meaning(task, given, answer, reference, f"{name}[{index}]"))
    return checks


def _infeasible(task: Task, given: EvaluationInput, answer: str, name: str) -> Finding:
    """The answer is "N/A", or a judge finds in it the reason why the task cannot be done."""
    shown, reason, judge = brief(given.answer), task.evaluation.string_note, given.means.judge
    if same("N/A", answer, task.rules):
        return Check(name, "N/A", shown, True, "the answer says that the task cannot be done")
    if judge is None or not reason or not answer.strip() or not given.stopped:
        why = "not true that the answer says that the task cannot be done"
        if judge is None and answer.strip():
            why += "; whether it gives the reason in other words would take a judge"
        return Check(name, "N/A", shown, False, why)
    return Judged(name, f"N/A, or: {reason}", shown, lambda: judge.same_reason(task.intent, reason, answer))


def _same_meaning(task: Task, given: EvaluationInput, answer: str, reference: str, name: str) -> Finding:
    """A judge finds that the answer says the same as a reference; one that is empty is not shown to it."""
    shown, judge = brief(given.answer), given.means.judge
    if not answer.strip() or not given.stopped:
        ok = given.stopped and not reference.strip()
        return Check(name, reference, shown, ok, _is(ok, "there is no answer, and none is wanted"))
    assert judge is not None  # a task that needs one is refused without
    return Judged(name, reference, shown, lambda: judge.same_answer(task.intent, reference, answer))


def _is(ok: bool, statement: str) -> str:
    return statement if ok else f"not true that {statement}"
