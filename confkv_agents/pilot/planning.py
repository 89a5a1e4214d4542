"""Tasks in many words, each answered by its plan alone.

Every answer to a task begins with a plan, the same one however the task is put. What a model of this size gets wrong
first is what is wanted, so that is learned by itself: a task and a few lines of a page cost a tenth of an episode, and
a quarter of its tokens is learned.
"""

from __future__ import annotations

import random
import re
from collections.abc import Container, Iterable, Iterator, Sequence

from confkv_agents.pilot.condensing import shortened
from confkv_agents.pilot.demonstrations import Demonstration
from confkv_agents.pilot.rewording import OPENING, with_aside
from confkv_agents.web.tasks import World, load_template
from confkv_agents.web.tasks.oracle import PLAN
from confkv_agents.web.tasks.templates import NothingToAsk, Template

_NAMED = "plan:"
_LINES = 0.12  # share of a page's lines that stay
_WORN = 0.3  # share of the tasks that lose words
_LOST = 0.08  # share of such a task's words that are neither quoted nor in the plan
_QUOTED = re.compile(r"((?<!\w)'.+?'(?!\w)|\".+?\")")


def plans(
    episodes: Iterable[Demonstration], seeds: Sequence[int], seed: int = 0, have: Container[str] = ()
) -> Iterator[Demonstration]:
    """Tell the tasks of many seeds, each before the first page of a played episode of its template.

    Args:
        episodes: Played ones; their templates are told.
        seeds: Of the tasks, all of the training split.
        seed: Of the wordings and of the pages' lines.
        have: Names of conversations to leave out.

    Yields:
        Conversations of one answer, the beginning of one: the plan's line.
    """
    pages: dict[str, list[Demonstration]] = {}
    for made in episodes:
        if made.messages and made.messages[0]["role"] == "system" and not made.task.startswith(_NAMED):
            pages.setdefault(made.task.rpartition(":")[0], []).append(made)
    for number in seeds:
        world = World(number)
        for name, played in sorted(pages.items()):
            if name_of(name, number) in have:
                continue
            rng = random.Random(f"{seed}:{name}:{number}")
            new = _told(load_template(name), number, world, rng.choice(played), rng)
            if new is not None:
                yield new


def name_of(template: str, number: int) -> str:
    """What a conversation is called."""
    return f"{_NAMED}{template}:{number}"


def _told(
    template: Template, number: int, world: World, played: Demonstration, rng: random.Random
) -> Demonstration | None:
    try:
        plan = template.make(number, world)["x_confkv"]["plan"]
        intent = with_aside(rng.choice(template.intents(number, world)), rng)
    except NothingToAsk:
        return None
    if not plan:
        return None
    if rng.random() < _WORN:
        intent = _worn(intent, plan, rng)
    page = "".join(part.get("text", "") for part in played.messages[1]["content"]).partition("\n\n")[2]
    told = f"{OPENING}{intent}\n\n{shortened(page, set(), rng, _LINES)}"
    answer = {"role": "assistant", "content": [{"text": f"{PLAN}{plan}\n"}], "learn": True, "open": True}
    messages = [played.messages[0], {"role": "user", "content": [{"text": told}]}, answer]
    return Demonstration(name_of(template.name, number), True, 1, messages)


def _worn(intent: str, plan: str, rng: random.Random) -> str:
    """Leave out some of the words that are neither quoted nor said in the plan."""
    kept = {"", *map(_bare, plan.split())}
    parts = _QUOTED.split(intent)
    for at in range(0, len(parts), 2):
        words = re.split(r"(?<=\s)", parts[at])
        parts[at] = "".join(word for word in words if _bare(word) in kept or rng.random() >= _LOST)
    return "".join(parts)


def _bare(word: str) -> str:
    return word.strip(" .,:;?!()$'\"").casefold()
