"""Turns the content's templates into text: slots drawn once for a post, comments that fit it, nothing said twice."""

import random
import re
from collections import deque
from collections.abc import Sequence
from functools import cache
from string import Formatter
from typing import TypeVar

from .content import common
from .content.kinds import Board

_WARES = ("ware", "price", "ware_b", "price_b")
_LETTERS = "BCDFGHJKLMNPRSTVWXZ"
# Where a sentence begins: after what ends one, perhaps in bold. `_AT_START` looks at what stands before a slot.
_START = re.compile(r"([.!?]\s+|\n+)(\*{0,2})([a-z])")
_FIRST = re.compile(r"()(\*{0,2})([a-z])")
_AT_START = re.compile(r"(?:[.!?]\s+|\n+)\*{0,2}\Z")
_NUMBERS = {"n": range(3, 10), "few": range(2, 5), "many": range(11, 49), "money": range(20, 100, 5)}
_NAMES: dict[str, Sequence[str]] = {
    "hour": common.HOURS, "day": common.DAYS, "month": common.MONTHS, "town": common.TOWNS,
    "street": common.STREETS, "person": common.PEOPLE,
}  # fmt: skip
_MORE = {"text": common.GENERAL, "link": common.ON_READS, "picture": common.ON_PICTURES}
T = TypeVar("T")
Pools = tuple[tuple[float, Sequence[str]], ...]  # with the share of draws that end at each


def pick(rng: random.Random, items: Sequence[T]) -> T:
    """`rng.choice(items)`, drawn alike and in half the time: a new state draws ten thousand times."""
    count = len(items)
    bits = count.bit_length()
    index = rng.getrandbits(bits)
    while index >= count:
        index = rng.getrandbits(bits)
    return items[index]


def code(rng: random.Random) -> str:
    """A short code that cannot be taken for anything else, such as `KT-482`."""
    return "".join(pick(rng, _LETTERS) for _ in range(2)) + "-" + "".join(pick(rng, "23456789") for _ in range(3))


class Words(dict[str, str]):
    """The slots of one post; what has not been asked for yet is drawn when it is."""

    def __init__(self, board: Board, rng: random.Random, known: dict[str, str] | None = None) -> None:
        super().__init__(known or {})
        self._board = board
        self._rng = rng

    def __missing__(self, name: str) -> str:
        if name in self._board.words:
            drawn = pick(self._rng, self._board.words[name])
        elif name in _NUMBERS:
            drawn = str(pick(self._rng, _NUMBERS[name]))
        elif name == "code":
            drawn = code(self._rng)
        else:
            drawn = pick(self._rng, _NAMES[name])
        self[name] = drawn
        return drawn


@cache
def _parts(template: str) -> tuple[tuple[str, str, bool], ...]:
    """A template in parts: text with its capital letters, the slot after it, and whether that begins a sentence."""
    parts = []
    for number, (text, slot, _, _) in enumerate(Formatter().parse(template)):
        begins = _AT_START.search(text) is not None or (number == 0 and not text.strip("*"))
        if number == 0:
            text = _FIRST.sub(_capital, text, count=1) if _FIRST.match(text) else text
        parts.append((_START.sub(_capital, text), slot or "", begins))
    return tuple(parts)


@cache
def _plain(template: str) -> str:
    """The text of a template without slots; empty where there are any."""
    return "" if any(slot for _, slot, _ in _parts(template)) else "".join(text for text, _, _ in _parts(template))


def _capital(found: re.Match[str]) -> str:
    return found[1] + found[2] + found[3].upper()


def fill(template: str, words: Words) -> str:
    """Fill the slots; sentences that begin with one get a capital letter."""
    text = ""
    for before, slot, begins in _parts(template):
        text += before
        if slot:
            word = words[slot]
            text += word[0].upper() + word[1:] if begins else word
    return text


class Chatter:
    """Writes the comments under a post and keeps count of what has been said.

    Args:
        board: Of the post.
        rng: Where everything is drawn from.
        said: What has been said anywhere; grows.
        words: The post's: a remark knows its names of things, but dates, people and numbers are its own.
    """

    def __init__(self, board: Board, rng: random.Random, said: set[str], words: Words) -> None:
        self._board = board
        self._rng = rng
        self._said = said
        self._known = {name: word for name, word in words.items() if name in board.words or name in _WARES}
        self._lately: deque[str] = deque(maxlen=21)

    def under_post(self, kind: str) -> str:
        """A comment on a post of a kind (text, link, picture)."""
        own = self._board.pictured if kind == "picture" else self._board.remarks
        return self._say(((0.5, own), (0.9, _MORE[kind]), (1.0, common.GENERAL)))

    def reply(self, parent: str, by_author: bool) -> str:
        """An answer to a comment; the author of the post answers in another way than others do."""
        question = "?" in parent
        if by_author:
            return self._repeat(((1.0, common.AUTHOR_ANSWERS if question else common.AUTHOR_THANKS),))
        if question:
            return self._repeat(((1.0, common.TO_QUESTIONS),))
        return self._repeat(((5 / 6, common.REPLIES), (1.0, self._board.remarks)))

    def _draw(self, pools: Pools) -> str:
        """A template of one of the pools."""
        share = self._rng.random()
        for end, pool in pools:
            if share < end:
                return pick(self._rng, pool)
        return pick(self._rng, pools[-1][1])

    def _say(self, pools: Pools) -> str:
        """Draw until something new comes."""
        rng = self._rng
        text = ""
        for attempt in range(30):
            template = self._draw(pools)
            own = Words(self._board, rng, self._known)
            text = _plain(template) or fill(template, own)
            if not text.endswith("?") and (rng.random() < 0.22 or attempt > 3):
                text = f"{text} {fill(pick(rng, common.CLOSERS), own)}"
            if attempt > 8:
                text = f"{text}\n\n{fill(pick(rng, common.GENERAL), own)}"
            if text not in self._said:
                break
        return self._remember(text)

    def _repeat(self, pools: Pools) -> str:
        """Draw until something new comes, or for a while; what has not been said lately will do then."""
        text = ""
        for attempt in range(8):
            template = self._draw(pools)
            text = _plain(template) or fill(template, Words(self._board, self._rng, self._known))
            if attempt > 6 or (text not in self._said and text not in self._lately):
                break
        return self._remember(text)

    def _remember(self, text: str) -> str:
        self._lately.append(text)
        self._said.add(text)
        return text
