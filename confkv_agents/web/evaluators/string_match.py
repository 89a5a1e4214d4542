"""string_match: the answer against references."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confkv_agents.errors import TaskError
from confkv_agents.web.evaluators.base import Check, EvaluationInput, brief
from confkv_agents.web.evaluators.words import clean_answer, includes, same, satisfies, whole_number

if TYPE_CHECKING:
    from confkv_agents.web.tasks import Task

OR = " |OR| "


def string_match(task: Task, given: EvaluationInput) -> list[Check]:
    """One check for each condition of `reference_answers`, in the order of the file."""
    references = task.evaluation.reference_answers
    assert references is not None  # the loader saw to it
    dialect, answer = task.dialect, clean_answer(given.answer, task.dialect)
    shown = brief(given.answer)
    checks: list[Check] = []
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
            ok = same(value, answer, dialect)
            why = _is(ok, "the answer says that the task cannot be done")
            if not ok:
                why += "; another wording would need a model as judge and does not count here"
            checks.append(Check(name, "N/A", shown, ok, why))
        else:
            raise TaskError(f"{task.source}: task {task.task_id}: fuzzy_match needs a model as judge")
    return checks


def _is(ok: bool, statement: str) -> str:
    return statement if ok else f"not true that {statement}"
