"""How texts are compared, with values worked out by hand from the dialects' definitions."""

from __future__ import annotations

import pytest

from confkv_agents.web.evaluators.words import clean_answer, includes, satisfies, tokens, whole_number


@pytest.mark.parametrize(
    ("text", "vwa", "webarena"),
    [
        ('"Red"', "red", "red"),
        ("'Red'", "red", "red"),
        ("'Red\"", "'red\"", "'red\""),
        (" 'Red' ", " 'red' ", "red"),
        ("''Red''", "'red'", "'red'"),
        ("", "", ""),
    ],
)
def test_cleaning(text: str, vwa: str, webarena: str) -> None:
    assert clean_answer(text, "vwa") == vwa
    assert clean_answer(text, "webarena") == webarena


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It costs $34.50.", ["It", "costs", "$", "34.50", "."]),
        ("I have 5. Thank you.", ["I", "have", "5", ".", "Thank", "you", "."]),
        ("don't", ["do", "n't"]),
        ("1,299", ["1,299"]),
        ("100%", ["100", "%"]),
        ("a, b (c)", ["a", ",", "b", "(", "c", ")"]),
        ("twenty-one", ["twenty-one"]),
        ("12/03/2023", ["12/03/2023"]),
        ("Dr. Smith came.", ["Dr.", "Smith", "came", "."]),
        ("e@x.com", ["e", "@", "x.com"]),
        ('say "hi"', ["say", "``", "hi", "''"]),
        ("yes/no", ["yes/no"]),
        # These are what NLTK 3.10 gives with its English sentence splitter, whose abbreviations are a newspaper's.
        ("it has 0. nothing more", ["it", "has", "0.", "nothing", "more"]),
        ("sold by acme inc. for $5.", ["sold", "by", "acme", "inc.", "for", "$", "5", "."]),
        ("on nov. 5 at 3 p.m. he", ["on", "nov.", "5", "at", "3", "p.m.", "he"]),
        ("vol. 5 no. 3", ["vol", ".", "5", "no", ".", "3"]),
        ("smith et al. came, e.g. twice", ["smith", "et", "al", ".", "came", ",", "e.g", ".", "twice"]),
        ("see http://a.b/c?d=1. ok", ["see", "http", ":", "//a.b/c", "?", "d=1", ".", "ok"]),
    ],
)
def test_tokens_are_those_of_the_treebank(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("reference", "answer", "vwa", "webarena_alone", "webarena_of_many"),
    [
        ("0", "there are 10", False, False, True),
        ("0", "there are 0 of them", True, True, True),
        ("170", "000000170", False, True, True),
        ("red", "a redder one", False, True, True),
        ("red bag", "one red bags", True, True, True),
        ("$34", "it is $34", True, True, True),
        ("0.", "it is 0.", True, True, True),  # two tokens, so any part of the text will do
        ("Blue", "the BLUE one", True, True, True),
    ],
)
def test_must_include_in_both_dialects(
    reference: str, answer: str, vwa: bool, webarena_alone: bool, webarena_of_many: bool
) -> None:
    assert includes(reference, answer, "vwa", tokenize=True)[0] is vwa
    assert includes(reference, answer, "webarena", tokenize=True)[0] is webarena_alone
    assert includes(reference, answer, "webarena", tokenize=False)[0] is webarena_of_many


@pytest.mark.parametrize(
    ("value", "inequality", "holds"),
    [
        (3, ">= 3", True),
        (2, ">= 3", False),
        (3, "> 3", True),  # the dialect's comparisons all forgive 1e-8, strict ones too
        (4, "<= 3", False),
        (3, "== 3", True),
        (3.5, "== 3", False),
        (700, "< 700", True),
        (2, "<3", True),
    ],
)
def test_inequalities(value: float, inequality: str, holds: bool) -> None:
    assert satisfies(value, inequality) is holds


@pytest.mark.parametrize(
    ("text", "number"), [("12", 12), (" 1,299 ", 1299), ("12.5", None), ("twelve", None), ("-3", -3), ("", None)]
)
def test_whole_numbers(text: str, number: int | None) -> None:
    assert whole_number(text) == number
