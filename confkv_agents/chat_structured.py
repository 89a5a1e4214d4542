"""`with_structured_output`: the answer as an object of a schema, by three methods."""

from __future__ import annotations

import json
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import BaseCumulativeTransformOutputParser
from langchain_core.outputs import ChatGeneration, Generation
from langchain_core.runnables import Runnable, RunnableMap, RunnablePassthrough
from langchain_core.utils.function_calling import convert_to_json_schema
from langchain_core.utils.json import parse_partial_json
from langchain_core.utils.pydantic import is_basemodel_subclass
from pydantic import ValidationError
from pydantic.v1 import ValidationError as OldValidationError

from confkv_agents.chat_errors import StructuredOutputError
from confkv_agents.chat_tools import tool_dicts

if TYPE_CHECKING:
    from confkv_agents.chat_models import ChatConfKV

Method = Literal["json_schema", "function_calling", "json_mode"]


def structured_output(
    model: ChatConfKV, schema: dict[str, Any] | type, method: Method, include_raw: bool, strict: bool | None
) -> Runnable[LanguageModelInput, Any]:
    """Build what `ChatConfKV.with_structured_output` returns; its docstring tells the rest."""
    traced = {"kwargs": {"method": method, "strict": strict}, "schema": schema}
    name: str | None = None
    if method == "function_calling":
        name = str(tool_dicts([schema])[0]["function"]["name"])
        bound: Runnable[LanguageModelInput, AIMessage] = model.bind_tools(
            [schema], tool_choice=name, parallel_tool_calls=False, strict=strict, ls_structured_output_format=traced
        )
    else:
        wanted = convert_to_json_schema(schema)
        if method == "json_schema":
            named = {"name": wanted.get("title", "answer"), "schema": wanted}
            if strict is not None:
                named["strict"] = strict
            response_format: dict[str, Any] = {"type": "json_schema", "json_schema": named}
        else:
            response_format = {"type": "json_object", "schema": wanted}
        bound = model.bind(response_format=response_format, ls_structured_output_format=traced)
    parser = StructuredOutputParser(object_type=_object_type(schema), tool_name=name)
    if not include_raw:
        return bound | parser
    parsed = RunnablePassthrough.assign(parsed=itemgetter("raw") | parser, parsing_error=lambda _: None)
    failed = RunnablePassthrough.assign(parsed=lambda _: None)
    return RunnableMap(raw=bound) | parsed.with_fallbacks([failed], exception_key="parsing_error")


class StructuredOutputParser(BaseCumulativeTransformOutputParser[Any]):
    """Reads an object out of an answer: its text, or the arguments of a tool call.

    Attributes:
        object_type: Pydantic class of the object; `None` gives a dictionary.
        tool_name: Name of the tool whose arguments are the object; `None` takes the text.
    """

    object_type: Any = None
    tool_name: str | None = None

    def parse(self, text: str) -> Any:
        """The object that a text holds.

        Raises:
            StructuredOutputError: The text holds no such object.
        """
        return self._validated(_loaded(text))

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        """The object of an answer.

        Args:
            result: The answer, first.
            partial: More may come: what is there of a dictionary is returned, of a pydantic object nothing.

        Raises:
            StructuredOutputError: The answer holds no such object.
        """
        generation = result[0]
        message = generation.message if isinstance(generation, ChatGeneration) else AIMessage(generation.text)
        if not isinstance(message, AIMessage):
            raise StructuredOutputError(f"a {message.type} message holds no answer of a model", generation.text)
        if partial and getattr(message, "chunk_position", None) != "last":
            return self._partial(message)
        if message.response_metadata.get("finish_reason") == "length":
            raise StructuredOutputError(
                "the answer ended at max_tokens before the object was complete; raise max_tokens", message.text
            )
        if self.tool_name is None:
            return self._validated(_loaded(message.text))
        for call in message.tool_calls:
            if call["name"] == self.tool_name:
                return self._validated(call["args"])
        wrong = [call["error"] for call in message.invalid_tool_calls if call.get("error")]
        why = f" ({wrong[0]})" if wrong else ""
        raise StructuredOutputError(f"the answer holds no valid call of {self.tool_name!r}{why}", message.text)

    async def aparse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        """The object of an answer; it is no work for another thread."""
        return self.parse_result(result, partial=partial)

    def _partial(self, message: AIMessage) -> Any:
        if self.object_type is not None:
            return None
        if self.tool_name is not None:
            return next((call["args"] for call in message.tool_calls if call["name"] == self.tool_name), None)
        try:
            value = parse_partial_json(message.text)
        except ValueError:
            return None
        return value if isinstance(value, dict) else None

    def _validated(self, value: Any) -> Any:
        if not isinstance(value, dict):
            raise StructuredOutputError("the answer is no JSON object", json.dumps(value))
        if self.object_type is None:
            return value
        try:
            read = getattr(self.object_type, "model_validate", None) or self.object_type.parse_obj
            return read(value)
        except (ValidationError, OldValidationError) as error:
            raise StructuredOutputError(
                f"the answer does not fit {self.object_type.__name__}: {error}", json.dumps(value)
            ) from error

    @property
    def _type(self) -> str:
        return "confkv-structured-output"


def _loaded(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except ValueError as error:
        raise StructuredOutputError(f"the answer is no valid JSON: {error}", text) from error


def _object_type(schema: Any) -> Any:
    return schema if isinstance(schema, type) and is_basemodel_subclass(schema) else None
