"""Solves pages of MiniWoB++ by rules: what is asked, and what the observation shows, say the next action.

    confkv-agent run --task miniwob/click-button --agent miniwob_oracle --seed 7

There is no back door into the page and no knowledge of its seed, so what this agent can do, the environment offers
to every agent. The rules lie in `_miniwob/`, a function a kind of task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confkv_agents.errors import AgentError
from confkv_agents.evaluation.agents import Decision

from ._miniwob import mail, pointing, writing
from ._miniwob.page import Page, Steps

if TYPE_CHECKING:
    from confkv_agents.web.observation import Observation
    from confkv_agents.web.tasks import Task

NEEDS_MODEL = False
SOLVERS = pointing.SOLVERS | writing.SOLVERS | mail.SOLVERS
"""Name of a task -> the function that solves it."""


def create_agent(model: Any = None) -> MiniwobOracle:
    """Make the agent; it needs no model.

    Args:
        model: Ignored.
    """
    return MiniwobOracle()


def check_task(task: Task) -> None:
    """Refuse a task that no rule solves.

    Raises:
        AgentError: There is none.
    """
    if "miniwob" not in task.sites or str(task.task_id) not in SOLVERS:
        raise AgentError(
            f"{task.key}: the agent miniwob_oracle has no rule for this task; it has for {', '.join(sorted(SOLVERS))}"
        )


class MiniwobOracle:
    """Plays one task; `create_agent` makes it."""

    def __init__(self) -> None:
        self._page: Page | None = None
        self._steps: Steps | None = None

    def reset(self, task: Task, observation: Observation) -> None:
        """Begin a task."""
        check_task(task)
        self._page = Page(observation, observation.goal)
        self._steps = SOLVERS[str(task.task_id)](self._page)

    def act(self, observation: Observation) -> Decision:
        """The next action.

        Raises:
            AgentError: The page does not show what the rule looks for.
        """
        if self._page is None or self._steps is None:
            raise AgentError("the agent was not reset to a task")
        self._page.observation = observation
        try:
            return Decision(next(self._steps, "stop []"))
        except (StopIteration, LookupError, ValueError) as error:
            raise AgentError(f"the rule for {self._page.goal!r} does not fit the page: {error!r}") from error
