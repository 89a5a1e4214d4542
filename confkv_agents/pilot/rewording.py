"""Demonstrations in other words: the same episode under another wording of its task, and with other codes.

What is done depends on the task, not on how it is put, so every wording of a template makes a new conversation of an
episode that was played once. Beside some tasks something is said that changes nothing. Codes and telephone numbers mean
nothing but themselves; with others in their places, what is read early and written late cannot be known by heart.
"""

from __future__ import annotations

import functools
import random
import re
from copy import deepcopy

from confkv_agents.pilot.demonstrations import Demonstration
from confkv_agents.web.tasks import World, load_template

_WORLDS = 16
OPENING = "Task: "
_CODE = re.compile(r"\b(?:[A-Z]{2}-?\d{3}|555-\d{4})\b")  # of goods, frames and coupons; of telephones
_ASIDE = 0.4  # share of the tasks that something is said beside
_BEFORE = (
    "Please help me.", "Here is a small job.", "I hope you can do this for me.", "Good morning!", "One more thing.",
    "My hands are full, so this is yours.", "I never get round to it myself.", "Hello.", "It should not take long.",
    "My sister asked me for this.", "I am on the train and cannot do it myself.", "This has waited long enough.",
)  # fmt: skip
_AFTER = (
    "Thank you.", "Take your time.", "Nothing more than that.", "No more than this.", "Leave everything else as it is.",
    "I count on you.", "Please be exact.", "There is no hurry.", "It is for a friend.", "I will look at it tonight.",
    "You need not explain anything.", "Please do it now.",
)  # fmt: skip
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"


def reworded(made: Demonstration, seed: int = 0) -> Demonstration | None:
    """Put an episode's task in other words, of its template's for the same split.

    Args:
        made: A played episode.
        seed: Of the choice.

    Returns:
        The conversation with another task in its first message and other codes throughout, or None where there is
        nothing to choose: it stands for no template (a chat, say), its task is in none of the template's wordings of
        today, or there is one only.
    """
    if not made.messages or made.messages[0]["role"] != "system":
        return None
    name, _, number = made.task.rpartition(":")
    told, blank, page = made.messages[1]["content"][0].get("text", "").partition("\n\n")
    before = told.removeprefix(OPENING)
    intents = load_template(name).intents(int(number), _world(int(number)))
    others = [intent for intent in intents if intent != before]
    if before not in intents or not others:
        return None
    new = deepcopy(made)
    rng = random.Random(f"{seed}:{made.task}")
    intent = with_aside(rng.choice(others), rng)
    new.messages[1]["content"][0]["text"] = f"{OPENING}{intent}{blank}{page}"
    _change_codes(new, random.Random(f"{seed}:{made.task}:codes"))
    return new


def with_aside(intent: str, rng: random.Random) -> str:
    """Say something that changes nothing beside two tasks of five."""
    if rng.random() >= _ASIDE:
        return intent
    return rng.choice([f"{rng.choice(_BEFORE)} {intent}", f"{intent} {rng.choice(_AFTER)}"])


def _change_codes(made: Demonstration, rng: random.Random) -> None:
    """Put a new code of the same form in each one's place, the same one wherever it stands."""
    texts = [part for message in made.messages for part in message["content"] if "text" in part]
    old = dict.fromkeys(code for part in texts for code in _CODE.findall(part["text"]))
    new: dict[str, str] = {}
    for code in old:
        while (drawn := _like(code, rng)) in new.values() or drawn in old:
            pass
        new[code] = drawn
    for part in texts:
        part["text"] = _CODE.sub(lambda found: new[found[0]], part["text"])


def _like(code: str, rng: random.Random) -> str:
    ground = code[:4] if code.startswith("555-") else ""
    rest = code[len(ground) :]
    signs = (rng.choice(_LETTERS) if sign.isalpha() else rng.choice("0123456789") for sign in rest.replace("-", ""))
    drawn = "".join(signs)
    return ground + (f"{drawn[:2]}-{drawn[2:]}" if "-" in rest else drawn)


@functools.lru_cache(_WORLDS)
def _world(seed: int) -> World:
    return World(seed)
