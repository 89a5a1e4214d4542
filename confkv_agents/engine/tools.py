"""Tools in a conversation: what may be called, how models write calls, and how a request says what it wants."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

CALL_OPEN, CALL_CLOSE = "<tool_call>", "</tool_call>"
MISTRAL_CALLS, MISTRAL_ID, MISTRAL_ARGS = "[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"
PYTHON_TAG = "<|python_tag|>"
THOUGHT_MARKS = (("<think>", "</think>"), ("[THINK]", "[/THINK]"))
"""How models mark thoughts: Qwen 3, DeepSeek R1 and many others; Magistral."""
MARKERS = (CALL_OPEN, CALL_CLOSE, MISTRAL_CALLS, MISTRAL_ID, MISTRAL_ARGS, PYTHON_TAG)

Syntax = Literal["hermes", "llama3", "mistral", "mistral_named"]
"""How a model writes its calls: `<tool_call>{"name", "arguments"}</tool_call>`, a bare
`{"name", "parameters"}`, `[TOOL_CALLS][{"name", "arguments"}]`, or `[TOOL_CALLS]name[ARGS]{...}`."""

_ID_LETTERS = string.ascii_letters + string.digits
_ID_LENGTH = 9  # what Mistral's templates demand


@dataclass(frozen=True)
class Tool:
    """A tool that may be called.

    Attributes:
        name: Its name.
        description: What it does.
        parameters: JSON schema of its arguments.
    """

    name: str
    description: str
    parameters: dict[str, Any]

    def as_function(self) -> dict[str, Any]:
        """OpenAI's form, which chat templates expect."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}


@dataclass(frozen=True)
class ToolUse:
    """The tools of a request and what the model may do with them.

    Attributes:
        tools: They stand in the prompt in this order, whatever the choice is, so that the choice does not
            change the prompt.
        choice: "auto" leaves it to the model, "any" demands a call, "none" forbids one.
        only: Name of the one tool that must be called, with choice "any".
        parallel: Whether one answer may hold several calls.
        strict: Refuse parameter schemas that constrained decoding cannot hold entirely.
    """

    tools: tuple[Tool, ...] = ()
    choice: Literal["auto", "any", "none"] = "auto"
    only: str | None = None
    parallel: bool = True
    strict: bool = False

    @property
    def callable(self) -> tuple[Tool, ...]:
        """The tools that this answer may call."""
        if self.choice == "none":
            return ()
        return tuple(tool for tool in self.tools if self.only in (None, tool.name))


@dataclass(frozen=True)
class ToolCall:
    """A call that the model made.

    Attributes:
        index: Its number in the answer, from 0.
        id: Nine letters and digits.
        name: The tool's name, if it could be read.
        arguments: The arguments, or `None` if what the model wrote is no valid call.
        text: The arguments as they were written.
        error: What is wrong with an invalid call.
    """

    index: int
    id: str
    name: str | None
    arguments: dict[str, Any] | None
    text: str
    error: str | None = None

    def as_turn(self) -> dict[str, Any]:
        """The form in which a turn holds it; the arguments of an invalid call are its text."""
        arguments = self.text if self.arguments is None else self.arguments
        return {"name": self.name or "", "arguments": arguments, "id": self.id}


def guidance_installed() -> bool:
    """Whether constrained decoding is available: llguidance is an optional extra."""
    return importlib.util.find_spec("llguidance") is not None


def call_id(conversation: bytes, index: int) -> str:
    """An id of nine letters and digits for a call: the same whenever the same conversation is answered.

    Args:
        conversation: Hash of the conversation that the answer continues.
        index: Number of the call in the answer.
    """
    return _letters(hashlib.blake2b(conversation + index.to_bytes(4, "big"), digest_size=16).digest())


def prompt_id(given: str | None) -> str:
    """A call's id as templates may demand it; ids of other systems become nine letters and digits."""
    if given and re.fullmatch(rf"[A-Za-z0-9]{{{_ID_LENGTH}}}", given):
        return given
    return _letters(hashlib.blake2b((given or "").encode("utf-8", "surrogatepass"), digest_size=16).digest())


def call_syntax(rendered: str, name: str) -> Syntax | None:
    """How a template writes a call, told from a rendering of one.

    Args:
        rendered: Text in which the template wrote a call of a tool with one argument.
        name: The tool's name, found nowhere else in the text.

    Returns:
        `None` if the template writes no call, or in a way that is not known here.
    """
    quoted = re.escape(json.dumps(name))
    if re.search(rf'{re.escape(CALL_OPEN)}\s*{{\s*"name":\s*{quoted},\s*"arguments":\s*{{', rendered):
        return "hermes"
    if re.search(rf"{re.escape(MISTRAL_CALLS)}\s*{re.escape(name)}", rendered):
        return "mistral_named"
    if re.search(rf'{re.escape(MISTRAL_CALLS)}\s*\[\s*{{\s*"name":\s*{quoted},\s*"arguments":\s*{{', rendered):
        return "mistral"
    if re.search(rf'{{\s*"name":\s*{quoted},\s*"parameters":\s*{{', rendered):
        return "llama3"
    return None


def call_text(syntax: Syntax, name: str, arguments: Any) -> str:
    """A call as text; arguments that are text already stand as they are."""
    body = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    head = json.dumps(name, ensure_ascii=False)
    if syntax == "llama3":
        return f'{{"name": {head}, "parameters": {body}}}'
    if syntax == "mistral":
        return f'{MISTRAL_CALLS}[{{"name": {head}, "arguments": {body}}}]'
    if syntax == "mistral_named":
        return f"{MISTRAL_CALLS}{name}{MISTRAL_ARGS}{body}"
    return f'{CALL_OPEN}\n{{"name": {head}, "arguments": {body}}}\n{CALL_CLOSE}'


def announcement(tools: Sequence[Tool], syntax: Syntax) -> str:
    """What the system turn says of the tools where the template has no place for them.

    Args:
        tools: The tools.
        syntax: How calls are to be written.
    """
    lines = [json.dumps(tool.as_function()["function"], ensure_ascii=False) for tool in tools]
    example = call_text(syntax, "NAME", "ARGUMENTS")
    return "\n".join(
        [
            "You can call these tools. Each is given by its name, what it does, and the JSON schema of its arguments:",
            *lines,
            "",
            "To call one, write nothing but this, with the tool's name and a JSON object of arguments:",
            example,
            "The result comes in the next message. If no tool is needed, answer in plain text.",
        ]
    )


def schema_instruction(schema: dict[str, Any]) -> str:
    """What the system turn says of the JSON object that the answer must be."""
    if set(schema) <= {"type"}:
        return "Answer with one JSON object and nothing else."
    return (
        "Answer with one JSON object and nothing else. It must fit this JSON schema:\n"
        f"{json.dumps(schema, ensure_ascii=False)}"
    )


def _letters(digest: bytes) -> str:
    number = int.from_bytes(digest, "big")
    letters = []
    for _ in range(_ID_LENGTH):
        number, digit = divmod(number, len(_ID_LETTERS))
        letters.append(_ID_LETTERS[digit])
    return "".join(letters)
