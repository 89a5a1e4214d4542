"""An agent's transcript: whole needle in the place asked, segments that cover every token, turns that grow."""

from __future__ import annotations

import random

import pytest
import torch

from confkv_agents.cache import CacheConfig, ConfKVCache
from confkv_agents.errors import ConfigError, PromptError
from confkv_agents.evaluation.bench.asking import Grid, read, renderer
from confkv_agents.evaluation.bench.needles import FORMS, Haystack, NeedlePrompt
from confkv_agents.evaluation.bench.transcripts import OBSERVATION, OWN, PINNED, build_transcript
from tests.engine.tiny import CHATML, tiny_llama

LOADED = tiny_llama()
HAYSTACK = Haystack(LOADED.tokenizer, [" ".join(f"This is sentence {number} about nothing." for number in range(300))])


def transcript(place: int, *, context: int = 1600, pages: int = 4, loaded=LOADED) -> NeedlePrompt:
    return build_transcript(
        loaded.tokenizer,
        renderer(loaded),
        HAYSTACK,
        FORMS["number"](random.Random(3)),
        context=context,
        pages=pages,
        place=place,
        start=50,
        chance=random.Random(4),
    )


def pieces(made: NeedlePrompt) -> list[tuple[str, str]]:
    """Every segment in order: its kind and its text."""
    found = []
    for part, segments in zip(made.parts, made.segments, strict=True):
        begin = 0
        for kind, length in segments:
            found.append((kind, LOADED.tokenizer.decode(list(part[begin : begin + length]))))
            begin += length
        assert begin == len(part)
    return found


@pytest.mark.parametrize("place", range(5))
def test_needle_lies_once_in_the_segment_asked_for(place: int) -> None:
    made = transcript(place)
    found = pieces(made)
    assert "".join(text for _, text in found).count(made.needle.sentence) == 1
    wanted = [text for kind, text in found if kind == (OBSERVATION if place else PINNED)][max(0, place - 1)]
    assert made.needle.sentence in wanted


def test_transcript_is_read_turn_by_turn_and_its_own_turns_are_marked() -> None:
    made = transcript(1)
    assert len(made.parts) == 4
    kinds = [[kind for kind, _ in segments] for segments in made.segments]
    assert kinds == [["pinned", "observation", "text"], *[["own", "text", "observation", "text"]] * 3]
    own = [text for kind, text in pieces(made) if kind == OWN]
    assert all(text.startswith("click [") and text.endswith("]") for text in own)
    last = pieces(made)[-1][1]
    assert made.needle.question in last
    assert last.endswith(made.needle.lead)
    assert made.needle.question not in "".join(text for _, text in pieces(made)[:-1])


@pytest.mark.parametrize(("context", "pages"), [(900, 3), (1600, 4), (3000, 7)])
def test_transcript_has_the_tokens_asked_for_or_a_few_less(context: int, pages: int) -> None:
    assert context - 4 * pages <= transcript(2, context=context, pages=pages).tokens <= context


def test_later_pages_lie_deeper() -> None:
    depths = [transcript(place).depth for place in range(5)]
    assert depths[0] == 0.0
    assert depths == sorted(depths)
    assert depths[-1] > 0.6


def test_model_without_a_chat_template_gets_a_transcript_of_plain_lines() -> None:
    made = transcript(1, loaded=tiny_llama(template=None))
    assert "Answer: click [" in made.text
    assert made.text.endswith(f"{made.needle.question}\n\nAnswer: {made.needle.lead}")


def test_template_that_rewrites_earlier_turns_is_refused() -> None:
    loaded = tiny_llama(CHATML.replace("{% for m in messages %}", "{{ messages|length }}{% for m in messages %}"))
    with pytest.raises(PromptError, match="--agent"):
        transcript(1, loaded=loaded)


def test_context_without_room_for_pages_is_refused() -> None:
    with pytest.raises(ConfigError, match="--context 300 leaves no room"):
        transcript(1, context=300)
    with pytest.raises(ConfigError, match="--depths 2: a transcript"):
        Grid(depths=2, asked="agent")


def test_places_of_a_transcript_have_names() -> None:
    grid = Grid(depths=4, asked="agent")
    assert grid.labels() == ["task", "page 1", "page 2", "latest"]
    assert Grid(depths=3).labels() == ["0%", "50%", "100%"]


@pytest.mark.parametrize("policy", ["confkv", "window"])
def test_the_cache_is_told_the_segments_of_what_it_reads(policy: str) -> None:
    made = transcript(2, context=1200, pages=3)
    cache = ConfKVCache(LOADED.model.config, CacheConfig(policy=policy, budget=200))
    with torch.inference_mode():
        read(LOADED, cache, made)
    assert cache.get_seq_length() == made.tokens
    if policy == "window":
        assert cache.segments is None
        return
    place, expected = 0, []
    for kind, length in [segment for segments in made.segments for segment in segments]:
        expected.append((kind, place))
        place += length
    assert cache.segments is not None
    assert [(segment.kind, segment.start) for segment in cache.segments.all] == [*expected, ("own", made.tokens)]
