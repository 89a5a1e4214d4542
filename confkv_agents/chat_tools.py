"""LangChain's tools, tool choices and response formats in the engine's terms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_json_schema, convert_to_openai_tool

from confkv_agents.chat_fields import shown
from confkv_agents.engine.tools import Tool, ToolUse
from confkv_agents.errors import ConfigError

ToolLike = dict[str, Any] | type | Callable[..., Any] | BaseTool
_FORCED = {"any", "required"}


def tool_dicts(tools: Sequence[ToolLike], strict: bool | None = None) -> list[dict[str, Any]]:
    """Tools in OpenAI's form, in the given order.

    Args:
        tools: Functions, LangChain tools, pydantic classes, typed dictionaries or JSON schemas.
        strict: Mark the schemas as strict.

    Raises:
        ConfigError: What is no tool, a tool of a server's own, or parameters that no arguments fit.
    """
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable):
        raise ConfigError(f"tools cannot be {shown(tools)}: give a list of functions, tools or schemas")
    converted: list[dict[str, Any]] = []
    for tool in tools:
        try:
            made = convert_to_openai_tool(tool, strict=strict)
            function = made.get("function", made)
            server = made.get("type") != "function" or not isinstance(function.get("name"), str)
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise ConfigError(f"tools cannot hold {shown(tool)}: {error}") from error
        if server:
            raise ConfigError(f"a tool of type {made.get('type')!r} runs on a server; a local model has functions only")
        _check_parameters(function)
        converted.append({"type": "function", "function": {k: v for k, v in function.items() if k != "type"}})
    return converted


def _check_parameters(function: Mapping[str, Any]) -> None:
    """Refuse a tool that could never be called, since arguments are an object."""
    parameters, name = function.get("parameters"), function["name"]
    if parameters is None:
        return
    if not isinstance(parameters, Mapping):
        raise ConfigError(f"tools: the parameters of {name!r} must be a JSON schema, got {shown(parameters)}")
    kind = parameters.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise ConfigError(f"tools: the parameters of {name!r} must be of the type 'object', got {shown(kind)}")
    try:
        json.dumps(parameters)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"tools: the parameters of {name!r} are no JSON: {error}") from error


def tool_choice_name(choice: Any, names: Sequence[str]) -> str:
    """A tool choice as "auto", "any", "none" or the name of a tool.

    Args:
        choice: One of those, "required", a boolean, `None`, or a dictionary of OpenAI's or Anthropic's form.
        names: The tools' names.

    Raises:
        ConfigError: No such tool, or no such choice.
    """
    if choice is None or choice is False:
        return "auto"
    if choice is True:
        return "any"
    if isinstance(choice, Mapping):
        function = choice.get("function")
        named = function.get("name") if isinstance(function, Mapping) else choice.get("name")
        choice = named or choice.get("type")
    if isinstance(choice, str) and choice in _FORCED:
        return "any"
    if isinstance(choice, str) and (choice in ("auto", "none") or choice in names):
        return choice
    raise ConfigError(
        f"tool_choice {choice!r} is none of 'auto', 'any', 'required', 'none' or the tools' names: "
        f"{', '.join(names) or 'there are no tools'}"
    )


def tool_use(options: Mapping[str, Any]) -> ToolUse | None:
    """What a call's options say of tools.

    A forced choice means one call, unless `parallel_tool_calls` asks for several; a free one may hold several,
    unless it forbids them.

    Args:
        options: The options `tools`, `tool_choice`, `parallel_tool_calls` and `strict`.

    Raises:
        ConfigError: Two tools of one name, a choice without tools, or one that is none.
    """
    given = options.get("tools")
    dicts = tool_dicts(() if given is None else given)
    names = [entry["function"]["name"] for entry in dicts]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f"two tools are named {twice[0]!r}; give each its own name")
    choice = tool_choice_name(options.get("tool_choice"), names)
    if not dicts:
        if choice not in ("auto", "none"):
            raise ConfigError(f"tool_choice {choice!r} needs tools; bind some with bind_tools")
        return None
    forced = choice not in ("auto", "none")
    parallel = options.get("parallel_tool_calls")
    return ToolUse(
        tools=tuple(_tool(entry["function"]) for entry in dicts),
        choice="any" if forced else "none" if choice == "none" else "auto",
        only=choice if forced and choice != "any" else None,
        parallel=not forced if parallel is None else bool(parallel),
        strict=bool(options.get("strict")),
    )


def response_schema(response_format: Any) -> tuple[dict[str, Any] | None, bool]:
    """The JSON schema that a response format asks for, and whether to refuse what of it cannot be held.

    Args:
        response_format: OpenAI's form (`json_schema`, `json_object`, which may carry a `schema`, or `text`), or a
            schema itself: a pydantic class, a typed dictionary or a JSON schema.

    Raises:
        ConfigError: Anything else.
    """
    if response_format is None:
        return None, True
    if not isinstance(response_format, Mapping):
        try:
            return convert_to_json_schema(response_format), True
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise ConfigError(f"response_format cannot be {shown(response_format)}: {error}") from error
    kind = response_format.get("type")
    if kind == "text":
        return None, True
    if kind == "json_object":
        schema = response_format.get("schema")
        if schema is None or isinstance(schema, Mapping):
            return dict(schema or {"type": "object"}), False
    elif kind == "json_schema":
        form = response_format.get("json_schema", response_format)
        if isinstance(form, Mapping) and isinstance(form.get("schema"), Mapping):
            return dict(form["schema"]), form.get("strict") is not False
    elif "properties" in response_format or "title" in response_format:
        return dict(response_format), True
    raise ConfigError(
        f"response_format {shown(response_format)} is none of "
        '{"type": "json_schema", "json_schema": {"name": .., "schema": ..}}, {"type": "json_object"} or a JSON schema'
    )


def _tool(function: Mapping[str, Any]) -> Tool:
    parameters = function.get("parameters") or {"type": "object", "properties": {}}
    return Tool(function["name"], function.get("description") or "", dict(parameters))
