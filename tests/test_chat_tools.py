"""Tools and structured output through `ChatConfKV`, against a scripted engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Annotated, Any, TypedDict

import langchain_core.exceptions as langchain_errors
import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.tools import tool
from pydantic import BaseModel, Field
from torch import set_num_threads

from confkv_agents.chat_errors import ChatConstraintError, StructuredOutputError
from confkv_agents.chat_models import ChatConfKV
from confkv_agents.chat_tools import response_schema, tool_choice_name, tool_use
from confkv_agents.engine import Engine
from confkv_agents.engine.tools import call_text
from confkv_agents.errors import ConfigError, ExtraMissingError
from tests.engine.tiny import tiny_smolvlm
from tests.engine.tool_templates import tiny_with_tools
from tests.scripted import Reply, install
from tests.test_chat_models import picture_block

set_num_threads(1)  # more of them than free cores wait for each other

Make = Callable[..., ChatConfKV]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def stop() -> str:
    """Stop."""
    return "stopped"


class Cat(BaseModel):
    """A cat."""

    name: str = Field(description="its name")
    lives: int = Field(default=9, le=9)


class CatDict(TypedDict):
    """A cat."""

    name: Annotated[str, ..., "its name"]
    lives: int


CAT = '{"name": "Tom", "lives": 7}'


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes chat models that say these texts in turn, or what a function of the request returns."""
    engines: list[Engine] = []

    def made(*says: str | Reply, family: str = "hermes", **options: Any) -> ChatConfKV:
        left = list(says)

        def reply(request: Any) -> str:
            text = left[0] if len(left) == 1 else left.pop(0)
            return text if isinstance(text, str) else text(request)

        install(monkeypatch, reply)
        loaded = tiny_smolvlm() if family == "vlm" else tiny_with_tools(family)
        engines.append(Engine(lambda: loaded, "scripted"))
        given = {"model": "tiny", "policy": "full", "max_tokens": 200} | options
        return ChatConfKV(engine=engines[-1], **given)

    yield made
    for engine in engines:
        engine.close()


def call(name: str = "add", **arguments: Any) -> str:
    return call_text("hermes", name, arguments)


def total(chunks: Iterator[Any]) -> AIMessageChunk:
    summed: AIMessageChunk | None = None
    for chunk in chunks:
        assert isinstance(chunk, AIMessageChunk)
        summed = chunk if summed is None else summed + chunk
    assert summed is not None
    return summed


# ---- tool choices


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, "auto"),
        (False, "auto"),
        ("auto", "auto"),
        ("none", "none"),
        ("any", "any"),
        ("required", "any"),
        (True, "any"),
        ("add", "add"),
        ({"type": "function", "function": {"name": "add"}}, "add"),
        ({"type": "tool", "name": "add"}, "add"),
        ({"type": "any"}, "any"),
        ({"type": "auto"}, "auto"),
    ],
)
def test_every_form_of_a_tool_choice_is_understood(choice: Any, expected: str) -> None:
    assert tool_choice_name(choice, ["add"]) == expected


@pytest.mark.parametrize("choice", ["subtract", {"type": "function", "function": {"name": "no"}}, 3, {"x": 1}])
def test_a_choice_of_nothing_is_refused_before_the_call(choice: Any) -> None:
    with pytest.raises(ValueError, match="tool_choice"):
        ChatConfKV().bind_tools([add], tool_choice=choice)


def test_what_cannot_be_called_is_refused(make: Make) -> None:
    with pytest.raises(ValueError, match="server"):
        ChatConfKV().bind_tools([{"type": "web_search_preview"}])
    with pytest.raises(ValueError, match="two tools"):
        make("x").bind_tools([add, add]).invoke("Hi")
    with pytest.raises(ValueError, match="needs tools"):
        make("x").invoke("Hi", tool_choice="any")


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"type": "string"}, "must be of the type 'object'"),
        (5, "must be a JSON schema"),
        ({"type": "object", "properties": {"a": {"enum": {1}}}}, "no JSON"),
    ],
)
def test_parameters_that_no_arguments_fit_are_refused(parameters: Any, told: str) -> None:
    made = {"type": "function", "function": {"name": "odd", "description": "", "parameters": parameters}}
    with pytest.raises(ConfigError, match=f"'odd'.*{told}"):
        ChatConfKV().bind_tools([made])


