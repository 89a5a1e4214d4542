from hypothesis import given
from hypothesis import strategies as st

from confkv_agents.engine.text import Detokenizer, StopStrings
from tests.engine.tiny import tiny_tokenizer

TOKENIZER = tiny_tokenizer()


def pieces_of(text: str) -> tuple[list[str], str]:
    detokenizer = Detokenizer(TOKENIZER)
    pieces = [detokenizer.push(token) for token in TOKENIZER.encode(text, add_special_tokens=False)]
    return pieces, detokenizer.flush()


@given(st.text(alphabet=st.sampled_from("a the in é漢😀\n.\u200d"), max_size=40))
def test_pieces_add_up_to_the_whole_text(text: str) -> None:
    pieces, rest = pieces_of(text)
    assert "".join(pieces) + rest == text


def test_no_piece_holds_part_of_a_character() -> None:
    pieces, rest = pieces_of("a😀b")
    assert not any("\ufffd" in piece for piece in pieces)
    assert [piece for piece in pieces if piece] == ["a", "😀", "b"] and rest == ""


def test_an_unfinished_character_is_shown_at_the_end_only() -> None:
    detokenizer = Detokenizer(TOKENIZER)
    first_byte = TOKENIZER.encode("😀", add_special_tokens=False)[0]
    assert detokenizer.push(first_byte) == ""
    assert detokenizer.flush() == "\ufffd"


def test_special_tokens_are_not_shown() -> None:
    detokenizer = Detokenizer(TOKENIZER)
    assert detokenizer.push(TOKENIZER.convert_tokens_to_ids("<|im_start|>")) == ""
    assert detokenizer.push(TOKENIZER.encode("x")[0]) == "x"


def run_stops(stops: list[str], pieces: list[str]) -> tuple[str, str | None]:
    cutter = StopStrings(stops)
    shown = "".join(cutter.push(piece) for piece in pieces) + cutter.flush()
    return shown, cutter.found


def test_a_stop_string_across_pieces_is_cut_off() -> None:
    assert run_stops(["Observation:"], ["act Obs", "erva", "tion", ": more"]) == ("act ", "Observation:")


def test_the_beginning_of_a_stop_string_is_shown_when_it_does_not_complete() -> None:
    assert run_stops(["stop"], ["a st", "age"]) == ("a stage", None)
    assert run_stops(["stop"], ["a sto"]) == ("a sto", None)


def test_the_earliest_and_then_the_longest_stop_string_wins() -> None:
    assert run_stops(["bc", "bcd"], ["abcde"]) == ("a", "bcd")
    assert run_stops(["d", "b"], ["abcd"]) == ("a", "b")


def test_empty_stop_strings_are_ignored() -> None:
    assert run_stops([""], ["abc"]) == ("abc", None)


@given(
    st.text(alphabet="ab", max_size=20),
    st.lists(st.text(alphabet="ab", min_size=1, max_size=4), min_size=1, max_size=3),
    st.lists(st.integers(1, 5), max_size=20),
)
def test_cutting_pieces_equals_cutting_the_whole(text: str, stops: list[str], sizes: list[int]) -> None:
    pieces, at = [], 0
    for size in [*sizes, len(text)]:
        pieces.append(text[at : at + size])
        at += size
    shown, found = run_stops(stops, pieces)
    hits = [text.find(stop) for stop in stops if stop in text]
    if found is None:
        assert shown == text and not hits
    else:
        # a longer stop string that starts earlier may complete after a shorter one inside it
        assert text.startswith(shown + found)
        assert len(shown) >= min(hits)
