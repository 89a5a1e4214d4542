"""Texts, ids, bounds, marks and pictures of an observation, from hand-made pages and pictures."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from confkv_agents.errors import ConfigError
from confkv_agents.web.marks import PagePicture, cut_pictures, draw_marks, look_alike
from confkv_agents.web.observation import Element, ObservationConfig, Scroll, Tab, write_body, write_head
from confkv_agents.web.outline import Line, outline
from confkv_agents.web.text import estimate_tokens, quote, shorten
from confkv_agents.web.tree import Box, parse_snapshot

WINDOW = Box(0, 0, 1000, 500)


def lines_of(snapshot: str) -> list[Line]:
    return outline(parse_snapshot(snapshot), WINDOW)


def text_of(snapshot: str, **config: object) -> str:
    return write_body(lines_of(snapshot), ObservationConfig(**config)).text  # type: ignore[arg-type]


CARD = """\
- main [ref=e1] [box=0,0,1000,2000]:
  - heading "Bags" [level=1] [ref=e2] [box=0,10,500,30]
  - img "Red Bag" [ref=e3] [box=0,50,100,100]
  - link "Red Bag" [ref=e4] [cursor=pointer] [box=0,160,100,20]:
    - /url: /red
  - text: $34
  - combobox "Sort" [ref=e5] [box=200,50,100,20]:
    - option "Price" [selected]
    - option "Name"
  - checkbox "New" [checked] [ref=e6] [box=200,80,20,20]
  - text: New
  - button "Below" [ref=e7] [box=0,600,100,20]
  - text: far below"""


def test_label_first_form() -> None:
    assert text_of(CARD).split("\n") == [
        "heading 'Bags'",
        "link 'Red Bag' [1]",
        "text '$34'",
        "combobox 'Sort' [2] value 'Price' options 'Price', 'Name'",
        "checkbox 'New' [3] checked",
    ]


def test_visualwebarena_form() -> None:
    assert text_of(CARD, format="vwa").split("\n")[1] == "[1] link 'Red Bag'"


def test_what_lies_outside_of_the_window_is_left_out() -> None:
    assert "Below" not in text_of(CARD)
    assert "far below" not in text_of(CARD)


def test_options_of_a_hidden_list_are_not_told() -> None:
    folded = """\
- group [ref=e1] [box=0,0,100,20]:
  - button "Filters" [ref=e2] [box=0,0,100,20]
  - option "Any" [selected] [box=0,0,0,0]
  - option "Red" [box=0,0,0,0]
