"""Needles and haystacks: one sentence hidden at a depth of a long real text, and a question that only it answers."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from confkv_agents.errors import ConfigError, PromptError
from confkv_agents.evaluation.bench.texts import encode

_THINGS = [
    "adapter",
    "anchor",
    "basket",
    "bridge",
    "candle",
    "compass",
    "ladder",
    "lantern",
    "magnet",
    "mirror",
    "pillow",
    "saddle",
]
_CITIES = [
    "Lisbon",
    "Oslo",
    "Cairo",
    "Lima",
    "Quito",
    "Hanoi",
    "Vienna",
    "Dublin",
    "Nairobi",
    "Havana",
    "Prague",
    "Zagreb",
]
_NAMES = ["Marta", "Jonas", "Amina", "Pedro", "Ingrid", "Tomas", "Leila", "Oscar"]
_COLOURS = ["amber", "silver", "crimson", "violet", "golden", "emerald", "scarlet", "ivory"]
_ANIMALS = ["falcon", "otter", "badger", "heron", "lynx", "walrus", "gecko", "bison"]
_PLACES = [
    "old bakery",
    "stone chapel",
    "boat house",
    "apple orchard",
    "music school",
    "train station",
    "glass tower",
    "flower market",
]
_BEFORE, _AFTER = "Read this text:\n\n", "\n\nThe text ends here."


@dataclass(frozen=True)
class Needle:
    """What is hidden and asked for.

    Attributes:
        form: Name of its form.
        sentence: Goes into the haystack.
        question: What is asked.
        lead: Begins the answer, so that a small model answers in a form that can be compared.
        answer: What must follow, exactly.
    """

    form: str
    sentence: str
    question: str
    lead: str
    answer: str

    def found_in(self, text: str) -> bool:
        """Whether an answer says it: whole, and not as a part of a longer word or number."""
        said = _normal(text)
        return re.search(rf"(?<![\w-]){re.escape(_normal(self.answer))}(?![\w-])", said) is not None


def number_needle(chance: random.Random) -> Needle:
    """A seven-digit number for a city."""
    city, number = chance.choice(_CITIES), str(chance.randint(10**6, 10**7 - 1))
    lead = f"The access code for {city} is"
    return Needle("number", f"{lead} {number}.", f"What is the access code for {city}?", lead, number)


def word_needle(chance: random.Random) -> Needle:
    """A code of two words for a person."""
    name, code = chance.choice(_NAMES), f"{chance.choice(_COLOURS)}-{chance.choice(_ANIMALS)}"
    lead = f"The secret password of {name} is"
    return Needle("word", f'{lead} "{code}".', f"What is the secret password of {name}?", f'{lead} "', code)


def fact_needle(chance: random.Random) -> Needle:
    """A fact in an ordinary sentence: where somebody keeps something."""
    name, thing, place = chance.choice(_NAMES), chance.choice(_THINGS), chance.choice(_PLACES)
    colour = chance.choice(_COLOURS)
    lead = f"{name} keeps the {colour} {thing} in the"
    return Needle("fact", f"{lead} {place}.", f"Where does {name} keep the {colour} {thing}?", lead, place)


FORMS: dict[str, Callable[[random.Random], Needle]] = {
    "number": number_needle,
    "word": word_needle,
    "fact": fact_needle,
}


@dataclass
class Haystack:
    """Real text as tokens, from which windows of any length are cut.

    Args:
        tokenizer: The model's.
        texts: Their contents, joined.
    """

    tokenizer: object
    texts: Sequence[str]
    ids: list[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.ids = encode(self.tokenizer, "\n\n".join(self.texts))

    def window(self, start: int, length: int) -> str:
        """Return about `length` tokens of text from token `start` on, going round at the end."""
        if length > len(self.ids):
            raise ConfigError(
                f"the texts have {len(self.ids):,} tokens, but a haystack of {length:,} is asked for; give longer "
                "texts with --texts, or a smaller --context"
            )
        start %= len(self.ids)
        ids = (self.ids + self.ids)[start : start + length]
        text: str = self.tokenizer.decode(ids, clean_up_tokenization_spaces=False)  # type: ignore[attr-defined]
        return text.strip("\ufffd \n")


@dataclass(frozen=True)
class NeedlePrompt:
    """A prompt ready to read.

    Attributes:
        parts: Token ids of each turn's part; one part if the question is in the same turn.
        depth: Share of the haystack's tokens that lie before the needle, as it came out.
        needle: What is hidden.
        text: The whole prompt.
        segments: For each part the kind and the tokens of its segments in order; empty where there are none to tell.
    """

    parts: tuple[tuple[int, ...], ...]
    depth: float
    needle: Needle
    text: str
    segments: tuple[tuple[tuple[str, int], ...], ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens of all parts."""
        return sum(map(len, self.parts))


