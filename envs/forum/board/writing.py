"""Turns the content's templates into text: slots drawn once for a post, comments that fit it, nothing said twice."""

import random
import re
from collections.abc import Sequence
from typing import Any

from .content import common
from .content.kinds import Board

_WARES = ("ware", "price", "ware_b", "price_b")
_LETTERS = "BCDFGHJKLMNPRSTVWXZ"
_START = re.compile(r"(^|[.!?]\s+|\n+)(\*{0,2})([a-z])")


def code(rng: random.Random) -> str:
    """A short code that cannot be taken for anything else, such as `KT-482`."""
    return "".join(rng.choice(_LETTERS) for _ in range(2)) + "-" + "".join(rng.choice("23456789") for _ in range(3))


class Words(dict[str, str]):
    """The slots of one post; what has not been asked for yet is drawn when it is."""

    def __init__(self, board: Board, rng: random.Random, known: dict[str, str] | None = None) -> None:
        super().__init__(known or {})
        self._board = board
        self._rng = rng

    def __missing__(self, name: str) -> str:
        rng = self._rng
        drawn: Any
        if name in self._board.words:
            drawn = rng.choice(self._board.words[name])
        elif name == "n":
            drawn = rng.randint(3, 9)
        elif name == "few":
            drawn = rng.randint(2, 4)
        elif name == "many":
            drawn = rng.randint(11, 48)
        elif name == "money":
            drawn = rng.randint(4, 19) * 5
        elif name == "code":
            drawn = code(rng)
        else:
            pools = {
                "hour": common.HOURS, "day": common.DAYS, "month": common.MONTHS, "town": common.TOWNS,
                "street": common.STREETS, "person": common.PEOPLE,
            }  # fmt: skip
            drawn = rng.choice(pools[name])
        self[name] = str(drawn)
        return self[name]


def fill(template: str, words: Words) -> str:
    """Fill the slots; sentences that begin with one get a capital letter."""
    filled = template.format_map(words)
    return _START.sub(lambda found: found[1] + found[2] + found[3].upper(), filled)


class Chatter:
    """Writes the comments of a board and keeps count of what has been said."""

    def __init__(self, board: Board, rng: random.Random, said: set[str]) -> None:
        self._board = board
        self._rng = rng
        self._said = said
        self._lately: list[str] = []

    def under_post(self, kind: str, words: Words) -> str:
        """A comment on a post of a kind (text, link, picture)."""
        own: Sequence[str] = self._board.pictured if kind == "picture" else self._board.remarks
        more: Sequence[str] = {"text": common.GENERAL, "link": common.ON_READS, "picture": common.ON_PICTURES}[kind]
        return self._say([(own, 5), (more, 4), (common.GENERAL, 1)], words)

    def reply(self, words: Words, parent: str, by_author: bool) -> str:
        """An answer to a comment; the author of the post answers in another way than others do."""
        question = "?" in parent
        if by_author:
            return self._say([(common.AUTHOR_ANSWERS if question else common.AUTHOR_THANKS, 1)], words, plain=True)
        if question:
            return self._say([(common.TO_QUESTIONS, 1)], words, plain=True)
        return self._say([(common.REPLIES, 5), (self._board.remarks, 1)], words, plain=True)

    def _say(self, pools: list[tuple[Sequence[str], int]], words: Words, plain: bool = False) -> str:
        """Draw until something new comes; `plain` things may be said again after a while."""
        rng = self._rng
        text = ""
        known = {k: v for k, v in words.items() if k in self._board.words or k in _WARES}
        for attempt in range(30):
            pool = rng.choices([pool for pool, _ in pools], [weight for _, weight in pools])[0]
            # A remark knows the post's names of things, but dates, people and numbers are its own.
            own = Words(self._board, rng, known)
            text = fill(rng.choice(list(pool)), own)
            if plain and (attempt > 6 or (text not in self._said and text not in self._lately)):
                break
            if not plain and not text.endswith("?") and (rng.random() < 0.22 or attempt > 3):
                text = f"{text} {fill(rng.choice(common.CLOSERS), own)}"
            if not plain and attempt > 8:
                text = f"{text}\n\n{fill(rng.choice(common.GENERAL), own)}"
            if not plain and text not in self._said:
                break
        self._lately = [*self._lately[-20:], text]
        self._said.add(text)
        return text
