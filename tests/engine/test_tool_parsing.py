from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.utils.json import parse_partial_json

from confkv_agents.engine.tool_parsing import CallPiece, ToolCallParser
from confkv_agents.engine.tools import Syntax, ToolCall, call_text

ADD = '{"a": 1, "b": [2, {"c": "}]"}]}'


def parse(syntax: Syntax, text: str, step: int = 1, names: str = "add") -> tuple[str, list[ToolCall], list[CallPiece]]:
    parser = ToolCallParser(syntax, frozenset(names.split()), lambda index: f"id{index}")
    pieces = [piece for at in range(0, len(text), step) for piece in parser.push(text[at : at + step])]
    pieces += list(parser.flush())
    shown = "".join(piece for piece in pieces if isinstance(piece, str))
    calls = [piece for piece in pieces if isinstance(piece, CallPiece)]
    for call in parser.calls:  # the pieces of a call add up to it
        own = [piece for piece in calls if piece.index == call.index]
        assert "".join(piece.text for piece in own) == call.text
        assert [piece.id for piece in own] == [call.id] + [None] * (len(own) - 1)
        assert [piece.name for piece in own] == [call.name] + [None] * (len(own) - 1)
        if call.arguments is None:  # LangChain completes what it can; it must not complete this
            assert not completed(call.text)
    return shown, parser.calls, calls


def completed(text: str) -> bool:
    if not text:
        return True
    try:
        return isinstance(parse_partial_json(text), dict)
    except ValueError:
        return False


WRITTEN = [
    ("hermes", f'<tool_call>\n{{"name": "add", "arguments": {ADD}}}\n</tool_call>'),
    ("hermes", f'<tool_call>{{"arguments": {ADD}, "name": "add"}}</tool_call>'),
    ("hermes", f'<tool_call>{{"name":"add","arguments":{json.dumps(ADD)}}}</tool_call>'),
    ("hermes", f'<tool_call>\n{{"name": "add", "arguments": {ADD}}}'),
    ("hermes", f'<tool_call>\n{{"name": "add", "parameters": {ADD}, "id": 3}}\n</tool_call>'),
    ("llama3", f'{{"name": "add", "parameters": {ADD}}}'),
    ("llama3", f'<|python_tag|>{{"type": "function", "name": "add", "parameters": {ADD}}}'),
    ("mistral", f'[TOOL_CALLS] [{{"name": "add", "arguments": {ADD}, "id": "abcdefghi"}}]'),
    ("mistral", f'[TOOL_CALLS][{{"name": "add", "arguments": {ADD}}}'),
    ("mistral", f"[TOOL_CALLS]add[ARGS]{ADD}"),
    ("mistral_named", f"[TOOL_CALLS]add[CALL_ID]abcdefghi[ARGS]{ADD}"),
]


@pytest.mark.parametrize(("syntax", "text"), WRITTEN)
@pytest.mark.parametrize("step", [1, 5, 1000])
def test_a_call_is_read_in_whatever_pieces_it_comes(syntax: Syntax, text: str, step: int) -> None:
    shown, calls, _ = parse(syntax, text, step)
    assert shown == ""
    assert [(call.name, call.arguments) for call in calls] == [("add", json.loads(ADD))]


@pytest.mark.parametrize("syntax", ["hermes", "mistral", "mistral_named"])
def test_text_before_and_after_calls_is_kept_without_the_space_between(syntax: Syntax) -> None:
    call = call_text(syntax, "add", {"a": 1})
    shown, calls, _ = parse(syntax, f"First I add.\n\n{call}\n{call}\nDone. ")
    assert len(calls) == 2
    assert shown == "First I add.Done."


@pytest.mark.parametrize("syntax", ["hermes", "llama3", "mistral", "mistral_named"])
@pytest.mark.parametrize("text", ["", " ", "Hello", " a < b [1] {x} \n", "<tool", "[TOOL", '{"a": 1}\n', '{"a'])
def test_text_without_calls_passes_unchanged(syntax: Syntax, text: str) -> None:
    assert parse(syntax, text)[:2] == (text, [])