- listbox "Own list" [ref=e3] [box=0,30,100,40]:
  - option "Here" [ref=e4] [box=0,30,100,20]"""
    text = text_of(folded)
    assert "Red" not in text
    assert "Any" not in text
    assert "'Here'" in text


def test_frames_show_only_what_lies_in_their_window() -> None:
    frame = '- iframe [ref=e1] [box=0,0,100,100]:\n  - button "in" [ref=f1e1] [box=0,0,50,20]\n'
    assert text_of(frame + '  - button "out" [ref=f1e2] [box=0,300,50,20]') == "button 'in' [1]"


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        ('- heading "A b" [ref=e1] [box=0,0,9,9]:\n  - link "A b" [ref=e2] [box=0,0,9,9]', ["link 'A b' [1]"]),
        ('- link "A b" [ref=e1] [box=0,0,9,9]:\n  - text: A b', ["link 'A b' [1]"]),
        ("- generic [ref=e1] [cursor=pointer] [box=0,0,9,9]: Open", ["clickable 'Open' [1]"]),
        ("- link [ref=e1] [box=0,0,9,9]:\n  - /url: /cart", ["link '/cart' [1]"]),
        ("- textbox [ref=e1] [box=0,0,9,9]: old", ["textbox '' [1] value 'old'"]),
        (
            '- textbox "Q" [ref=e1] [box=0,0,9,9]:\n  - /placeholder: find\n  - text: old',
            ["textbox 'Q' [1] value 'old'"],
        ),
        ('- button "B" [disabled] [ref=e1] [box=0,0,9,9]', ["button 'B' [1] disabled"]),
        (
            '- row [ref=e1] [box=0,0,9,9]:\n  - cell "a" [ref=e2] [box=0,0,9,9]\n  - cell "b" [ref=e3] [box=0,0,9,9]',
            ["row 'a | b'"],
        ),
        (
            '- generic [ref=e1] [cursor=pointer] [box=0,0,9,9]:\n  - heading "Card" [ref=e2] [box=0,0,9,9]\n'
            '  - paragraph [ref=e3] [box=0,0,9,9]: body\n  - button "Inner" [ref=e4] [box=0,0,9,9]',
            ["clickable 'Card body' [1]", "button 'Inner' [2]"],
        ),
        (
            '- generic [ref=e1] [cursor=pointer] [box=0,0,9,9]:\n  - checkbox "New" [ref=e2] [box=0,0,9,9]\n'
            "  - text: New",
            ["checkbox 'New' [1]"],
        ),
        ("", ["(nothing to read or to act on)"]),
    ],
)
def test_how_nodes_become_lines(snapshot: str, expected: list[str]) -> None:
    assert text_of(snapshot).split("\n") == expected


def test_ids_count_from_one_without_gaps_and_keep_refs() -> None:
    body = write_body(lines_of(CARD), ObservationConfig())
    assert [(element.id, element.ref) for element in body.elements] == [(1, "e4"), (2, "e5"), (3, "e6")]


@given(st.lists(st.text(max_size=50), min_size=0, max_size=60), st.integers(100, 400))
def test_text_never_exceeds_its_bound_and_lists_every_element_it_returns(names: list[str], bound: int) -> None:
    lines = [Line("button", name, 0, ref=f"e{index}", box=Box(0, index, 5, 5)) for index, name in enumerate(names)]
    body = write_body(lines, ObservationConfig(max_tokens=bound, max_name=40))
    assert estimate_tokens(body.text) <= bound
    assert len(body.elements) + body.left_out == len(lines)
    assert all(f"[{element.id}]" in body.text for element in body.elements)
    if body.left_out:
        assert "not shown; scroll down" in body.text
        assert body.cut_at == lines[len(body.elements)].box.y  # type: ignore[union-attr]


def test_what_is_cut_lies_lowest_on_the_page_whatever_comes_last_in_it() -> None:
    main = [Line("link", f"Post {index}", 0, ref=f"m{index}", box=Box(0, 100 * index, 5, 5)) for index in range(9)]
    words = [Line("text", f"words under post {index}", 0) for index in range(9)]  # without a place: where the post is
    beside = [Line("link", f"Side {index}", 0, ref=f"s{index}", box=Box(900, 250 * index, 5, 5)) for index in range(3)]
    lines = [each for pair in zip(main, words, strict=True) for each in pair] + beside
    config = ObservationConfig(max_tokens=100, count_tokens=lambda text: len(text.split()))
    body = write_body(lines, config, reserved=33)
    # Of 67 the marker takes 14, a post 4, its words 5, a link beside 4: five posts, and what lies above the sixth.
    assert [element.name for element in body.elements] == [*(f"Post {n}" for n in range(5)), "Side 0", "Side 1"]
    assert body.text.split("\n")[-3:-1] == ["link 'Side 0' [6]", "link 'Side 1' [7]"]
    assert (body.cut_at, body.left_out) == (500, 9)


def test_a_given_tokenizer_counts() -> None:
    lines = [Line("text", f"word {index}", 0) for index in range(200)]
    body = write_body(lines, ObservationConfig(max_tokens=100, count_tokens=lambda text: len(text.split())))
    assert len(body.text.split()) <= 100
    assert body.left_out > 0


def test_long_lists_of_options_are_counted() -> None:
    line = Line("combobox", "Size", 0, ref="e1", options=tuple(str(number) for number in range(50)))
    assert write_body([line], ObservationConfig(max_options=2)).text.endswith("options '0', '1' and 48 more")


@given(st.text())
def test_quoted_text_cannot_end_its_quote_or_look_like_an_id(text: str) -> None:
    quoted = quote(text)
    mark, inside = quoted[0], quoted[1:-1]
    assert quoted[-1] == mark
    plain = inside.replace("\\\\", "")
    for character in (mark, "[", "]"):
        assert plain.count(character) == plain.count("\\" + character)


@given(st.text(), st.integers(1, 40))
def test_shortened_text_keeps_its_bound(text: str, limit: int) -> None:
    assert len(shorten(text, limit)) <= limit
    assert shorten(text, 0) == text


def test_cutting_keeps_joined_emoji_and_accents_whole() -> None:
    astronaut = "\U0001f468\u200d\U0001f680"
    assert shorten("ab" + astronaut, 4) == "ab\u2026"
    assert shorten("cafe\u0301 noir", 5) == "caf\u2026"


@pytest.mark.parametrize(
    ("scroll", "text"),
    [
        (Scroll(0, 500, 500), "Page 1 of 1"),
        (Scroll(0, 500, 1200), "Page 1 of 3 (scroll down for more)"),
        (Scroll(450, 500, 1200), "Page 1 of 3 (scroll up or down for more)"),
        (Scroll(700, 500, 1200), "Page 3 of 3 (scroll up for more)"),
        (Scroll(), "Page 1 of 1"),
    ],
)
def test_place_on_the_page(scroll: Scroll, text: str) -> None:
    assert str(scroll) == text


def test_head_names_tabs_and_address() -> None:
    head = write_head("clicked", [Tab("A [1]", "u"), Tab("B", "u", True)], "http://shop.test/", Scroll())
    assert head.split("\n") == [
        "Outcome: clicked",
        "Tab 0: 'A \\[1\\]' | Tab 1 (current): 'B'",
        "URL: http://shop.test/",
        "Page 1 of 1",
    ]


def test_bad_settings_are_refused() -> None:
    for settings in ({"format": "xml"}, {"max_tokens": 5}, {"pictures": -1}, {"max_name": 0}):
        with pytest.raises(ConfigError):
            ObservationConfig(**settings)  # type: ignore[arg-type]


def png(size: tuple[int, int], colour: str = "white") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, "PNG")
    return out.getvalue()


def test_marks_are_drawn_around_elements_and_inside_the_picture() -> None:
    elements = [
        Element(1, "e1", "button", "a", box=Box(50, 50, 40, 20)),
        Element(2, "e2", "button", "corner", box=Box(-5, -5, 40, 20)),
        Element(3, "e3", "button", "none", box=None),
        Element(4, "e4", "button", "outside", box=Box(500, 500, 40, 20)),
        Element(999, "e5", "button", "wide id", box=Box(160, 80, 40, 20)),
    ]
    marked = Image.open(io.BytesIO(draw_marks(png((200, 100)), elements)))
    assert marked.size == (200, 100)
    white = (255, 255, 255)
    assert marked.getpixel((48, 60)) != white  # the frame, two pixels outside of the box
    assert marked.getpixel((70, 60)) == white  # the middle stays readable
    assert marked.getpixel((199, 5)) == white  # nothing is drawn for what lies outside


def test_pictures_are_cut_scaled_and_tied_to_their_element() -> None:
    shot = Image.new("RGB", (1000, 500), "white")
    shot.paste("red", (100, 100, 300, 200))
    out = io.BytesIO()
    shot.save(out, "PNG")
    nowhere = Box(0, 0, 0, 0)
    found = [
        PagePicture("red", Box(100, 100, 200, 100), Box(100, 210, 80, 20)),
        PagePicture("tiny", Box(0, 0, 20, 20), nowhere),
        PagePicture("mostly outside", Box(900, 0, 300, 300), nowhere),
        PagePicture("small", Box(400, 100, 50, 50), nowhere),
    ]
    elements = [Element(7, "e7", "link", "red", box=Box(100, 210, 80, 20))]
    pictures = cut_pictures(out.getvalue(), found, elements, ObservationConfig(max_picture=100))
    assert [(picture.alt, picture.element_id) for picture in pictures] == [("red", 7), ("small", None)]
    crop = Image.open(io.BytesIO(pictures[0].png))
    assert crop.size == (100, 50)
    assert crop.getpixel((50, 25)) == (255, 0, 0)
    only = cut_pictures(out.getvalue(), found, elements, ObservationConfig(pictures=1))
    assert [picture.alt for picture in only] == ["red"]
    assert cut_pictures(out.getvalue(), found, elements, ObservationConfig(pictures=0)) == ()


def test_pictures_that_differ_by_a_shade_look_alike() -> None:
    assert look_alike(png((5, 5)), png((5, 5)))
    assert look_alike(png((5, 5), "#fefefe"), png((5, 5)))
    assert not look_alike(png((5, 5), "#f0f0f0"), png((5, 5)))
    assert not look_alike(png((5, 5)), png((6, 5)))
