"""Episodes on short pages: of every page, the lines that the episode needs and a few others.

What costs in training is reading: of 2,000 tokens of an episode 130 are learned. How a task is put matters more than
how long its pages are, so many wordings are learned on short pages at half the price, beside whole episodes.
"""

from __future__ import annotations

import random
import re
from copy import deepcopy

from confkv_agents.pilot.demonstrations import Demonstration
from confkv_agents.web.tasks import load_template
from confkv_agents.web.tasks.oracle import NOW, PLAN

_WORD = re.compile(r"\w+(?:[-.@']\w+)*")
_FRAME = re.compile(r"Tab \d+|Page \d+ of \d+|banner|page \[|contentinfo .*as before|.* as before")
_PICTURE = "\0"  # stands for a picture while lines are chosen; it is at the end of its line
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
        without pictures. None where there are no pages.
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
    return new


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
