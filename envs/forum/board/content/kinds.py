"""What the writers of the content use: a board of talks, views and reads, whose words are drawn by the seed.

Texts hold slots such as `{plant}`. A slot is filled once for a post, so title, body and comments agree. Slots
of numbers: `{n}` (3 to 9), `{few}` (2 to 4), `{many}` (11 to 48), `{hour}`, `{money}`; of names: `{day}`, `{month}`,
`{town}`, `{street}`, `{person}`, `{code}`. On boards with wares `{ware}` and `{price}` are a product of the shop,
`{ware_b}` and `{price_b}` another one.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Talk:
    """A text post; `poll` is a question with its answers."""

    title: str
    body: str
    poll: tuple[str, ...] = ()


@dataclass(frozen=True)
class View:
    """A picture post: what it may show. `noun` takes the colour from the shop's goods of that noun."""

    title: str
    kinds: tuple[str, ...]
    counts: tuple[int, ...]
    scenes: tuple[str, ...]
    colours: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    noun: str = ""
    body: str = ""


@dataclass(frozen=True)
class Read:
    """A link post, and the article it leads to."""

    title: str
    host: str
    headline: str
    body: str


@dataclass(frozen=True)
class Board:
    """A community and everything that is written in it."""

    name: str
    title: str
    description: str
    rules: tuple[str, ...]
    hue: int
    words: dict[str, tuple[str, ...]]
    talks: tuple[Talk, ...]
    views: tuple[View, ...]
    reads: tuple[Read, ...]
    remarks: tuple[str, ...]
    pictured: tuple[str, ...]
    wares: tuple[str, ...] = ()
    """Nouns of the shop's goods that are written about; `*` is everything that needs no size and is not eaten."""
