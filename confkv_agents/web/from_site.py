"""Tasks whose site leads: it says what is asked once the page has started, and when the episode is over.

A task asks for it by `x_confkv.from_site`; the site's `/__state__` then holds `intent` (empty until the page has
started) and `over`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from confkv_agents.errors import InfraError, SiteError

if TYPE_CHECKING:
    from confkv_agents.web.sites import SiteSet
    from confkv_agents.web.tasks import Task

_PATIENCE_S = 10.0
_POLL_S = 0.02


def asked(task: Task, sites: SiteSet) -> Task:
    """The task with what its site asks for as the intent; the same task where the file says it.

    Raises:
        InfraError: The page did not start, or the site does not answer.
    """
    if not task.extension.from_site:
        return task
    end = time.monotonic() + _PATIENCE_S
    while not (intent := str(_state(task, sites).get("intent") or "")):
        if time.monotonic() > end:
            raise InfraError(f"the page of {task.key} did not say what is asked within {_PATIENCE_S:g} s")
        time.sleep(_POLL_S)
    return task.model_copy(update={"intent": intent})


def is_over(task: Task, sites: SiteSet) -> bool:
    """Whether the site has ended the episode; never for tasks that an agent ends.

    Raises:
        InfraError: The site does not answer.
    """
    return task.extension.from_site and bool(_state(task, sites).get("over"))


def _state(task: Task, sites: SiteSet) -> dict[str, Any]:
    try:
        return sites.state(task.sites[0])
    except SiteError as error:
        raise InfraError(str(error)) from error
