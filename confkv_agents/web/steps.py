"""What a step in the environment comes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from confkv_agents.errors import ConfigError
from confkv_agents.web.actions.grammar import Action
from confkv_agents.web.observation import Observation

StopReason = Literal["stop", "max_steps", "parse_failures", "repeated_action", "timeout", "infra_error"]


@dataclass(frozen=True)
class StepResult:
    """What a step gives back.

    Attributes:
        observation: What the agent sees now.
        action: The action understood; None when there was none.
        error: Why it could not be understood or done; None when all went well. The observation tells it too.
        done: True when the episode is over.
        stop_reason: Why it is over; None while it goes on.
        answer: Text of `stop`, "N/A" for `fail`; None otherwise.
        refs: Playwright's handles of the elements acted on, which outlive the ids of one observation.
    """

    observation: Observation
    action: Action | None = None
    error: str | None = None
    done: bool = False
    stop_reason: StopReason | None = None
    answer: str | None = None
    refs: tuple[str, ...] = ()


def whole_steps(bound: int) -> int:
    """A bound of steps as it is; raises ConfigError when it is no whole number from 1."""
    if not isinstance(bound, int) or isinstance(bound, bool) or bound < 1:
        raise ConfigError(f"max_steps is {bound!r}; it takes a whole number from 1")
    return bound
