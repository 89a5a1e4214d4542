"""Episodes on short pages: of every page, the lines that the episode needs and a few others.

What costs in training is reading: of 2,000 tokens of an episode 130 are learned. How a task is put matters more than
how long its pages are, so many wordings are learned on short pages at half the price, beside whole episodes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

from confkv_agents.pilot.demonstrations import Demonstration
from confkv_agents.web.actions import format_action, parse_action
from confkv_agents.web.tasks import load_template
from confkv_agents.web.tasks.oracle import NOW, PLAN

_WORD = re.compile(r"\w+(?:[-.@']\w+)*")
_FRAME = re.compile(r"Tab \d+|Page \d+ of \d+|banner|page \[|contentinfo .*as before|.* as before")
_PICTURE = "\0"  # stands for a picture while lines are chosen; it is at the end of its line
_ID = re.compile(r"(?<!\\)\[(\d+)\]")  # in page text and notes, brackets of quoted text have backslashes
_COMMON = 4  # lines of a page that a word may be in and still tell one from another


def condensed(made: Demonstration, seed: int = 0, others: float = 0.15) -> Demonstration | None:
    """Shorten the pages of an episode.

    Args:
        made: A played episode.
        seed: Of the choice of other lines.
        others: Share of the lines that the episode does not need which stay.

    Returns:
        The conversation on pages of the lines whose words come up in the answers after them, of those that say where
        on a page one is, and of some others; with every picture and its line where pictures must be looked at, else
        without pictures; with other element ids. None where there are no pages.
    """
    if not made.messages or made.messages[0]["role"] != "system":
        return None
    sees = load_template(made.task.rpartition(":")[0]).visual != "easy"
    rng = random.Random(f"{seed}:{made.task}:lines")
    new = deepcopy(made)
    for at, message in enumerate(new.messages):
        if message["role"] != "user":
            continue
        pictures = [part for part in message["content"] if "picture" in part] if sees else []
        told = "".join(part.get("text", _PICTURE * sees) for part in message["content"])
        task, blank, page = told.partition("\n\n") if at == 1 else ("", "", told)
        after = [
            part["text"] for later in made.messages[at:] if later["role"] == "assistant" for part in later["content"]
        ]
        said = "\n".join(line for text in after for line in text.split("\n") if not line.startswith((PLAN, NOW)))
        short = shortened(page, set(_WORD.findall(said)), rng, others)
        texts = (task + blank + short).split(_PICTURE)
        message["content"] = [{"text": texts[0]}]
        for picture, text in zip(pictures, texts[1:], strict=True):
            message["content"] += [picture, {"text": text}] if text else [picture]
    return with_other_ids(new, random.Random(f"{seed}:{made.task}:ids"))


def with_other_ids(made: Demonstration, rng: random.Random) -> Demonstration:
    """Draw other element ids, in the same order, with gaps, and the same ones on all pages.

    A search field is [2] on every page of one site and [6] on those of another; an answer has to look up drawn ids.

    Args:
        made: An episode; its pages and answers are copied.
        rng: Draws the ids.
    """
    ids = [rng.randrange(8)]

    def other(number: int) -> int:
        while len(ids) <= number:
            ids.append(ids[-1] + 1 + (rng.randint(1, 4) if rng.random() < 0.25 else 0))
        return ids[number]

    new = deepcopy(made)
    for at, message in enumerate(new.messages):
        for number, part in enumerate(message["content"]):
            if "text" not in part or message["role"] == "system":
                continue
            if message["role"] == "assistant":
                part["text"] = _answer(part["text"], other)
            elif (at, number) == (1, 0):
                task, blank, page = part["text"].partition("\n\n")
                part["text"] = task + blank + _numbers(page, other)
            else:
                part["text"] = _numbers(part["text"], other)
    return new


def _numbers(text: str, other: Callable[[int], int]) -> str:
    return _ID.sub(lambda found: f"[{other(int(found[1]))}]", text)


def _answer(text: str, other: Callable[[int], int]) -> str:
    """An answer with other ids; a tab's number, seconds, and what is typed are none."""
    *notes, line = text.split("\n")
    action = parse_action(line)
    if action.element is not None:
        target = other(action.target) if action.name == "drag" and action.target is not None else action.target
        line = format_action(replace(action, element=other(action.element), target=target))
    # A plan has the task's words.
    notes = [each if each.startswith((PLAN, NOW)) else _numbers(each, other) for each in notes]
    return "\n".join((*notes, line))


def shortened(page: str, said: set[str], rng: random.Random, others: float) -> str:
    """Keep of a page lines with a word that is said later, those that say where one is or have a picture, and others.

    Args:
        page: Its text.
        said: Words said later; one that is in many lines does not count.
        rng: Chooses the others.
        others: Share of the rest that stays.
    """
    lines = page.split("\n")
    words = [set(_WORD.findall(line)) for line in lines]
    telling = {word for word in said if sum(word in each for each in words) <= _COMMON}
    return "\n".join(
        line
        for line, own in zip(lines, words, strict=True)
        if not line or line.endswith(_PICTURE) or _FRAME.match(line) or own & telling or rng.random() < others
    )
