"""site_reward: what the site itself gave for what was done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confkv_agents.errors import InfraError
from confkv_agents.web.evaluators.base import Check, EvaluationInput, brief
from confkv_agents.web.evaluators.judging import Finding

if TYPE_CHECKING:
    from confkv_agents.web.tasks import Task

FULL = 1.0
"""A smaller reward is a part of the way: find-greatest of MiniWoB++ gives 0.1 for a wrong card."""


def site_reward(task: Task, given: EvaluationInput) -> list[Finding]:
    """One check: `reward` in the state of the task's first site, which has to reach 1, once the site says `over`.

    The site's `reason` is told, where it gives one.
    """
    if given.sites is None:
        raise InfraError("site_reward needs the running sites and there are none")
    state = given.sites.state(task.sites[0])
    over, reward = bool(state.get("over")), float(state.get("reward") or 0.0)
    words = brief(state["reason"]) if state.get("reason") else ""
    if not over:
        ok, why = False, "the page has not judged: the episode ended before what it asks for was done"
    elif reward >= FULL:
        ok, why = True, "the page gave the full reward"
    else:
        ok, why = False, "the page gave " + ("a part of the reward" if reward > 0 else "no reward")
    return [
        Check(
            "site_reward",
            f"a reward of {FULL:g} or more",
            f"{reward:g}" if over else "none yet",
            ok,
            why + (f": {words}" if words else ""),
        )
    ]