def test_a_bare_object_that_names_no_tool_is_text() -> None:
    for text in ('{"name": "other", "parameters": {"a": 1}}', '{"name": "add"', '{"title": "add", "x": {}}'):
        assert parse("llama3", text)[:2] == (text, [])


def test_bare_calls_can_follow_each_other_but_not_text() -> None:
    call = call_text("llama3", "add", {"a": 1})
    assert len(parse("llama3", f"{call}; {call}")[1]) == 2
    assert parse("llama3", f"I say {call}")[:2] == (f"I say {call}", [])


def test_several_objects_in_one_place_are_several_calls() -> None:
    one = '{"name": "add", "arguments": {"a": 1}}'
    assert len(parse("hermes", f"<tool_call>\n{one}\n{one}\n</tool_call>")[1]) == 2
    assert [call.id for call in parse("mistral", f"[TOOL_CALLS][{one}, {one}]")[1]] == ["id0", "id1"]


def test_a_call_without_arguments_has_none() -> None:
    for text in ('{"name": "add"}', '{"name": "add", "arguments": {}}'):
        assert parse("hermes", f"<tool_call>{text}</tool_call>")[1][0].arguments == {}


BROKEN = [
    ('{"name": "add", "arguments": {"a": 1,}}', "add"),
    ('{"name": "add", "arguments": {\'a\': 1}}', "add"),
    ('{"name": "add", "arguments": [1, 2]}', "add"),
    ('{"name": "add", "arguments": "later"}', "add"),
    ('{"arguments": {"a": 1}}', None),
    ("add(1, 2)", None),
    ("", None),
]


@pytest.mark.parametrize(("body", "name"), BROKEN)
def test_malformed_calls_are_invalid_and_raise_nothing(body: str, name: str | None) -> None:
    shown, calls, _ = parse("hermes", f"Hm. <tool_call>{body}</tool_call> So.")
    assert shown == "Hm.So."
    assert [(call.name, call.arguments) for call in calls] == [(name, None)]
    assert calls[0].error


@pytest.mark.parametrize(("syntax", "text"), WRITTEN[:1] + WRITTEN[5:8] + WRITTEN[-1:])
def test_a_call_that_is_cut_off_anywhere_is_never_valid_with_half_its_arguments(syntax: Syntax, text: str) -> None:
    for cut in range(1, len(text)):
        _, calls, _ = parse(syntax, text[:cut], 7)
        for call in calls:
            assert call.arguments in (None, json.loads(ADD))


def test_arguments_are_passed_on_while_they_arrive() -> None:
    parser = ToolCallParser("hermes", frozenset(), str)
    pieces = list(parser.push('<tool_call>{"name": "add", "arguments": {"a": "long te'))
    assert pieces == [CallPiece(0, "0", "add", '{"a": "long te')]
    assert list(parser.push("xt")) == [CallPiece(0, None, None, "xt")]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(
    calls=st.lists(st.dictionaries(st.text(max_size=5), json_values, max_size=3), min_size=1, max_size=3),
    syntax=st.sampled_from(["hermes", "llama3", "mistral", "mistral_named"]),
    step=st.integers(1, 9),
)
def test_calls_with_any_arguments_are_read_back(calls: list[dict[str, object]], syntax: Syntax, step: int) -> None:
    shown, read, _ = parse(syntax, "\n".join(call_text(syntax, "add", call) for call in calls), step)
    assert (shown, [call.arguments for call in read]) == ("", calls)


@given(text=st.text(alphabet='<tool_cal>/{}[]":, \\\nTOOL_CALLSARGS|pythn', max_size=60), step=st.integers(1, 5))
def test_no_text_breaks_the_parser(text: str, step: int) -> None:
    for syntax, start in itertools.product(("hermes", "llama3", "mistral", "mistral_named"), ("", "<tool_call>", "{")):
        parse(syntax, start + text, step)  # type: ignore[arg-type]
