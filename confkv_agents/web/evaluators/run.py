"""Runs a task's evaluators in the order of its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from confkv_agents.errors import TaskError
from confkv_agents.web.evaluators.base import Check, EvaluationInput
from confkv_agents.web.evaluators.judging import Finding, settle
from confkv_agents.web.evaluators.page_image_query import page_image_query
from confkv_agents.web.evaluators.program_html import program_html
from confkv_agents.web.evaluators.site_reward import site_reward
from confkv_agents.web.evaluators.string_match import string_match
from confkv_agents.web.evaluators.url_match import url_match

if TYPE_CHECKING:
    from confkv_agents.web.tasks import Task

EVALUATORS: dict[str, Callable[[Task, EvaluationInput], Sequence[Finding]]] = {
    "string_match": string_match,
    "url_match": url_match,
    "program_html": program_html,
    "page_image_query": page_image_query,
    "site_reward": site_reward,
}
"""Name in `eval_types` -> evaluator."""


def collect(task: Task, given: EvaluationInput) -> list[Finding]:
    """What the evaluators find; where `given.page` is set, call it in the browser's thread.

    Args:
        task: With addresses in place of placeholders (`Task.resolved`).
        given: The answer, and a page with the agent's cookies.

    Returns:
        The checks of all evaluators, in order; those that a judge decides wait for `settle`, which needs no page.

    Raises:
        TaskError: A judge is needed and none is given.
        InfraError: A page or site does not answer.
    """
    kinds = {need.kind for need in task.needs if not need.optional}
    for kind, judge in (("llm-judge", given.means.judge), ("vqa", given.means.visual_judge)):
        if kind in kinds and judge is None:
            raise TaskError(f"{task.source}: task {task.task_id} needs {kind}, and no judge is given")
    findings: list[Finding] = []
    for name in task.evaluation.eval_types:
        findings += EVALUATORS[name](task, given)
    return findings


def evaluate(task: Task, given: EvaluationInput) -> list[Check]:
    """Judge an episode: `collect`, then ask the judges where their word still decides.

    Returns:
        The checks of all evaluators; the episode succeeded when all hold (`succeeded`).

    Raises:
        TaskError: As `collect`.
        InfraError: As `collect`, or a judge fails.
    """
    return settle(collect(task, given))
