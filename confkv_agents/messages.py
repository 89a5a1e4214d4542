"""LangChain messages to the engine's turns: text, pictures in every block form, tool results.

A string in a message is never read as a path, and nothing is fetched unless the caller allows it: messages of
an agent carry text from web pages.
"""

from __future__ import annotations

import base64
import binascii
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from PIL import Image

from confkv_agents.engine.conversation import Part, Picture, Role, Turn
from confkv_agents.engine.media import ImageLimits, decode_picture, picture_from_pil
from confkv_agents.errors import ImageError, PromptError

_TEXT_TYPES = {"text", "input_text", "output_text"}
_FETCH_SECONDS = 20.0


@dataclass(frozen=True)
class ImageAccess:
    """What pictures in messages may be.

    Attributes:
        limits: Size limits.
        urls: Allow http and https addresses to be fetched.
        files: Allow `file://` addresses to be read.
    """

    limits: ImageLimits = field(default_factory=ImageLimits)
    urls: bool = False
    files: bool = False


def to_turns(messages: Sequence[BaseMessage], access: ImageAccess | None = None) -> tuple[Turn, ...]:
    """Convert LangChain messages.

    Args:
        messages: Any roles in any order; `name` of a person is ignored.
        access: What pictures may be; the default allows only pictures carried by the message itself.

    Raises:
        PromptError: A block of a kind that cannot be given to the model, or no messages.
        ImageError: A picture that is not allowed, too large or damaged.
    """
    if not messages:
        raise PromptError("there are no messages; give at least one")
    allowed = access or ImageAccess()
    names = _tool_names(messages)
    return tuple(_turn(message, at, allowed, names) for at, message in enumerate(messages))


def has_pictures(messages: Iterable[BaseMessage]) -> bool:
    """Whether any message carries a picture block, so that converting it takes more than a moment."""
    return any(
        isinstance(block, dict) and "image" in str(block.get("type"))
        for message in messages
        if isinstance(message.content, list)
        for block in message.content
    )


def _turn(message: BaseMessage, at: int, access: ImageAccess, names: dict[str, str]) -> Turn:
    where = f"message {at} ({message.type})"
    if isinstance(message, AIMessage):
        calls, thought = _tool_calls(message, where), _thought(message)
        return Turn("assistant", _assistant_parts(message), calls, reasoning=thought)
    parts = _parts(message.content, where, access)
    if isinstance(message, ToolMessage):
        name = message.name or names.get(message.tool_call_id)
        return Turn("tool", parts, name=name, tool_call_id=message.tool_call_id)
    if isinstance(message, FunctionMessage):
        return Turn("tool", parts, name=message.name)
    return Turn(_role(message, where), parts)


def _role(message: BaseMessage, where: str) -> Role:
    if isinstance(message, SystemMessage):
        return "system"
    if isinstance(message, HumanMessage):
        return "user"
    if isinstance(message, ChatMessage):
        roles: dict[str, Role] = {
            "system": "system",
            "developer": "system",
            "user": "user",
            "human": "user",
            "assistant": "assistant",
            "ai": "assistant",
        }
        if message.role in roles:
            return roles[message.role]
        raise PromptError(f"{where} has the role {message.role!r}; use one of {', '.join(roles)}")
    raise PromptError(
        f"{where} is a {type(message).__name__}; use System-, Human-, AI- or ToolMessage, or a ChatMessage"
    )


def _assistant_parts(message: AIMessage) -> tuple[Part, ...]:
    """Text of an assistant message; blocks of other kinds (calls, reasoning) are told elsewhere."""
    if isinstance(message.content, str):
        return (message.content,) if message.content else ()
    texts = [
        block if isinstance(block, str) else str(block.get("text", ""))
        for block in message.content
        if isinstance(block, str) or block.get("type") in _TEXT_TYPES
    ]
    text = "".join(texts)
    return (text,) if text else ()


def _thought(message: AIMessage) -> str:
    """What an assistant message says that was thought, in any of the usual places."""
    told = message.additional_kwargs.get("reasoning_content")
    if isinstance(told, str) or isinstance(message.content, str):
        return told if isinstance(told, str) else ""
    blocks = [block for block in message.content if isinstance(block, dict)]
    kinds = {"reasoning": "reasoning", "thinking": "thinking"}
    return "".join(str(b.get(kinds[b["type"]]) or "") for b in blocks if b.get("type") in kinds)


def _tool_calls(message: AIMessage, where: str) -> tuple[dict[str, Any], ...]:
    """The calls of an assistant message; the arguments of an invalid one are text."""
    calls: list[dict[str, Any]] = []
    for call in message.tool_calls:
        if not isinstance(call["args"], dict):
            raise PromptError(f"{where} has a tool call whose arguments are no object: {call['name']!r}")
        try:
            json.dumps(call["args"])
        except (TypeError, ValueError, RecursionError) as error:
            raise PromptError(f"{where} has a call of {call['name']!r} whose arguments are no JSON: {error}") from error
        calls.append({"name": call["name"], "arguments": call["args"], "id": call.get("id")})
    for wrong in message.invalid_tool_calls:
        calls.append({"name": wrong["name"] or "", "arguments": wrong["args"] or "", "id": wrong.get("id")})
    return tuple(calls)


