"""Parses Playwright's accessibility snapshot (`aria_snapshot(mode="ai", boxes=True)`) into nodes.

The snapshot is a YAML-like outline:

    - link "Red Canvas Backpack" [ref=e3] [cursor=pointer] [box=8,88,93,19]:
      - /url: /backpack
    - text: $34.00

Names come from the page, so the parser reads the quoting exactly and never by guesswork: a page cannot forge
a line, a role or a ref.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple


class Box(NamedTuple):
    """A rectangle in CSS pixels of the viewport: left, top, width, height."""

    x: float
    y: float
    width: float
    height: float

    @property
    def center(self) -> tuple[float, float]:
        """The middle."""
        return self.x + self.width / 2, self.y + self.height / 2

    def overlap(self, other: Box) -> float:
        """Area shared with `other`, in square pixels."""
        width = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        height = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        return max(0.0, width) * max(0.0, height)

    def moved(self, dx: float, dy: float) -> Box:
        """The same rectangle elsewhere."""
        return Box(self.x + dx, self.y + dy, self.width, self.height)


@dataclass
class Node:
    """One node of the page.

    Attributes:
        role: ARIA role, or "text" for a bare text.
        name: Accessible name; a text's content.
        ref: Playwright's handle, stable while the node lives; empty where it has none.
        box: In the viewport; None where the page gives none. Frame offsets are added by `add_frame_offsets`.
        states: `checked`, `disabled`, `selected=...` and the like, as the snapshot gives them.
        value: Text given behind the colon: a field's value or the node's only text.
        url: A link's target.
    """

    role: str
    name: str = ""
    ref: str = ""
    box: Box | None = None
    states: dict[str, str] = field(default_factory=dict)
    value: str = ""
    url: str = ""
    placeholder: str = ""
    children: list[Node] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """This node and all below it, in document order."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    @property
    def clickable(self) -> bool:
        """True when the pointer turns into a hand over it."""
        return self.states.get("cursor") == "pointer"


class SnapshotError(ValueError):
    """The snapshot has a form this parser does not know; the message holds the line."""


_ROLE = re.compile(r"[A-Za-z][\w-]*")
_ATTRIBUTE = re.compile(r"\s*\[([\w-]+)(?:=([^\]]*))?\]")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "b": "\b",
    "f": "\f",
    "0": "\0",
    "a": "\a",
    "v": "\v",
    "e": "\x1b",
}


def parse_snapshot(text: str) -> Node:
    """Parse a snapshot; the returned root (role "root") holds the top nodes.

    Raises:
        SnapshotError: A line has an unknown form.
    """
    root = Node("root")
    stack: list[tuple[int, Node]] = [(-1, root)]
    for line in text.split("\n"):
        body = line.lstrip(" ")
        if not body:
            continue
        depth = len(line) - len(body)
        if not body.startswith("- "):
            raise SnapshotError(f"not a node: {line[:120]!r}")
        while stack[-1][0] >= depth:
            stack.pop()
        parent = stack[-1][1]
        key, value = _split(body[2:])
        if key.startswith("/"):
            if key == "/url":
                parent.url = value
            elif key == "/placeholder":
                parent.placeholder = value
            continue
        node = Node("text", clean(value)) if key == "text" else _node(key, clean(value))
        parent.children.append(node)
        stack.append((depth, node))
    return root


def _split(body: str) -> tuple[str, str]:
    """Split a line into key and value, undoing the quoting of each."""
    if body.startswith("'"):
        key, rest = _single_quoted(body)
    elif body.startswith('"'):
        key, rest = _double_quoted(body)
    else:
        key, rest = _plain_key(body)
    rest = rest.strip(" ")
    if not rest:
        return key, ""
    if not rest.startswith(":"):
        raise SnapshotError(f"not a key: {body[:120]!r}")
    value = rest[1:].lstrip(" ")
    if value.startswith('"'):
        value, tail = _double_quoted(value)
        if tail.strip():
            raise SnapshotError(f"text behind a quoted value: {body[:120]!r}")
    elif value.startswith("'"):
        value, tail = _single_quoted(value)
        if tail.strip():
            raise SnapshotError(f"text behind a quoted value: {body[:120]!r}")
    return key, value


