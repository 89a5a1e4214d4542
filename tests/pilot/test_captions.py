"""Facts and lines of text say the same, and every kind that the sites draw has a line that can be read back."""

from __future__ import annotations

import random

import pytest

from confkv_agents.pilot.captions import (
    COLOURS,
    MARKS,
    MOTIFS,
    SCENES,
    Facts,
    agreement,
    caption,
    read_caption,
    several,
)
from confkv_agents.pilot.pictures import _shop, draw, kinds

LINES = {
    "mug": Facts("mug"),
    "3 red mugs and 2 books, on a table": Facts("mug", "red", 3, scene="table", other="books", others=2),
    "blue coat with a stain, in a room": Facts("coat", "blue", mark="stained", scene="room"),
    "green t-shirt with an owl": Facts("t-shirt", "green", motif="owl"),
    "2 brown suitcases with a sticker": Facts("suitcase", "brown", 2, mark="sticker"),
    "5 sheep, in snow": Facts("sheep", count=5, scene="snow"),
    "green toy cars": Facts("toy car", "green", count=0),
    "cat and mug, on a shelf": Facts("cat", scene="shelf", other="mug", others=1),
}


@pytest.mark.parametrize("line", LINES)
def test_facts_are_written_as_one_line(line: str) -> None:
    assert caption(LINES[line]) == line


def test_lines_are_read_back_as_they_were_written() -> None:
    assert read_caption("3 red mugs and 2 books, on a table") == Facts(
        "mugs", "red", 3, scene="table", other="books", others=2
    )
    assert read_caption("blue coat with scratches and a fox") == Facts("coat", "blue", mark="scratched", motif="fox")
    assert read_caption("off-road car, in a street") == Facts("off-road car", scene="street")
    for nonsense in ("", "3", "mug, on a cloud", "The picture shows a mug.", "mug with a hole"):
        assert read_caption(nonsense) is None


def test_every_fact_of_every_kind_survives_the_way_there_and_back() -> None:
    rng = random.Random(3)
    for kind in kinds():
        count, other = rng.randint(1, 9), rng.choice(["", "books"])
        facts = Facts(
            kind, rng.choice(COLOURS), count, rng.choice(["", *MARKS]), rng.choice(["", *MOTIFS]),
            rng.choice(["", *SCENES]), other, 2 if other else 0,
        )  # fmt: skip
        read = read_caption(caption(facts))
        assert read is not None and read.kind == (kind if count == 1 else several(kind))
        assert all(agreement(read, facts).values()), (facts, read)


def test_agreement_is_fact_by_fact() -> None:
    shown = Facts("mug", "red", 3, scene="table")
    said = read_caption("2 red mugs with a crack, on a table")
    assert agreement(said, shown) == {
        "kind": True, "colour": True, "count": False, "mark": False, "scene": True,
    }  # fmt: skip
    assert not any(agreement(None, shown).values())
    assert "count" not in agreement(said, Facts("mug", "red", 0))
    assert "colour" not in agreement(said, Facts("mug", count=3))  # a natural colour may be named


def test_drawn_pictures_come_with_their_facts_and_the_sizes_of_pages() -> None:
    rng = random.Random(0)
    seen = [each for _ in range(12) for each in draw(rng)]
    again = [each for rng in [random.Random(0)] for _ in range(12) for each in draw(rng)]
    assert [(each.facts, each.view, each.image.tobytes()) for each in seen] == [
        (each.facts, each.view, each.image.tobytes()) for each in again
    ]
    assert {each.view.split("/")[0] for each in seen} == {"shop", "classifieds", "forum"}
    for each in seen:
        assert each.image.mode == "RGB" and max(each.image.size) <= 512 and each.facts.kind in kinds()
        assert each.facts.count > 0 or "cut" in each.view or "close" in each.view or "label" in each.view
    everywhere = {each.view.split("/")[1]: each for each in _shop(random.Random(0), 5)}
    assert set(everywhere) == {"list", "product", "home", "compare", "thumb"}
    listed = next(each for each in _shop(random.Random(1), 5) if each.view == "shop/list")
    assert listed.image.size == (266, 133) and listed.image.getpixel((20, 66)) == (246, 243, 237)
