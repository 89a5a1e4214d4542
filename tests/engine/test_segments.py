"""What an engine tells its cache about a conversation's tokens."""

from __future__ import annotations

from PIL import Image

from confkv_agents.cache.segments import Segment
from confkv_agents.engine.conversation import Picture
from confkv_agents.engine.encoding import PictureSpan, Prompt
from confkv_agents.engine.segments import segments_of


def picture() -> Picture:
    return Picture.of(Image.new("RGB", (4, 4)))

    return Picture.of(Image.new("RGB", (4, 4))) if hasattr(Picture, "of") else Picture(Image.new("RGB", (4, 4)))


def test_short_system_and_task_are_pinned_and_the_answer_is_own():
    turns = ((0, "system"), (10, "user"), (30, "assistant"), (40, "user"), (90, "tool"))
    prompt = Prompt(list(range(100)), list(range(100)), turns=turns)
    assert segments_of(prompt, 512) == [
        Segment("pinned", 0),
        Segment("pinned", 10),
        Segment("own", 30),
        Segment("observation", 40),
        Segment("observation", 90),
        Segment("own", 100),
    ]


def test_a_long_first_turn_is_an_observation():
    prompt = Prompt(list(range(400)), list(range(400)), turns=((0, "system"), (200, "user")))
    assert [segment.kind for segment in segments_of(prompt, 512)] == ["text", "observation", "own"]


def test_pictures_are_segments_with_their_grid():
    span = PictureSpan(picture(), (*range(12, 16), *range(20, 29)))
    prompt = Prompt(list(range(40)), list(range(40)), [span], turns=((0, "user"), (8, "user")))
    found = segments_of(prompt, 512)
    assert Segment("image", 12, (2, 2)) in found and Segment("image", 20, (3, 3)) in found
    assert [segment.kind for segment in found if segment.start in (16, 29)] == ["observation"] * 2
    starts = [segment.start for segment in found]
    assert starts == sorted(set(starts))


def test_a_merged_grid_is_read_from_the_picture():
    span = PictureSpan(picture(), tuple(range(10, 22)), (1, 6, 8))
    prompt = Prompt(list(range(30)), list(range(30)), [span], turns=((0, "user"),))
    assert Segment("image", 10, (3, 4)) in segments_of(prompt, 512)