def _tool_names(messages: Sequence[BaseMessage]) -> dict[str, str]:
    """Tool names by call id, for tool messages that do not say which tool they answer for."""
    return {
        str(call["id"]): call["name"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if call.get("id") and call["name"]
    }


def _parts(content: str | list[Any], where: str, access: ImageAccess) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (content,) if content else ()
    parts: list[Part] = []
    for number, block in enumerate(content):
        part = block if isinstance(block, str) else _part(block, f"{where}, block {number}", access)
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] += part
        elif part != "":
            parts.append(part)
    return tuple(parts)


def _part(block: Any, where: str, access: ImageAccess) -> Part:
    if not isinstance(block, dict):
        raise PromptError(f"{where} is a {type(block).__name__}; a block must be text or a dictionary with a 'type'")
    kind = block.get("type")
    if kind in _TEXT_TYPES:
        text = block.get("text")
        if not isinstance(text, str):
            raise PromptError(f"{where} is a text block without a 'text' string")
        return text
    if kind == "image":
        return _image_block(block, where, access)
    if kind in ("image_url", "input_image"):
        address = block.get("image_url")
        if isinstance(address, dict):
            address = address.get("url")
        if not isinstance(address, str):
            raise ImageError(f"{where} is an image_url block without a 'url' string")
        return _from_url(address, where, access)
    raise PromptError(
        f"{where} is of type {kind!r}, which the model cannot be given; use 'text', 'image' or 'image_url' blocks"
    )


def _image_block(block: dict[str, Any], where: str, access: ImageAccess) -> Picture:
    """A standard image block, in its current form or the one before, or one that carries a PIL image."""
    extras = block.get("extras")
    pil = block.get("image") or (extras.get("image") if isinstance(extras, dict) else None)
    if isinstance(pil, Image.Image):
        return picture_from_pil(pil, access.limits, where)
    if isinstance(block.get("base64"), str):
        return _from_base64(block["base64"], where, access)
    if block.get("source_type") == "base64" and isinstance(block.get("data"), str):
        return _from_base64(block["data"], where, access)
    if isinstance(block.get("url"), str):
        return _from_url(block["url"], where, access)
    raise ImageError(f"{where} is an image block without 'base64' or 'url'; files by id cannot be looked up")


def _from_base64(text: str, where: str, access: ImageAccess) -> Picture:
    if len(text) > access.limits.bytes * 4 // 3 + 4096:
        raise ImageError(
            f"{where} has a picture of about {len(text) * 3 // 4:,} bytes; at most {access.limits.bytes:,} are allowed"
        )
    if text.startswith("data:"):
        return _from_url(text, where, access)
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ImageError(
            f"{where} has a picture that is not base64 ({error}); a path or address must not stand there"
        ) from error
    return decode_picture(data, access.limits, where)


def _from_url(address: str, where: str, access: ImageAccess) -> Picture:
    scheme = address.partition(":")[0].lower() if ":" in address[:16] else ""
    if scheme == "data":
        header, comma, data = address.partition(",")
        if not comma:
            raise ImageError(f"{where} has a data: address without data")
        if header.endswith(";base64"):
            return _from_base64(data, where, access)
        return decode_picture(urllib.parse.unquote_to_bytes(data), access.limits, where)
    if scheme in ("http", "https"):
        if not access.urls:
            raise ImageError(
                f"{where} has a picture at {_short(address)}, and fetching is not allowed; pass the picture "
                "itself as base64, or allow it with allow_image_urls=True"
            )
        return decode_picture(_fetch(address, where, access.limits.bytes), access.limits, where)
    if scheme == "file":
        if not access.files:
            raise ImageError(
                f"{where} has a picture in the file {_short(address)}, and reading files is not allowed; "
                "pass the picture itself as base64, or allow it with allow_image_files=True"
            )
        return decode_picture(_read(address, where, access.limits.bytes), access.limits, where)
    raise ImageError(f"{where} has a picture at {_short(address)}, which is no data:, http: or file: address")


def _fetch(address: str, where: str, most: int) -> bytes:
    request = urllib.request.Request(address, headers={"User-Agent": "confkv-agents"})
    try:
        with urllib.request.urlopen(request, timeout=_FETCH_SECONDS) as response:
            return response.read(most + 1)
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise ImageError(f"{where}: the picture at {_short(address)} cannot be fetched: {error}") from error


def _read(address: str, where: str, most: int) -> bytes:
    path = Path(urllib.request.url2pathname(urllib.parse.urlsplit(address).path))
    try:
        with path.open("rb") as file:
            return file.read(most + 1)
    except OSError as error:
        raise ImageError(f"{where}: the picture {path} cannot be read: {error}") from error


def _short(address: str) -> str:
    return repr(address if len(address) <= 80 else f"{address[:77]}...")
