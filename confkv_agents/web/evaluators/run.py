"""Runs a task's evaluators in the order of its file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from confkv_agents.web.evaluators.base import Check, EvaluationInput
from confkv_agents.web.evaluators.program_html import program_html
from confkv_agents.web.evaluators.string_match import string_match
from confkv_agents.web.evaluators.url_match import url_match

if TYPE_CHECKING:
    from confkv_agents.web.tasks import Task

EVALUATORS: dict[str, Callable[[Task, EvaluationInput], list[Check]]] = {
    "string_match": string_match,
    "url_match": url_match,
    "program_html": program_html,
}
"""Name in `eval_types` -> evaluator."""


def evaluate(task: Task, given: EvaluationInput) -> list[Check]:
    """Judge an episode. Where `given.page` is set, call it in the browser's thread.

    Args:
        task: With addresses in place of placeholders (`Task.resolved`).
        given: The answer, and a page with the agent's cookies.

    Returns:
        The checks of all evaluators; the episode succeeded when all hold (`succeeded`).

    Raises:
        TaskError: The task needs a judge that does not exist here (see `Task.unsupported`).
        InfraError: A page or site does not answer.
    """
    task.require_supported()
    checks: list[Check] = []
    for kind in task.evaluation.eval_types:
        checks += EVALUATORS[kind](task, given)
    return checks
