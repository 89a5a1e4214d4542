"""Tool calls out of a model's text while it arrives.

The parser passes text through and takes calls out of it, in any of the syntaxes of `tools.Syntax`. It is
lenient in what it accepts (white space, order of keys, a missing closing mark, several calls in one place) and
strict in what it calls valid: arguments that are not one JSON object make an invalid call, never an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from confkv_agents.engine.text import overlap
from confkv_agents.engine.tools import (
    CALL_CLOSE,
    CALL_OPEN,
    MISTRAL_ARGS,
    MISTRAL_CALLS,
    MISTRAL_ID,
    PYTHON_TAG,
    Syntax,
    ToolCall,
)

_HEAD = re.compile(
    r'\{\s*(?:"type"\s*:\s*"function"\s*,\s*)?"name"\s*:\s*("(?:[^"\\]|\\.)*")\s*,'
    r'\s*"(?:arguments|parameters)"\s*:\s*(?=\{)'
)
_NAME = re.compile(r'"name"\s*:\s*("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True)
class CallPiece:
    """A piece of a call.

    Attributes:
        index: Number of the call in the answer.
        id: Its id, on its first piece only.
        name: The tool's name, on its first piece only.
        text: More of the arguments.
    """

    index: int
    id: str | None
    name: str | None
    text: str


class _Object:
    """One JSON object as it arrives, and the place of a call's arguments in it.

    Args:
        name: Name of the tool if the object is the arguments themselves.
    """

    def __init__(self, name: str | None = None):
        self.text = ""
        self.name = name
        self.begin: int | None = None if name is None else 0  # where the arguments begin
        self.end: int | None = None  # and end
        self.sent = 0
        self.done = False
        self._inner = 1 if name is None else 0  # depth to which closing the arguments returns
        self._open = ""
        self._quoted = self._escaped = False

    def feed(self, text: str) -> int:
        """Take characters up to the end of the object; returns how many."""
        for at, character in enumerate(text):
            self.text += character
            if self._quoted:
                self._in_string(character)
            elif character == '"':
                self._quoted = True
            elif character in "{[":
                self._open += character
                self._look_for_head()
            elif character in "}]":
                self._open = self._open[:-1]
                if self.begin is not None and self.end is None and len(self._open) <= self._inner:
                    self.end = len(self.text)
                if not self._open:
                    self.done = True
                    return at + 1
        return len(text)

    @property
    def arguments(self) -> str:
        """The arguments as far as they are known."""
        return "" if self.begin is None else self.text[self.begin : self.end]

    @property
    def spoiled(self) -> str:
        """What was written, with an end that nobody can mistake for complete JSON.

        LangChain completes the JSON of a streamed call that was cut off, and would run the tool with half of
        its arguments; a closing bracket that matches nothing keeps it from doing so.
        """
        text = self.arguments or self.text
        if self.end is not None or self.done:
            return text + "]"
        string_end = ("\\" if self._escaped else "") + ('"' if self._quoted else "")
        return text + string_end + ("}" if self._open.endswith("[") else "]")

    def _in_string(self, character: str) -> None:
        if self._escaped:
            self._escaped = False
        elif character == "\\":
            self._escaped = True
        elif character == '"':
            self._quoted = False

    def _look_for_head(self) -> None:
        if self.begin is None and self._open == "{{":
            head = _HEAD.match(self.text)
            if head is not None and head.end() == len(self.text) - 1:
                self.name, self.begin = _string(head[1]), head.end()


class ToolCallParser:
    """Splits an answer into text and tool calls.

    Args:
        syntax: How the model writes calls.
        names: Names of the tools; a bare JSON object is a call only if it names one of them.
        make_id: Makes the id of the call of a number.
    """

    def __init__(self, syntax: Syntax, names: frozenset[str], make_id: Callable[[int], str]):
        self.calls: list[ToolCall] = []
        self._syntax = syntax
        self._names = names
        self._make_id = make_id
        self._buffer = ""
        self._space = ""  # white space that is shown only if text follows it
        self._spoken = False
        self._object: _Object | None = None
        self._inside = False
        self._raw = ""  # what stands in a call's place that is no object
        self._found = 0  # objects found since the call's place began

    @property
    def settled(self) -> bool:
        """Whether a call was read to its end, its closing mark included."""
        return bool(self.calls) and not self._inside and self._object is None

    def push(self, text: str) -> Iterator[str | CallPiece]:
        """Take a piece of the answer; yields text to show and pieces of calls."""
        self._buffer += text
        while self._buffer:
            before = len(self._buffer), self._inside, self._object
            if self._object is not None:
                yield from self._read_object(self._object)
            elif self._inside:
                yield from self._read_place()
            else:
                yield from self._read_text()
            if (len(self._buffer), self._inside, self._object) == before:
                return  # more must arrive

    def flush(self) -> Iterator[str | CallPiece]:
        """The answer ended; yields what was held back."""
        if self._object is not None:
            yield from self._end_object(self._object)
        elif self._inside and self._syntax != "llama3":
            self._raw += self._buffer
            yield from self._end_place()
        else:
            yield from self._say(self._raw + self._buffer)
        self._buffer = self._raw = ""
        if not self.calls and self._space:
            yield self._space
        self._space = ""

    # ---- text

    def _read_text(self) -> Iterator[str | CallPiece]:
        if self._syntax == "llama3":
            yield from self._read_bare()
            return
        trigger = CALL_OPEN if self._syntax == "hermes" else MISTRAL_CALLS
        at = self._buffer.find(trigger)
        if at >= 0:
            yield from self._say(self._buffer[:at])
            self._buffer = self._buffer[at + len(trigger) :]
            self._enter()
            return
        keep = overlap(self._buffer, trigger)
        shown, self._buffer = self._buffer[: len(self._buffer) - keep], self._buffer[len(self._buffer) - keep :]
        yield from self._say(shown)

    def _read_bare(self) -> Iterator[str | CallPiece]:
        """A bare object is a call where the answer begins with it, or after another call."""
        rest = self._buffer.lstrip(" \t\r\n;," if self.calls else None)
        if not self._spoken and rest.startswith(PYTHON_TAG):
            rest = rest[len(PYTHON_TAG) :].lstrip()
        elif not self._spoken and rest and PYTHON_TAG.startswith(rest):
            return
        if not self._spoken and rest.startswith("{"):
            self._buffer = rest
            self._object = _Object()
        elif rest or self._spoken:
            yield from self._say(self._buffer)
            self._buffer = ""

    def _say(self, text: str) -> Iterator[str]:
        """Text without white space at either side of a call."""
        text = self._space + text
        stripped = text.rstrip()
        self._space = text[len(stripped) :]
        if not self._spoken and self.calls:
            stripped = stripped.lstrip()
        if stripped:
            self._spoken = True
            yield stripped

    # ---- the place of a call

    def _enter(self) -> None:
        self._inside, self._raw, self._found, self._space, self._spoken = True, "", 0, "", False

    def _leave(self) -> None:
        self._inside, self._raw, self._spoken = False, "", False

    def _read_place(self) -> Iterator[str | CallPiece]:
        if self._syntax == "hermes":
            yield from self._read_hermes()
        else:
            yield from self._read_mistral()

    def _read_hermes(self) -> Iterator[str | CallPiece]:
        at = self._buffer.find(CALL_CLOSE)
        brace = self._buffer.find("{")
        if brace >= 0 and (at < 0 or brace < at) and not (self._raw + self._buffer[:brace]).strip(" \t\r\n,}"):
            self._buffer, self._object, self._raw = self._buffer[brace:], _Object(), ""
        elif at >= 0:
            self._raw += self._buffer[:at]
            self._buffer = self._buffer[at + len(CALL_CLOSE) :]
            yield from self._end_place()
        elif self._found and (rest := self._buffer.lstrip(" \t\r\n,}")) and not CALL_CLOSE.startswith(rest):
            self._leave()  # the closing mark is missing, and text goes on

    def _read_mistral(self) -> Iterator[str | CallPiece]:
        rest = self._buffer.lstrip(" \t\r\n,")
        if rest and self._found and not self._raw:
            self._buffer = rest
            self._leave()
        elif rest.startswith("]") and (self._found or self._raw):
            self._buffer = rest[1:]
            yield from self._end_place()
        elif rest.startswith("[") and not self._raw and not rest.startswith((MISTRAL_ARGS, MISTRAL_ID)):
            self._buffer, self._raw = rest[1:], "["
        elif rest.startswith("{") and self._raw in ("", "["):
            self._buffer, self._object = rest, _Object()
        elif self._raw and rest:
            self._buffer = rest
            yield from self._end_place()
        elif (brace := rest.find("{")) > 0:
            name = re.split(rf"{re.escape(MISTRAL_ID)}|{re.escape(MISTRAL_ARGS)}", rest[:brace])[0].strip()
            self._buffer, self._object = rest[brace:], _Object(name)

    def _end_place(self) -> Iterator[CallPiece]:
        """The place of a call is over; what stood in it without an object is an invalid call."""
        raw = self._raw.strip(" \t\r\n,}")
        if not self._found:
            yield from self._invalid(None, raw + "]", "there is no JSON object in the call")
        self._leave()

    # ---- a call

    def _read_object(self, read: _Object) -> Iterator[str | CallPiece]:
        used = read.feed(self._buffer)
        self._buffer = self._buffer[used:]
        if read.begin is not None and (self._syntax != "llama3" or read.name in self._names):
            yield from self._send(read, read.arguments)
        if read.done:
            yield from self._end_object(read)

    def _send(self, read: _Object, text: str) -> Iterator[CallPiece]:
        """Pass on what is new of a call's arguments."""
        index = len(self.calls)
        first = read.sent == 0
        if len(text) > read.sent:
            yield CallPiece(
                index, self._make_id(index) if first else None, read.name if first else None, text[read.sent :]
            )
            read.sent = len(text)

    def _end_object(self, read: _Object) -> Iterator[str | CallPiece]:
        self._object, self._found = None, self._found + 1
        if read.begin is None:
            yield from self._end_other_form(read)
            return
        if self._syntax == "llama3" and read.name not in self._names:
            yield from self._say(read.text)
            return
        arguments, error = _arguments(read.arguments) if read.end is not None else (None, "the call is cut off")
        text = read.arguments if error is None else read.spoiled
        yield from self._send(read, text)
        self._add(read.name, arguments, text, error)

    def _end_other_form(self, read: _Object) -> Iterator[str | CallPiece]:
        """An object that does not begin as calls do: other keys first, arguments as a string, or no call."""
        try:
            value = json.loads(read.text, strict=False)
        except ValueError as error:
            value, problem = {}, f"the call is no JSON object: {error}" if read.done else "the call is cut off"
        else:
            problem = "the call has no 'name' and 'arguments'"
        name = value.get("name")
        given: Any = next((value[key] for key in ("arguments", "parameters") if key in value), {} if name else None)
        arguments, wrong = _arguments(given) if isinstance(given, str) else (given, None)
        valid = isinstance(name, str) and isinstance(arguments, dict)
        if self._syntax == "llama3" and not (valid and name in self._names):
            yield from self._say(read.text)
        elif valid:
            text = json.dumps(arguments, ensure_ascii=False)
            index = len(self.calls)
            yield CallPiece(index, self._make_id(index), name, text)
            self._add(name, arguments, text, None)
        else:
            guess = _NAME.search(read.text)
            yield from self._invalid(_string(guess[1]) if guess else None, read.spoiled, wrong or problem)

    def _invalid(self, name: str | None, text: str, error: str) -> Iterator[CallPiece]:
        index = len(self.calls)
        yield CallPiece(index, self._make_id(index), name, text)
        self._add(name, None, text, error)

    def _add(self, name: str | None, arguments: dict[str, Any] | None, text: str, error: str | None) -> None:
        index = len(self.calls)
        self.calls.append(ToolCall(index, self._make_id(index), name, arguments, text, error))


def _arguments(text: str) -> tuple[dict[str, Any] | None, str | None]:
    """A call's arguments, or what is wrong with them."""
    try:
        value = json.loads(text, strict=False)
    except ValueError as error:
        return None, f"the arguments are no valid JSON: {error}"
    if not isinstance(value, dict):
        return None, "the arguments are no JSON object"
    return value, None


def _string(quoted: str) -> str | None:
    """A quoted JSON string's value."""
    try:
        return str(json.loads(quoted, strict=False))
    except ValueError:
        return None
