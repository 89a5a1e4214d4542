"""Actions decided on together: all use the ids of the page that was seen, though the first may have changed it."""

from __future__ import annotations

from dataclasses import replace

from confkv_agents.errors import ActionError
from confkv_agents.web.actions.grammar import Action
from confkv_agents.web.observation import Observation


def renumbered(action: Action, seen: Observation, now: Observation) -> Action:
    """The action with the ids that its elements have now.

    Args:
        action: Uses the ids of `seen`.
        seen: The observation it was decided on.
        now: The latest one.

    Raises:
        ActionError: There was no such element, or it is no longer there; the message tells the agent.
    """
    element = _id_now(action.element, seen, now)
    target = _id_now(action.target, seen, now) if action.name == "drag" else action.target
    return replace(action, element=element, target=target)


def _id_now(number: int | None, seen: Observation, now: Observation) -> int | None:
    if number is None:
        return None
    before = seen.element(number)
    if before is None:
        raise ActionError(f"there is no element [{number}]; ids went from 1 to {len(seen.elements)}")
    after = now.now(before)
    if after is None:
        raise ActionError(f"{before} is no longer on the page, which changed since; look at it again")
    return after.id
