"""Why a prompt had to be read again: which message departs from what was read, and what that cost."""

from __future__ import annotations

import hashlib
import json
import logging
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from confkv_agents.engine.conversation import Role, chain_hashes

if TYPE_CHECKING:
    from confkv_agents.engine.encoding import Prompt
    from confkv_agents.engine.request import Request

logger = logging.getLogger(__name__)

WORTH_A_WARNING = 0.5  # of what had been read


@dataclass(frozen=True)
class Asked:
    """What a request puts to a session, in hashes, to be compared with the next one.

    Attributes:
        messages: One hash per message, of that message alone.
        tools: Hash of the tools in the prompt.
        others: Hash of the template variables and of what is said of the answer's form.
    """

    messages: tuple[bytes, ...]
    tools: bytes = b""
    others: bytes = b""

    @classmethod
    def of(cls, request: Request) -> Asked:
        """What a request asks."""
        tools = [asdict(tool) for tool in request.prompt_tools]
        return cls(
            tuple(chain_hashes([turn])[0] for turn in request.turns),
            _hash(tools),
            _hash([request.template_vars, request.prompt_note]),
        )

    def departs_at(self, before: Asked) -> int | None:
        """First message that is another one than it was before, or is there no more; `None` if none is."""
        for at, (new, old) in enumerate(zip(self.messages, before.messages, strict=False)):
            if new != old:
                return at
        return len(self.messages) - 1 if len(self.messages) < len(before.messages) else None

    def continues(self, before: Asked) -> bool:
        """Whether this is the same conversation, changed: messages that came after the change are still there.

        One alone may be the same question asked in two conversations.
        """
        first = self.departs_at(before)
        if first is None:
            return True
        return len(set(self.messages[first:]) & set(before.messages[first + 1 :])) > 1


@dataclass(frozen=True)
class Miss:
    """A prompt that departs from what its session had read.

    Attributes:
        at: First prompt token that departs.
        message: Number of the message that holds it, from 0.
        recomputed: Prompt tokens that are read although the session had read that far.
        reason: What is likely behind it, in words.
    """

    at: int
    message: int | None
    recomputed: int
    reason: str


def explain(
    at: int,
    held: int,
    reused: int,
    prompt: Prompt,
    roles: Sequence[Role],
    now: Asked,
    before: Asked | None,
    thoughts_dropped: bool = False,
) -> Miss:
    """Say what broke a prefix.

    Args:
        at: First prompt token that departs from the nearest session's.
        held: Tokens that this session held.
        reused: Prompt tokens that need not be read.
        prompt: The prompt.
        roles: The roles of the request's messages.
        now: What is asked.
        before: What the session was asked last, if that is known.
        thoughts_dropped: Whether thoughts of earlier answers were left out of the prompt.
    """
    recomputed = max(0, min(held, len(prompt.ids) - 1) - reused)
    message = message_at(prompt, at)
    first = None if before is None else now.departs_at(before)
    if before is None:
        return Miss(at, message, recomputed, "the session was asked something else before")
    if first is not None:
        return Miss(at, first, recomputed, _change(first, roles, now, before))
    if now.tools != before.tools:
        reason = "other tools than before: bind the same ones, in the same order, at every call"
    elif now.others != before.others:
        reason = "other template variables, or another form of the answer is asked for"
    elif thoughts_dropped:
        reason = "the thoughts of earlier answers are left out; keep_thoughts=True keeps them"
    elif reused < at:
        reason = "the cache cannot go back there: it was evicted, or the session was answering another call"
    else:
        reason = "the chat template writes an earlier message otherwise than before"
    return Miss(at, message, recomputed, reason)


def message_at(prompt: Prompt, token: int) -> int | None:
    """Number of the message whose turn holds a token of the prompt; `None` if it is of no message."""
    turn = bisect_right([start for start, _ in prompt.turns], token) - 1
    source = prompt.sources[turn] if 0 <= turn < len(prompt.sources) else -1
    return source if source >= 0 else None


def warn(session: str, miss: Miss, reused: int) -> None:
    """Say once per session that little of it could be used again."""
    where = "" if miss.message is None else f" from message {miss.message} on"
    logger.warning(
        "session %r: %d tokens had to be read again%s and only %d could be reused; likely reason: %s",
        session,
        miss.recomputed,
        where,
        reused,
        miss.reason,
    )


def _change(first: int, roles: Sequence[Role], now: Asked, before: Asked) -> str:
    if now.messages[first] in before.messages[first + 1 :] or len(now.messages) == first + 1 < len(before.messages):
        return f"messages before message {first} were removed, or those after it"
    if roles[first] == "system":
        return "a dynamic system prompt: put what changes at every call, such as the time, into the last message"
    return f"message {first} was edited"


def _hash(value: object) -> bytes:
    return hashlib.blake2b(json.dumps(value, sort_keys=True, default=repr).encode(), digest_size=16).digest()