def test_one_call_is_demanded_and_several_may_be_made_freely() -> None:
    def parallel(**options: Any) -> bool:
        use = tool_use({"tools": [add], **options})
        assert use is not None
        return use.parallel

    assert parallel() and parallel(tool_choice="any", parallel_tool_calls=True)
    assert not parallel(tool_choice="any") and not parallel(parallel_tool_calls=False)


# ---- calls in answers


def test_an_answer_with_text_and_calls(make: Make) -> None:
    model = make(f"Let me see.\n{call(a=1, b=2)}\n{call('stop')}").bind_tools([add, stop])
    answer = model.invoke("Hi")
    assert answer.content == "Let me see."
    assert [(c["name"], c["args"]) for c in answer.tool_calls] == [("add", {"a": 1, "b": 2}), ("stop", {})]
    assert answer.response_metadata["finish_reason"] == "tool_calls"
    assert answer.response_metadata["confkv"]["constrained"] == "grammar"
    assert answer.usage_metadata is not None and answer.usage_metadata["output_tokens"] > 10
    ids = [c["id"] for c in answer.tool_calls]
    assert len(set(ids)) == 2 and all(one is not None and len(one) == 9 and one.isalnum() for one in ids)


@pytest.mark.parametrize(
    "text",
    [f"Hm.\n{call(a=1, b=2)}", call("stop"), "No call.", "<tool_call>\n{oops}\n</tool_call>", call(a=1, b=2)[:-20]],
)
@pytest.mark.parametrize("free", [True, False])
def test_a_stream_adds_up_to_the_answer(make: Make, monkeypatch: pytest.MonkeyPatch, text: str, free: bool) -> None:
    if free:  # so that malformed calls come through
        monkeypatch.setattr("confkv_agents.engine.answer.guidance_installed", lambda: False)
    model = make(text).bind_tools([add, stop])
    whole, summed = model.invoke("Hi", max_tokens=60), total(model.stream("Hi", max_tokens=60))
    assert summed.content == whole.content
    assert summed.tool_calls == whole.tool_calls
    assert [(c["name"], c["args"], c["id"]) for c in summed.invalid_tool_calls] == [
        (c["name"], c["args"], c["id"]) for c in whole.invalid_tool_calls
    ]
    assert summed.response_metadata["finish_reason"] == whole.response_metadata["finish_reason"]
    assert summed.usage_metadata is not None and whole.usage_metadata is not None
    assert summed.usage_metadata["output_tokens"] == whole.usage_metadata["output_tokens"]


def test_calls_stream_piece_by_piece_with_index_and_id_on_the_first(make: Make) -> None:
    chunks = list(make(call(a=12345, b=2)).bind_tools([add]).stream("Hi"))
    pieces = [piece for chunk in chunks if isinstance(chunk, AIMessageChunk) for piece in chunk.tool_call_chunks]
    assert len(pieces) > 5 and {piece["index"] for piece in pieces} == {0}
    assert [piece["id"] is not None for piece in pieces] == [True] + [False] * (len(pieces) - 1)
    assert [piece["name"] for piece in pieces] == ["add"] + [None] * (len(pieces) - 1)
    assert json.loads("".join(piece["args"] or "" for piece in pieces)) == {"a": 12345, "b": 2}
    assert all("<tool_call>" not in str(chunk.content) for chunk in chunks)