def _single_quoted(text: str) -> tuple[str, str]:
    position, parts = 1, []
    while True:
        end = text.find("'", position)
        if end < 0:
            raise SnapshotError(f"unclosed quote: {text[:120]!r}")
        parts.append(text[position:end])
        if text[end + 1 : end + 2] != "'":
            return "".join(parts), text[end + 1 :]
        parts.append("'")
        position = end + 2


def _double_quoted(text: str) -> tuple[str, str]:
    end = 1
    while end < len(text) and text[end] != '"':
        end += 2 if text[end] == "\\" else 1
    if end >= len(text):
        raise SnapshotError(f"unclosed quote: {text[:120]!r}")
    raw = text[1:end]
    try:
        content = json.loads(f'"{raw}"', strict=False)
    except ValueError:
        content = _ESCAPE.sub(_unescape, raw)
    return content, text[end + 1 :]


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPES.get(code, code)


def _plain_key(body: str) -> tuple[str, str]:
    """An unquoted key ends at the first colon outside its quoted name and brackets."""
    position = 0
    while position < len(body):
        character = body[position]
        if character == '"':
            _, rest = _double_quoted(body[position:])
            position = len(body) - len(rest)
            continue
        if character == ":" and body[position + 1 : position + 2] in ("", " "):
            break
        position += 1
    return body[:position], body[position:]


def _node(key: str, value: str) -> Node:
    match = _ROLE.match(key)
    if not match:
        raise SnapshotError(f"no role: {key[:120]!r}")
    node = Node(match[0], value=value)
    rest = key[match.end() :].lstrip(" ")
    if rest.startswith('"'):
        name, rest = _double_quoted(rest)
        node.name = clean(name)
    elif rest.startswith("/"):
        raise SnapshotError(f"a pattern instead of a name: {key[:120]!r}")
    position = 0
    while match := _ATTRIBUTE.match(rest, position):
        attribute, content = match[1], match[2] or ""
        if attribute == "ref":
            node.ref = content
        elif attribute == "box":
            node.box = _box(content)
        else:
            node.states[attribute] = content
        position = match.end()
    if rest[position:].strip():
        raise SnapshotError(f"unknown ending: {key[:120]!r}")
    return node


def _box(text: str) -> Box | None:
    try:
        x, y, width, height = (float(part) for part in text.split(","))
    except ValueError:
        raise SnapshotError(f"not a box: {text[:60]!r}") from None
    return Box(x, y, width, height) if width > 0 and height > 0 else None


def add_frame_offsets(root: Node, border: dict[str, tuple[float, float]]) -> None:
    """Turn boxes inside frames, which are relative to their frame, into boxes of the viewport.

    Args:
        root: Parsed snapshot, changed in place.
        border: Ref of a frame -> width of its left and top border with padding, in pixels.
    """

    def shift(node: Node, dx: float, dy: float) -> None:
        stack = [(node, dx, dy)]
        while stack:
            current, x, y = stack.pop()
            if current.box is not None:
                current.box = current.box.moved(x, y)
            if current.role == "iframe" and current.box is not None:
                left, top = border.get(current.ref, (0.0, 0.0))
                x, y = current.box.x + left, current.box.y + top
            stack.extend((child, x, y) for child in current.children)

    shift(root, 0.0, 0.0)


def clean(text: str) -> str:
    """One line of printable text: white space collapsed, control characters and lone surrogates gone."""
    text = "".join(
        character if character.isprintable() else " " if character.isspace() else _visible(character)
        for character in text
    )
    return " ".join(text.split())


def _visible(character: str) -> str:
    """Joiners are part of words and emoji; surrogates become the replacement character; other controls go."""
    if character in "\u200c\u200d":
        return character
    return "\ufffd" if "\ud800" <= character <= "\udfff" else ""
