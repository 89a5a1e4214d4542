"""How texts are compared: cleaning, tokens, inequalities, exactly as the public dialects define them.

Sources: VisualWebArena and WebArena, `evaluation_harness/evaluators.py`; what differs between the two is kept
    apart.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

_INEQUALITY = re.compile(r"\s*(<=|>=|==|<|>)\s*(-?\d+(?:\.\d+)?)\s*")
_TOLERANCE = 1e-8
_ABBREVIATIONS = (
    "adm ave bros co col corp cos ct dr ft gen inc jr lt ltd maj mg mr mrs ms ok prof rep sen sr st vs yr "
    "jan feb aug sep sept oct nov dec tues wed fri ariz calif colo conn fla ga ill kan ky mich minn nev okla ore pa "
    "tenn va vt wash wis a.m p.m d.c l.a n.c n.d n.h n.j n.m n.y r.i s.c w.va u.k u.n u.s u.s.a ph.d "
    "c d e f g h k l m n p r s t v w"
)
"""Those of NLTK's English sentence splitter that an answer may hold. It knows neither "etc." nor "e.g."."""


def clean_answer(text: str, dialect: str) -> str:
    """Drop one pair of matching quotes and lower the case; `webarena` strips white space first."""
    if dialect == "webarena":
        text = text.strip()
    for mark in ("'", '"'):
        if text.startswith(mark) and text.endswith(mark):
            return text[1:-1].lower()
    return text.lower()


@cache
def _tokenizers() -> tuple[Any, Any]:
    # NLTK's word_tokenize needs downloaded data for its sentence splitter only. Untrained, the same splitter
    # knows no abbreviations; those that end in a period within a sentence are given here.
    from nltk.tokenize.destructive import NLTKWordTokenizer  # type: ignore[import-untyped]
    from nltk.tokenize.punkt import (  # type: ignore[import-untyped]
        PunktParameters,
        PunktSentenceTokenizer,
    )

    parameters = PunktParameters()
    parameters.abbrev_types |= set(_ABBREVIATIONS.split())
    return PunktSentenceTokenizer(parameters), NLTKWordTokenizer()


def tokens(text: str) -> list[str]:
    """Words as NLTK's `word_tokenize` gives them (Treebank rules, sentence by sentence)."""
    sentences, words = _tokenizers()
    return [word for sentence in sentences.tokenize(text) for word in words.tokenize(sentence)]


def includes(reference: str, text: str, dialect: str, *, tokenize: bool) -> tuple[bool, str]:
    """Whether a text includes a reference, and how it was looked for.

    `vwa`: a reference of one token must be a token of the text, any other a part of it. `webarena`: the same,
    but only where `tokenize` is set and the reference is one character long.
    """
    wanted, held = clean_answer(reference, dialect), clean_answer(text, dialect)
    if dialect == "webarena":
        as_token = tokenize and len(wanted) == 1 and len(tokens(wanted)) == 1
    else:
        as_token = len(tokens(wanted)) == 1
    if as_token:
        return wanted in tokens(held), "as a word of its own"
    return wanted in held, "anywhere in the text"


def same(reference: str, text: str, dialect: str) -> bool:
    """Whether two texts are equal after cleaning."""
    return clean_answer(reference, dialect) == clean_answer(text, dialect)


def whole_number(text: str) -> int | None:
    """A text as a whole number, commas dropped; None when it is none."""
    try:
        return int(text.strip().replace(",", ""))
    except ValueError:
        return None


def satisfies(value: float, inequality: str) -> bool:
    """Whether a value satisfies a text such as `>= 3`; every comparison is tolerant by 1e-8."""
    match = _INEQUALITY.fullmatch(inequality)
    if match is None:
        raise ValueError(f"{inequality!r} is not an inequality such as '>= 3'")
    bound = float(match[2])
    return {
        "<=": value <= bound + _TOLERANCE,
        ">=": value >= bound - _TOLERANCE,
        "==": abs(value - bound) <= _TOLERANCE,
        "<": value < bound + _TOLERANCE,
        ">": value > bound - _TOLERANCE,
    }[match[1]]
