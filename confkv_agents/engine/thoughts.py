"""Thoughts of reasoning models, told from what they say while it arrives.

A thought stands at the beginning of an answer, between two marks, or between the prompt and the closing mark where the
template opens it itself. Where the marks are tokens of their own only those tokens count, so that a page's text which
the model copies cannot end a thought or begin one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch

from confkv_agents.engine.text import overlap
from confkv_agents.engine.tools import THOUGHT_MARKS
from confkv_agents.errors import PromptError

if TYPE_CHECKING:
    from confkv_agents.engine.constraint import Constraint
    from confkv_agents.engine.loading import LoadedModel

State = Literal["start", "thought", "answer"]


@dataclass(frozen=True)
class ThoughtMarks:
    """What stands around a thought.

    Attributes:
        open: The mark before it.
        close: The mark after it.
        open_id: Its token, if it is one.
        close_id: Its token, if it is one.
    """

    open: str
    close: str
    open_id: int | None = None
    close_id: int | None = None

    @classmethod
    def of(cls, loaded: LoadedModel) -> ThoughtMarks | None:
        """The marks of a model, told from its chat template and its added tokens; `None` if it has none."""
        added = loaded.tokenizer.get_added_vocab()
        template = loaded.chat_template or ""
        for begin, end in THOUGHT_MARKS:
            if begin in added or begin in template or end in template:
                return cls(begin, end, added.get(begin), added.get(end))
        return None

    def state_after(self, prompt: str) -> State:
        """Where an answer begins that follows this generation prompt."""
        begun, ended = prompt.rfind(self.open), prompt.rfind(self.close)
        return "thought" if begun > ended else "answer" if ended >= 0 else "start"


@dataclass(frozen=True)
class Thought:
    """The thought of an answer.

    Attributes:
        text: Without marks and the white space around it.
        tokens: Number of the answer's first tokens that are thought, marks included.
        gap: White space between the closing mark and what is said.
        close: The closing mark.
    """

    text: str
    tokens: int
    gap: str
    close: str


class ThoughtParser:
    """Tells thought from answer.

    Args:
        marks: The model's marks.
        state: Where the answer begins.

    Attributes:
        state: "start" while a thought may still begin, "thought" inside of one, "answer" after it.
        tokens: Number of tokens up to the last one that belongs to the thought.
    """

    def __init__(self, marks: ThoughtMarks, state: State):
        self.marks = marks
        self.state: State = state
        self.tokens = 0
        self._taken = 0
        self._held = ""
        self._thought: list[str] = []
        self._gap = ""  # white space after the thought
        self._said = True  # whether anything was said after the thought, if there was one

    @property
    def thought(self) -> Thought:
        """The thought so far."""
        return Thought("".join(self._thought), self.tokens, self._gap, self.marks.close)

    @property
    def in_gap(self) -> bool:
        """Whether the thought was closed and white space may follow: two tokens of it at most."""
        return self.state == "answer" and not self._said and self._taken - self.tokens < 2

    def is_mark(self, token: int) -> bool:
        """Whether this token opens or closes a thought here."""
        closes = token == self.marks.close_id and self.state == "thought"
        return closes or (token == self.marks.open_id and self.state != "answer" and not self._thought)

    def take_mark(self, token: int) -> None:
        """Take a token that is a mark; the text before it was pushed."""
        self._taken += 1
        self.tokens = self._taken
        self._held = ""
        if token == self.marks.open_id:
            self.state = "thought"
        else:
            self._close()

    def push(self, text: str, tokens: int = 1) -> Iterator[tuple[bool, str]]:
        """Take text and yield `(whether it is thought, text)` for what is certain.

        Args:
            text: More of the answer's text.
            tokens: Number of tokens it came with.
        """
        self._taken += tokens
        if self.state == "start":
            text = self._begin(text)
        if self.state == "thought":
            self.tokens = self._taken
            yield from self._think(text)
        elif self.state == "answer":
            said = self._after_gap(text)
            if said:
                yield False, said

    def flush(self) -> Iterator[tuple[bool, str]]:
        """Yield what is held back; the answer is over."""
        held, self._held = self._held, ""
        if self.state == "start" and held:
            yield False, held
        elif self.state == "thought" and held.strip():
            yield from self._show(held.rstrip())

    def _begin(self, text: str) -> str:
        """Decide whether a thought begins; returns the text after its mark, or all of it."""
        held = self._held + text
        begun = held.lstrip()
        if not begun or (self.marks.open_id is None and self.marks.open.startswith(begun)):
            self._held = held
            return ""
        self._held = ""
        if self.marks.open_id is None and begun.startswith(self.marks.open):
            self.state = "thought"
            return begun[len(self.marks.open) :]
        self.state = "answer"
        return held

    def _think(self, text: str) -> Iterator[tuple[bool, str]]:
        held, after = self._held + text, None
        if self.marks.close_id is None:
            held, found, rest = held.partition(self.marks.close)
            after = rest if found else None
        if not self._thought:
            held = held.lstrip()
        keep = overlap(held, self.marks.close) if after is None and self.marks.close_id is None else 0
        shown = held[: len(held) - keep].rstrip()
        self._held = held[len(shown) :]
        if shown:
            yield from self._show(shown)
        if after is not None:
            self._close()
            said = self._after_gap(after)
            if said:
                yield False, said

    def _close(self) -> None:
        self.state, self._held, self._said = "answer", "", False

    def _show(self, text: str) -> Iterator[tuple[bool, str]]:
        self._thought.append(text)
        yield True, text

    def _after_gap(self, text: str) -> str:
        """What of the text is said: white space right after a thought is not."""
        if self._said:
            return text
        said = text.lstrip()
        self._gap += text[: len(text) - len(said)]
        self._said = bool(said)
        return said


class AfterThought:
    """A constraint that holds what is said and leaves the thought before it free.

    Args:
        inner: The constraint; `None` leaves everything free.
        thoughts: Tells where the answer stands.
        eos_ids: Tokens that end an answer, which a thought that must be followed by something must not.
        gap_ids: Tokens of white space that may stand after a thought.
        allowed: Whether a thought may begin where none has.
    """

    def __init__(
        self,
        inner: Constraint | None,
        thoughts: ThoughtParser,
        eos_ids: Sequence[int],
        gap_ids: Sequence[int],
        allowed: bool,
    ):
        self._inner = inner
        self._thoughts = thoughts
        self._eos = list(eos_ids)
        self._gap = list(gap_ids)
        self._allowed = allowed

    @property
    def done(self) -> bool:
        """Whether the answer is complete and nothing may follow."""
        return self._inner is not None and self._inner.done

    def mask(self, logits: torch.Tensor) -> torch.Tensor:
        """Logits `[V]` with minus infinity where the token may not come next."""
        thoughts = self._thoughts
        if thoughts.state == "thought":
            if self._inner is None:
                return logits
            return logits.index_fill(0, torch.tensor(self._eos, device=logits.device), float("-inf"))
        masked = logits if self._inner is None else self._inner.mask(logits)
        also = self._gap if self._inner is not None and thoughts.in_gap else []
        mark = thoughts.marks.open_id
        if thoughts.state == "start" and mark is not None:
            masked = masked.clone()
            masked[mark] = logits[mark] if self._allowed else float("-inf")
        elif also:
            masked = masked.clone()
            masked[also] = logits[also]
        return masked

    def advance(self, token_id: int) -> None:
        """Take note of the token that was chosen, before the parser of thoughts does."""
        thoughts = self._thoughts
        free = thoughts.state == "thought" or thoughts.is_mark(token_id)
        if self._inner is not None and not free and not (thoughts.in_gap and token_id in self._gap):
            self._inner.advance(token_id)


def refuse_thought(name: str, marks: ThoughtMarks | None, state: State, wanted: bool | None) -> None:
    """Refuse what a template cannot do.

    Args:
        name: Name of the model.
        marks: Its marks.
        state: Where its answer begins.
        wanted: Whether a thought is asked for; `None` is whatever the template does.

    Raises:
        PromptError: A thought of a model that has none, or none of a model whose template always begins one.
    """
    if wanted and marks is None:
        raise PromptError(f"model {name!r} has no thoughts, neither in its template nor as tokens; leave reasoning out")
    if wanted is False and state == "thought":
        raise PromptError(f"the chat template of model {name!r} always begins a thought; leave reasoning=False out")