def test_a_malformed_call_is_an_invalid_one(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confkv_agents.engine.answer.guidance_installed", lambda: False)
    answer = make('<tool_call>\n{"name": "add", "arguments": {"a": 1,}}\n</tool_call>').bind_tools([add]).invoke("Hi")
    assert answer.tool_calls == []
    (wrong,) = answer.invalid_tool_calls
    assert (wrong["name"], len(wrong["id"] or "")) == ("add", 9) and "JSON" in str(wrong["error"])


def test_ids_are_the_same_for_the_same_conversation_and_differ_between_turns(make: Make) -> None:
    model = make(call(a=1, b=2)).bind_tools([add])
    messages: list[BaseMessage] = [HumanMessage("Hi")]
    first, again = model.invoke(messages), model.invoke(messages)
    assert first.tool_calls[0]["id"] == again.tool_calls[0]["id"]
    messages += [first, ToolMessage("3", tool_call_id=str(first.tool_calls[0]["id"]))]
    assert model.invoke(messages).tool_calls[0]["id"] != first.tool_calls[0]["id"]


@pytest.mark.parametrize("output_version", [None, "v1"])
@pytest.mark.parametrize("says", [call(a=1, b=2), f"Hm.\n\n{call(a=1, b=2)}\n{call('stop')}"])
def test_a_tool_loop_reads_only_what_is_new(make: Make, says: str, output_version: Any) -> None:
    model = make(says, "Three.", output_version=output_version).bind_tools([add, stop])
    messages: list[BaseMessage] = [SystemMessage("Be brief."), HumanMessage("Add 1 and 2.")]
    first = model.invoke(messages)
    messages.append(first)
    messages += [ToolMessage("3", tool_call_id=str(one["id"])) for one in first.tool_calls]
    second = model.invoke(messages)
    assert second.text == "Three." and first.usage_metadata is not None and second.usage_metadata is not None
    assert second.usage_metadata["input_token_details"]["cache_read"] == first.usage_metadata["total_tokens"] - 1


def test_an_invalid_call_goes_back_into_the_prompt_and_keeps_the_prefix(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("confkv_agents.engine.answer.guidance_installed", lambda: False)
    model = make("<tool_call>add 1 and 2</tool_call>", "Sorry.").bind_tools([add])
    messages: list[BaseMessage] = [HumanMessage("Add 1 and 2.")]
    first = model.invoke(messages)
    (wrong,) = first.invalid_tool_calls
    second = model.invoke([*messages, first, ToolMessage("no call", tool_call_id=str(wrong["id"]), status="error")])
    assert first.usage_metadata is not None and second.usage_metadata is not None
    assert second.usage_metadata["input_token_details"]["cache_read"] == first.usage_metadata["total_tokens"] - 1
    foreign = AIMessage("", invalid_tool_calls=[invalid_tool_call(name=None, args=None, id=None, error=None)])
    assert model.invoke([*messages, foreign, HumanMessage("?")]).text == "Sorry."


def test_pictures_of_tools_go_into_the_prompt(make: Make) -> None:
    model = make(call("stop"), "Red.", family="vlm").bind_tools([stop])
    first = model.invoke("Look.")
    shown = ToolMessage(["seen: ", picture_block("red")], tool_call_id=str(first.tool_calls[0]["id"]))  # type: ignore[list-item]
    told = ToolMessage("seen: ", tool_call_id=str(first.tool_calls[0]["id"]))
    counts = [
        model.invoke([HumanMessage("Look."), first, message]).usage_metadata["input_tokens"]  # type: ignore[index]
        for message in (shown, told)
    ]
    assert counts[0] > counts[1] + 4


def test_stop_strings_cut_text_but_not_arguments(make: Make) -> None:
    model = make(f"One END two {call(a=1, b=2)}", call(a=1, b=2), stop=["END"]).bind_tools([add])
    first = model.invoke("Hi")
    assert (first.text.strip(), first.tool_calls, first.response_metadata["finish_reason"]) == ("One", [], "stop")
    assert model.invoke("Ho", stop=['"b"']).tool_calls[0]["args"] == {"a": 1, "b": 2}


def test_log_probabilities_of_calls_are_all_there(make: Make) -> None:
    model = make(f"Hm. {call(a=1, b=2)}").bind_tools([add])
    whole, summed = model.invoke("Hi", logprobs=True), total(model.stream("Hi", logprobs=True))
    counts = [len(answer.response_metadata["logprobs"]["content"]) for answer in (whole, summed)]
    assert whole.usage_metadata is not None and counts == [whole.usage_metadata["output_tokens"]] * 2


async def test_tools_work_from_asyncio(make: Make) -> None:
    model = make(call(a=1, b=2)).bind_tools([add], tool_choice="any")
    answers = [await model.ainvoke("Hi"), *await model.abatch(["Hi", "Ho"])]
    summed: AIMessageChunk | None = None
    async for chunk in model.astream("Hi"):
        assert isinstance(chunk, AIMessageChunk)
        summed = chunk if summed is None else summed + chunk
    assert summed is not None
    assert all(answer.tool_calls[0]["args"] == {"a": 1, "b": 2} for answer in [*answers, summed])


# ---- structured output


@pytest.mark.parametrize("method", ["json_schema", "json_mode", "function_calling"])
@pytest.mark.parametrize("schema", [Cat, CatDict, Cat.model_json_schema()], ids=["pydantic", "typeddict", "dict"])
def test_an_object_of_the_schema_comes_back(make: Make, method: Any, schema: Any) -> None:
    name = "Cat" if schema is not CatDict else "CatDict"
    model = make(call_text("hermes", name, CAT) if method == "function_calling" else CAT)
    structured = model.with_structured_output(schema, method=method)
    expected: Any = Cat(name="Tom", lives=7) if schema is Cat else {"name": "Tom", "lives": 7}
    assert structured.invoke("Hi") == expected
    streamed = list(structured.stream("Hi"))
    assert streamed[-1] == expected and all(isinstance(one, type(expected)) for one in streamed)
    raw = model.with_structured_output(schema, method=method, include_raw=True).invoke("Hi")
    assert raw["parsed"] == expected and raw["parsing_error"] is None and isinstance(raw["raw"], AIMessage)


@pytest.mark.parametrize("method", ["json_schema", "json_mode", "function_calling"])
def test_an_answer_that_was_cut_off_is_an_error_of_ours_and_of_langchains(make: Make, method: Any) -> None:
    says = f'{{"name": "{"Tom" * 60}'
    model = make(call_text("hermes", "Cat", says) if method == "function_calling" else says, max_tokens=60)
    for schema in (Cat, CatDict):
        structured = model.with_structured_output(schema, method=method)
        with pytest.raises(StructuredOutputError, match="max_tokens") as error:
            structured.invoke("Hi")
        assert isinstance(error.value, langchain_errors.OutputParserException)
        with pytest.raises(StructuredOutputError, match="max_tokens"):
            list(structured.stream("Hi"))
        raw = model.with_structured_output(schema, method=method, include_raw=True).invoke("Hi")
        assert raw["parsed"] is None and isinstance(raw["parsing_error"], StructuredOutputError)


def test_what_no_grammar_holds_is_checked_by_the_class(make: Make) -> None:
    class Even(BaseModel):
        n: int

        def model_post_init(self, context: Any) -> None:
            if self.n % 2:
                raise ValueError("odd")

    with pytest.raises(StructuredOutputError, match="does not fit Even"):
        make('{"n": 3}').with_structured_output(Even).invoke("Hi")


def test_no_call_is_an_error_where_a_call_was_asked_for(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confkv_agents.engine.answer.guidance_installed", lambda: False)
    structured = make("x" * 80 + "<", max_tokens=90).with_structured_output(Cat, method="function_calling")
    with pytest.raises(StructuredOutputError):
        structured.invoke("Hi")


def test_strict_refuses_what_a_grammar_cannot_hold(make: Make) -> None:
    odd = {**Cat.model_json_schema(), "not": {"required": ["wings"]}}
    model = make(CAT)
    for strict in (None, True):
        with pytest.raises(ChatConstraintError) as error:
            model.with_structured_output(odd, strict=strict).invoke("Hi")
        assert isinstance(error.value, langchain_errors.ModelInvalidRequestError)
    assert model.with_structured_output(odd, strict=False).invoke("Hi") == json.loads(CAT)


def test_the_extra_is_named_where_it_is_missing(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("answer", "grammar"):
        monkeypatch.setattr(f"confkv_agents.engine.{module}.guidance_installed", lambda: False)
    for method in ("json_schema", "json_mode"):
        with pytest.raises(ExtraMissingError, match=r"pip install 'confkv-agents\[guidance\]'"):
            make(CAT).with_structured_output(Cat, method=method).invoke("Hi")  # type: ignore[arg-type]


def test_wrong_methods_and_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="method"):
        ChatConfKV().with_structured_output(Cat, method="magic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="temperature"):
        ChatConfKV().with_structured_output(Cat, temperature=1)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, (None, True)),
        ({"type": "text"}, (None, True)),
        ({"type": "json_object"}, ({"type": "object"}, False)),
        (
            {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}},
            ({"type": "object"}, True),
        ),
        (
            {"type": "json_schema", "json_schema": {"schema": {"type": "object"}, "strict": False}},
            ({"type": "object"}, False),
        ),
    ],
)
def test_every_response_format_is_understood(given: Any, expected: Any) -> None:
    assert response_schema(given) == expected