def hide(needle: Needle, hay: str, depth: float) -> tuple[str, str]:
    """Return the text before and after the needle, cut where a sentence ends nearest to `depth` (0 to 1)."""
    if depth <= 0:
        return "", hay
    if depth >= 1:
        return hay, ""
    target = round(depth * len(hay))
    ends = [0, len(hay), *(match.end() for match in re.finditer(r"[.!?:]\s+|\n\n+", hay))]
    cut = min(ends, key=lambda end: abs(end - target))
    if abs(cut - target) > max(200, len(hay) // 20):  # no sentence ends near: between two words then
        spaces = [match.end() for match in re.finditer(r"\s+", hay)]
        cut = min([cut, *spaces], key=lambda end: abs(end - target))
    return hay[:cut].rstrip(" "), hay[cut:]


def plant(needle: Needle, hay: str, depth: float) -> tuple[str, str]:
    """Return the text with the needle's sentence in it, and what lies before the sentence; see `hide`."""
    before, after = hide(needle, hay, depth)
    return "\n".join(part for part in (f"{before} {needle.sentence}".strip(), after.strip()) if part), before


Renderer = Callable[[list[dict[str, str]], bool], str]


def build_prompt(
    tokenizer: object,
    render: Renderer,
    haystack: Haystack,
    needle: Needle,
    *,
    context: int,
    depth: float,
    start: int,
    later_turn: bool,
) -> NeedlePrompt:
    """Put a needle into a haystack so that the whole prompt has `context` tokens, or a few less.

    Args:
        tokenizer: The model's.
        render: Messages and whether the assistant speaks next -> text, by the model's chat template.
        haystack: Where the text comes from.
        needle: What to hide.
        context: Tokens of the prompt, question and template included.
        depth: 0 (before all text) to 1 (after it).
        start: Token of the haystack that the text begins with.
        later_turn: Ask in a turn of its own, after the model has "read" the text.

    Raises:
        ConfigError: The context is too small, or the texts are too short.
        PromptError: The chat template does not let a conversation grow.
    """
    length = context
    for _ in range(8):
        if length < 32:
            raise ConfigError(f"--context {context} leaves no room for text beside the question; make it larger")
        hay = haystack.window(start, length)
        document, before = plant(needle, hay, depth)
        texts = _turns(render, document, needle, later_turn)
        parts = tuple(tuple(encode(tokenizer, text)) for text in texts)
        over = sum(map(len, parts)) - context
        if -8 <= over <= 0:
            break
        length -= over if over > 0 else over + 4
    else:
        if over > 0:
            raise ConfigError(f"--context {context} cannot be met: the text's tokens change too much with its length")
    share = len(encode(tokenizer, before)) / max(1, len(encode(tokenizer, hay)))
    return NeedlePrompt(parts, share, needle, "".join(texts))


def _turns(render: Renderer, document: str, needle: Needle, later_turn: bool) -> list[str]:
    if not later_turn:
        ask = f"{_BEFORE}{document}{_AFTER} Now answer this question about it in a few words: {needle.question}"
        return [render([{"role": "user", "content": ask}], True) + needle.lead]
    first = [
        {"role": "user", "content": f"{_BEFORE}{document}{_AFTER} I will ask about it later."},
        {"role": "assistant", "content": "I have read the text."},
    ]
    ask = f"Answer this question about the text in a few words: {needle.question}"
    read = render(first, False)
    whole = render([*first, {"role": "user", "content": ask}], True) + needle.lead
    if not whole.startswith(read):
        raise PromptError(
            "the model's chat template rewrites earlier turns when one is added, so a question cannot be asked "
            "in a later turn; leave out --later-turn"
        )
    return [read, whole[len(read) :]]


def _normal(text: str) -> str:
    text = re.sub(r"(?<=\d)[, ](?=\d)", "", text.lower())
    return " ".join(text.split())
