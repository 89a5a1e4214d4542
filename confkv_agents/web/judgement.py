"""Judging an episode: pages in the browser's thread, under a deadline; then judges, which may take their time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from confkv_agents.web.browser import Browser
from confkv_agents.web.evaluators import Check, Means, settle, succeeded

if TYPE_CHECKING:
    from confkv_agents.web.session import Session
    from confkv_agents.web.tasks import Task

EVALUATION_DEADLINE = 180.0
STRAY = "only the task's sites are open"


def judge(browser: Browser, session: Session, task: Task, answer: str | None, means: Means) -> list[Check]:
    """Judge an episode as it stands.

    Args:
        browser: Whose thread looks at pages.
        session: The episode's tabs.
        task: With addresses in place of placeholders.
        answer: Text of the final `stop`, "N/A" of `fail`; None when the agent did not stop.
        means: Judges and access.

    Raises:
        InfraError: A page, a site or a judge fails.
        SiteError: A site does not tell its state.
    """
    if task.manner.every_step and (strays := browser.call(session.strays)):
        return [Check(STRAY, "no tab elsewhere", ", ".join(strays), False, "a tab shows what is no site of the task")]
    return settle(browser.call(lambda: session.collect(task, answer, means), EVALUATION_DEADLINE))


def decides(checks: Sequence[Check]) -> bool:
    """Whether checks made after a step end the episode: all hold, or a tab left the sites."""
    return succeeded(checks) or any(check.name == STRAY for check in checks)
