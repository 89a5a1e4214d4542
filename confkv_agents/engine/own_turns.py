"""The engine's own turns by the ids that were generated, to be put into later prompts as they were."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from confkv_agents.engine.conversation import Turn


@dataclass(frozen=True)
class OwnTurn:
    """A turn this engine generated.

    Attributes:
        ids: Its ids, thoughts included, without the end-of-turn token.
        generation_prompt: What stood before them.
        reasoning: The text of its thought.
        when: The date that the template wrote in its prompt; the conversation keeps it, also past midnight.
    """

    ids: tuple[int, ...]
    generation_prompt: str
    reasoning: str = ""
    when: datetime | None = None


class OwnTurns:
    """The engine's own turns, found again by the conversation that they end.

    Rendering and tokenizing an own turn again often gives other ids than those that were sampled; with the
    stored ids the next prompt starts exactly as the session's cache does.
    """

    def __init__(self, capacity: int = 4096):
        self._capacity = capacity
        self._turns: OrderedDict[bytes, OwnTurn] = OrderedDict()

    def put(self, key: bytes, turn: OwnTurn) -> None:
        """Remember a turn under the hash of the conversation up to and including it."""
        self._turns[key] = turn
        self._turns.move_to_end(key)
        while len(self._turns) > self._capacity:
            self._turns.popitem(last=False)

    def get(self, key: bytes) -> OwnTurn | None:
        """The turn that ends this conversation, if this engine generated it."""
        turn = self._turns.get(key)
        if turn is not None:
            self._turns.move_to_end(key)
        return turn


def with_old_thoughts(turns: Sequence[Turn], own: Sequence[OwnTurn | None]) -> set[int]:
    """Numbers of the own turns before the last user turn that hold thoughts."""
    last = max((at for at, turn in enumerate(turns) if turn.role == "user"), default=0)
    return {at for at, turn in enumerate(own[:last]) if turn is not None and turn.reasoning}
