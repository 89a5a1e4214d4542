"""What kind of task a task is, for breaking results down."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confkv_agents.web.tasks import Task

KINDS = {
    "visual": "a picture must be looked at",
    "long-memory": "something read on an earlier page is needed later",
    "cross-site": "on more than one site",
    "plain": "none of these",
}
LENGTHS = {"short": (1, 4), "medium": (5, 8), "long": (9, None)}
"""Actions of the scripted solution, from and to."""
_LOOKED_AT = ("medium", "hard")


def kinds_of(task: Task) -> list[str]:
    """The kinds of a task; a task may be of several.

    `visual` follows from its `visual_difficulty` (medium or hard) or from pictures of its own, `cross-site` from its
    sites, `long-memory` from `x_confkv.tags`, which may also name the others.
    """
    found = set(task.extension.tags)
    if task.visual_difficulty in _LOOKED_AT or task.images:
        found.add("visual")
    if len(set(task.sites)) > 1:
        found.add("cross-site")
    return [kind for kind in KINDS if kind in found] or ["plain"]


def length_of(task: Task) -> str:
    """`short`, `medium` or `long` by its scripted solution; `unknown` without one."""
    steps = len(task.oracle)
    for name, (low, high) in LENGTHS.items():
        if low <= steps and (high is None or steps <= high):
            return name
    return "unknown"