def test_json_mode_as_an_option_gives_an_object(make: Make) -> None:
    model = make('{"a": 1} So it is.')
    assert model.invoke("Hi", response_format={"type": "json_object"}).text == '{"a": 1}'
    with pytest.raises(ValueError, match="response_format"):
        model.invoke("Hi", response_format={"type": "yaml"})


def test_a_grammar_of_ones_own_is_an_option(make: Make) -> None:
    assert make("yes, surely").invoke("Hi", grammar='start: "yes" | "no"\n').text == "yes"


# ---- counting, caching, profile


def test_tokens_are_counted_with_tools(make: Make) -> None:
    model = make("Hello")
    messages: list[BaseMessage] = [SystemMessage("Be brief."), HumanMessage("Hi")]
    for tools in ([add], [add, stop]):
        usage = model.bind_tools(tools).invoke(messages).usage_metadata
        assert usage is not None and model.get_num_tokens_from_messages(messages, tools) == usage["input_tokens"]


def test_tools_and_formats_are_part_of_langchains_cache_key(make: Make) -> None:
    store = InMemoryCache()
    model = make(CAT, cache=store)
    for runnable in (
        model,
        model.bind_tools([add]),
        model.bind_tools([stop]),
        model.bind_tools([stop], tool_choice="any"),
        model.with_structured_output(Cat),
        model.bind(grammar='start: "a"'),
    ):
        before = len(store._cache)
        runnable.invoke("Hi")
        runnable.invoke("Hi")
        assert len(store._cache) == before + 1


def test_the_profile_says_what_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = ChatConfKV().profile
    assert profile is not None and profile["max_input_tokens"] == 8191
    assert all(profile[key] for key in ("tool_calling", "tool_choice", "tool_call_streaming", "structured_output"))
    monkeypatch.setattr("confkv_agents.chat_profile.guidance_installed", lambda: False)
    profile = ChatConfKV().profile
    assert profile is not None and profile["structured_output"] is False


def test_a_loaded_model_has_a_profile() -> None:
    loaded = tiny_with_tools("plain")
    model = ChatConfKV.from_model(loaded.model, loaded.tokenizer)
    assert model.profile is not None and model.profile["max_input_tokens"] == 4095
    assert model.profile["image_inputs"] is False
    model.close()
