"""Needles: forms, comparison, and that a prompt holds its needle whole at the depth asked."""

from __future__ import annotations

import random

import pytest

from confkv_agents.errors import ConfigError, PromptError
from confkv_agents.evaluation.bench.asking import renderer
from confkv_agents.evaluation.bench.needles import FORMS, Haystack, Needle, NeedlePrompt, build_prompt, hide
from tests.engine.tiny import CHATML, tiny_llama

TEXT = " ".join(f"This is sentence {number} of a text about nothing much." for number in range(200))
LOADED = tiny_llama()
HAYSTACK = Haystack(LOADED.tokenizer, [TEXT])


def needle(form: str = "number", seed: int = 1) -> Needle:
    return FORMS[form](random.Random(seed))


def prompt(depth: float, *, context: int = 1500, later_turn: bool = False, form: str = "number") -> NeedlePrompt:
    return build_prompt(
        LOADED.tokenizer,
        renderer(LOADED),
        HAYSTACK,
        needle(form),
        context=context,
        depth=depth,
        start=700,
        later_turn=later_turn,
    )


@pytest.mark.parametrize("form", FORMS)
def test_needle_says_its_answer_after_its_lead(form: str) -> None:
    for seed in range(20):
        made = needle(form, seed)
        assert made.sentence.startswith(made.lead)
        assert made.found_in(made.sentence.removeprefix(made.lead))
        assert not made.found_in(made.question + made.lead)
        assert needle(form, seed) == made


def test_answer_counts_only_if_it_is_whole() -> None:
    number = Needle("number", "", "", "", "1234567")
    assert number.found_in(" 1,234,567.")
    assert number.found_in("is 123 4567")
    assert not number.found_in("12345678")
    assert not number.found_in("123456")
    word = Needle("word", "", "", "", "amber-falcon")
    assert word.found_in('Amber-Falcon".')
    assert not word.found_in("amber-falcons")
    assert not word.found_in("dark-amber-falcon")
    assert Needle("fact", "", "", "", "old bakery").found_in("old\nbakery, I think")


def test_hiding_cuts_between_sentences_nearest_to_the_depth() -> None:
    hay = "One two. Three four. Five six. Seven eight."
    assert hide(needle(), hay, 0.0) == ("", hay)
    assert hide(needle(), hay, 1.0) == (hay, "")
    assert hide(needle(), hay, 0.5) == ("One two. Three four.", "Five six. Seven eight.")
    assert hide(needle(), hay, 0.25) == ("One two.", "Three four. Five six. Seven eight.")


def test_hiding_in_text_without_sentences_cuts_between_words() -> None:
    before, after = hide(needle(), "word " * 2000, 0.5)
    assert before.endswith("word")
    assert after.startswith("word")
    assert len(before) / 10000 == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("later_turn", [False, True])
@pytest.mark.parametrize("depth", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_prompt_holds_the_needle_whole_at_the_depth_asked(depth: float, later_turn: bool) -> None:
    made = prompt(depth, later_turn=later_turn)
    read = "".join(LOADED.tokenizer.decode(list(part)) for part in made.parts)
    assert read.count(made.needle.sentence) == 1
    assert read.count(made.needle.answer) == 1
    place = read.index(made.needle.sentence)
    begin, end = read.index("Read this text:\n\n") + 17, read.index("\n\nThe text ends here.")
    assert (place - begin) / (end - begin - len(made.needle.sentence)) == pytest.approx(depth, abs=0.04)
    assert made.depth == pytest.approx(depth, abs=0.04)


@pytest.mark.parametrize("context", [600, 1000, 3000])
def test_prompt_has_the_tokens_asked_for_or_a_few_less(context: int) -> None:
    assert context - 8 <= prompt(0.5, context=context).tokens <= context


def test_question_of_a_later_turn_is_in_a_part_of_its_own() -> None:
    made = prompt(0.5, later_turn=True)
    first, second = ("".join(LOADED.tokenizer.decode(list(part))) for part in made.parts)
    assert made.needle.question not in first
    assert second.startswith("<|im_start|>user")
    assert made.needle.question in second
    assert second.endswith(made.needle.lead)


def test_template_that_rewrites_earlier_turns_is_refused_for_later_questions() -> None:
    loaded = tiny_llama(CHATML.replace("{% for m in messages %}", "{{ messages|length }}{% for m in messages %}"))
    with pytest.raises(PromptError, match="--later-turn"):
        build_prompt(
            loaded.tokenizer, renderer(loaded), HAYSTACK, needle(), context=900, depth=0.5, start=0, later_turn=True
        )


def test_model_without_chat_template_gets_plain_lines() -> None:
    loaded = tiny_llama(template=None)
    made = build_prompt(
        loaded.tokenizer, renderer(loaded), HAYSTACK, needle(), context=900, depth=0.5, start=0, later_turn=False
    )
    assert made.text.endswith(f"{made.needle.question}\n\nAnswer: {made.needle.lead}")


def test_haystack_goes_round_but_never_repeats_itself() -> None:
    size = len(HAYSTACK.ids)
    assert HAYSTACK.window(size - 5, 50)
    assert HAYSTACK.window(3, size).count("sentence 5 of") == 1
    with pytest.raises(ConfigError, match="--texts"):
        HAYSTACK.window(0, size + 1)


def test_context_without_room_for_text_is_refused() -> None:
    with pytest.raises(ConfigError, match="--context 60"):
        prompt(0.5, context=60)
