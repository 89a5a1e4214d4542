"""What a prompt is made of before it becomes tokens: turns of text and pictures."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from PIL.Image import Image

PICTURE_KEYS = -(2**56)
"""The markers of pictures among keys are at least this, and below 0."""

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True)
class Picture:
    """A decoded picture and the hash that tells it from every other picture.

    Attributes:
        image: The pixels, RGB.
        digest: Hash of size and pixels; two equal screenshots have the same digest, whatever their file
            bytes.
    """

    image: Image = field(compare=False, repr=False)
    digest: bytes

    @classmethod
    def of(cls, image: Image) -> Picture:
        """Make a picture of decoded pixels.

        Args:
            image: Any PIL image; it is converted to RGB if it is not.
        """
        rgb = image if image.mode == "RGB" else image.convert("RGB")
        hasher = hashlib.blake2b(repr(rgb.size).encode(), digest_size=16)
        hasher.update(rgb.tobytes())
        return cls(rgb, hasher.digest())


Part = str | Picture


@dataclass(frozen=True)
class Turn:
    """One message of a conversation, free of any chat library.

    Attributes:
        role: Who speaks.
        parts: Text and pictures, in order.
        tool_calls: Calls the assistant made, each `{"name": str, "arguments": dict, "id": str | None}`; the
            arguments of an invalid call are the text that the model wrote.
        name: Name of the tool that a tool turn answers for, if known.
        tool_call_id: Id of the call that a tool turn answers.
        reasoning: What the assistant thought before it spoke, if that is known; templates show it or not. No part of
            what tells conversations apart, since many callers do not hand it back.
        source: Number of the message it is made of, where turns are joined or parted; -1 is none.
    """

    role: Role
    parts: tuple[Part, ...]
    tool_calls: tuple[dict[str, Any], ...] = ()
    name: str | None = None
    tool_call_id: str | None = None
    reasoning: str = ""
    source: int = field(default=-1, compare=False, repr=False)

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part for part in self.parts if isinstance(part, str))

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """The picture parts, in order."""
        return tuple(part for part in self.parts if isinstance(part, Picture))


def pictures_of(turns: Iterable[Turn]) -> list[Picture]:
    """All pictures of a conversation, in the order in which the model meets them."""
    return [picture for turn in turns for picture in turn.pictures]


def chain_hashes(turns: Iterable[Turn]) -> list[bytes]:
    """One hash per turn, each over the conversation up to and including that turn.

    The hash of an assistant turn's predecessor identifies the prompt that the turn answered.
    """
    hashes: list[bytes] = []
    previous = b""
    for turn in turns:
        hasher = hashlib.blake2b(previous, digest_size=16)
        hasher.update(turn.role.encode())
        for is_text, run in itertools.groupby(turn.parts, lambda part: isinstance(part, str)):
            if is_text:
                data = "".join(str(part) for part in run).encode("utf-8", "surrogatepass")
                hasher.update(b"\x00t" + len(data).to_bytes(8, "big") + data if data else b"")
            else:
                hasher.update(b"".join(b"\x00p" + part.digest for part in run if isinstance(part, Picture)))
        for call in turn.tool_calls:
            hasher.update(b"\x00c" + repr((call.get("name"), call.get("arguments"))).encode())
        previous = hasher.digest()
        hashes.append(previous)
    return hashes
