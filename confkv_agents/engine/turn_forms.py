"""Other forms of a conversation, for chat templates that refuse the one it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from confkv_agents.engine.conversation import Part, Turn


def merge(turns: Sequence[Turn]) -> list[Turn]:
    """Join neighbouring turns of one role, which many templates refuse; tool turns stay apart."""
    merged: list[Turn] = []
    for turn in turns:
        last = merged[-1] if merged else None
        if last is not None and last.role == turn.role and turn.role != "tool" and not last.tool_calls:
            gap: tuple[Part, ...] = ("\n\n",) if last.parts and turn.parts else ()
            merged[-1] = replace(last, parts=(*last.parts, *gap, *turn.parts), tool_calls=turn.tool_calls)
        else:
            merged.append(turn)
    return merged


def with_note(turns: list[Turn], note: str) -> list[Turn]:
    """Text added to the system turn in front, which is made if there is none."""
    if not note:
        return turns
    if turns and turns[0].role == "system":
        gap: tuple[Part, ...] = ("\n\n",) if turns[0].parts else ()
        return [replace(turns[0], parts=(*turns[0].parts, *gap, note)), *turns[1:]]
    return [Turn("system", (note,)), *turns]


def without_system(turns: Sequence[Turn]) -> list[Turn]:
    """System text moved to the front of the next user turn, for templates that know no system turn."""
    moved: list[Turn] = []
    waiting: list[Part] = []
    for turn in turns:
        if turn.role == "system":
            waiting += [*turn.parts, "\n\n"]
        elif waiting and turn.role == "user":
            moved.append(replace(turn, parts=(*waiting, *turn.parts)))
            waiting = []
        else:
            moved.append(turn)
    if waiting:
        moved.append(Turn("user", tuple(waiting[:-1]), source=turns[-1].source))
    return moved
