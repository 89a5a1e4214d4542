"""Demonstrations in other words: the same episode under another wording of its task.

What is done depends on the task, not on how it is put, so every wording of a template makes a new conversation of an
episode that was played once.
"""

from __future__ import annotations

import functools
import random
from copy import deepcopy

from confkv_agents.pilot.demonstrations import Demonstration
from confkv_agents.web.tasks import World, load_template

_WORLDS = 16
_OPENING = "Task: "


def reworded(made: Demonstration, seed: int = 0) -> Demonstration | None:
    """Put an episode's task in other words, of its template's for the same split.

    Args:
        made: A played episode.
        seed: Of the choice.

    Returns:
        The conversation with another first message, or None where there is nothing to choose: it stands for no
        template (a chat, say), its task is in none of the template's wordings of today, or there is one only.
    """
    if not made.messages or made.messages[0]["role"] != "system":
        return None
    name, _, number = made.task.rpartition(":")
    told, blank, page = made.messages[1]["content"][0].get("text", "").partition("\n\n")
    before = told.removeprefix(_OPENING)
    intents = load_template(name).intents(int(number), _world(int(number)))
    others = [intent for intent in intents if intent != before]
    if before not in intents or not others:
        return None
    new = deepcopy(made)
    intent = random.Random(f"{seed}:{made.task}").choice(others)
    new.messages[1]["content"][0]["text"] = f"{_OPENING}{intent}{blank}{page}"
    return new


@functools.lru_cache(_WORLDS)
def _world(seed: int) -> World:
    return World(seed)
