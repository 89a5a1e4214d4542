"""The grammar of an answer with tools: which calls it may or must hold, in the model's own syntax."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from confkv_agents.engine.grammar import Marks, any_of, json_rule, literal
from confkv_agents.engine.tools import (
    CALL_CLOSE,
    CALL_OPEN,
    MISTRAL_ARGS,
    MISTRAL_CALLS,
    Syntax,
    Tool,
    ToolUse,
)

_ARGUMENTS_KEY = {"llama3": "parameters"}


def answer_grammar(
    use: ToolUse, schema: dict[str, Any] | None, syntax: Syntax, marks: Marks, strict: bool = False
) -> str | None:
    """A Lark grammar for the answer to a request.

    Args:
        use: The tools. A forced call starts with the answer's first token, so that no text can take its place.
        schema: JSON schema of the answer where it is no call.
        syntax: How the model writes calls.
        marks: The tokenizer's special tokens that matter here.
        strict: Refuse what of `schema` cannot be held.

    Returns:
        `None` if nothing has to be held: free text, or tools whose calls cannot be told from text.
    """
    writer = _Writer(syntax, marks, not use.strict)
    tools = use.callable
    if schema is not None:
        writer.rule("answer", json_rule(schema, lenient=not strict))
    if not tools:
        if schema is not None:
            return writer.grammar("answer")
        return writer.without_calls() if use.tools and syntax != "llama3" else None
    calls = writer.calls(tools, use.parallel)
    if use.choice == "any":
        return writer.grammar(calls)
    if schema is not None:
        return writer.grammar(any_of(("answer", calls)))
    return None if syntax == "llama3" else writer.free(tools, use.parallel)


def opening(use: ToolUse, syntax: Syntax) -> str:
    """The text that a forced call begins with, as far as it is known before the model chooses.

    Args:
        use: The tools, with choice "any".
        syntax: How the model writes calls.
    """
    tools = use.callable
    name = tools[0].name if len(tools) == 1 else None
    if syntax == "mistral_named":
        return MISTRAL_CALLS + (f"{name}{MISTRAL_ARGS}{{" if name else "")
    before = {"hermes": CALL_OPEN + "\n", "mistral": MISTRAL_CALLS + "["}.get(syntax, "")
    if name is None:
        return before + '{"name": "'
    key = _ARGUMENTS_KEY.get(syntax, "arguments")
    return f'{before}{{"name": {json.dumps(name, ensure_ascii=False)}, "{key}": {{'


class _Writer:
    """Collects the rules of a grammar."""

    def __init__(self, syntax: Syntax, marks: Marks, lenient: bool):
        self._syntax = syntax
        self._special = marks.special
        self._visible = marks.visible
        self._trigger = CALL_OPEN if syntax == "hermes" else MISTRAL_CALLS
        self._lenient = lenient
        self._rules: list[str] = []

    def rule(self, name: str, body: str) -> str:
        self._rules.append(f"{name}: {body}")
        return name

    def grammar(self, start: str) -> str:
        return "\n".join([f"start: {start}", *self._rules]) + "\n"

    def calls(self, tools: Sequence[Tool], parallel: bool) -> str:
        """The rule of an answer that is nothing but calls."""
        if self._syntax == "hermes":
            call = self.rule("call", self._between(CALL_OPEN + "\n", self._bodies(tools), "\n" + CALL_CLOSE))
            return self.rule("calls", f'{call} ("\\n" {call})*' if parallel else call)
        if self._syntax == "mistral":
            call = self.rule("call", self._bodies(tools))
            several = f'{call} (", " {call})*' if parallel else call
            return self.rule("calls", self._between(MISTRAL_CALLS, f'" "? "[" {several}', "]"))
        if self._syntax == "mistral_named":
            call = self.rule("call", any_of([self._named(tool, at) for at, tool in enumerate(tools)]))
            return self.rule("calls", f"{call}+" if parallel else call)
        call = self.rule("call", self._bodies(tools))
        return self.rule("calls", f'{call} ("; " {call})*' if parallel else call)

    def free(self, tools: Sequence[Tool], parallel: bool) -> str:
        """Free text in which a call that was begun is a valid one."""
        said = self._said("/(.|\\n)+/")
        if self._trigger in self._special:
            begun = literal(self._trigger, self._special)
        else:
            begun = self.rule("begun[lazy]", f"/(.|\\n)*/ {json.dumps(self._trigger)}").partition("[")[0]
        if self._syntax == "hermes":
            after = self._between("\n", self._bodies(tools), "\n" + CALL_CLOSE)
        elif self._syntax == "mistral":
            bodies = self.rule("body", self._bodies(tools))
            several = f'{bodies} (", " {bodies})*' if parallel else bodies
            after = f'" "? "[" {several} "]"'
        else:
            after = "(" + any_of([self._named(tool, at, "") for at, tool in enumerate(tools)]) + ")"
        call = self.rule("called", f"{begun} {after}")
        return self.grammar(f"({said} | {call})*" if parallel else f"({said})* {call}?")

    def without_calls(self) -> str:
        """Free text that begins no call."""
        text = "/(.|\\n)+/"
        if self._trigger not in self._special:
            escaped = self._trigger.replace("[", "\\[").replace("]", "\\]")
            text += f" & ~/(.|\\n)*{escaped}(.|\\n)*/"
        return self.grammar(f"({self._said(text)})*")

    def _said(self, text: str) -> str:
        """A piece of free text: characters, or one of the special tokens that show as text."""
        self.rule("TEXT", text)
        return f"TEXT | <{json.dumps(list(self._visible), separators=(',', ':'))}>" if self._visible else "TEXT"

    def _between(self, before: str, inside: str, after: str) -> str:
        return f"{literal(before, self._special)} {inside} {literal(after, self._special)}"

    def _bodies(self, tools: Sequence[Tool]) -> str:
        """Any of the objects that call a tool by name."""
        if self._syntax == "llama3":
            return any_of([self._bare(tool, at) for at, tool in enumerate(tools)])
        key = _ARGUMENTS_KEY.get(self._syntax, "arguments")
        bodies = []
        for at, tool in enumerate(tools):
            head = f'{{"name": {json.dumps(tool.name, ensure_ascii=False)}, "{key}": '
            bodies.append(f'{json.dumps(head)} {self._arguments(tool, at)} "}}"')
        return "(" + any_of(bodies) + ")"

    def _bare(self, tool: Tool, at: int) -> str:
        """A call as a JSON value whole: beside another object, a fixed text would take its first characters away."""
        schema = _object_schema(tool.parameters)
        definitions: dict[str, Any] = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
        inner = {key: part for key, part in schema.items() if key not in definitions}
        whole: dict[str, Any] = {
            "type": "object",
            "properties": {"name": {"const": tool.name}, "parameters": inner},
            "required": ["name", "parameters"],
            **definitions,
        }
        return self.rule(f"call_{at}", json_rule(whole, self._lenient))

    def _named(self, tool: Tool, at: int, trigger: str = MISTRAL_CALLS) -> str:
        return f"{literal(f'{trigger}{tool.name}{MISTRAL_ARGS}', self._special)} {self._arguments(tool, at)}"

    def _arguments(self, tool: Tool, at: int) -> str:
        name = f"arguments_{at}"
        if not any(rule.startswith(f"{name}:") for rule in self._rules):
            self.rule(name, json_rule(_object_schema(tool.parameters), self._lenient))
        return name


def _object_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema whose value is an object, which arguments always are."""
    if not schema.get("properties") and "type" not in schema:
        return {**schema, "type": "object", "additionalProperties": False}
    if schema.get("type") == "object" and not schema.get("properties") and "additionalProperties" not in schema:
        return {**schema, "additionalProperties": False}
    return schema
