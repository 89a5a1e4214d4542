"""One answer while it is said: from token ids to text and tool calls, held to what the request asks for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import TYPE_CHECKING, Literal

import torch

from confkv_agents.engine.constraint import Constraint, Opening
from confkv_agents.engine.conversation import chain_hashes
from confkv_agents.engine.grammar import Grammar, marks_of, require_guidance
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.engine.request import CallDelta, Delta, FinishReason, Request, ThoughtDelta
from confkv_agents.engine.sampling import Logprob, logprob_of
from confkv_agents.engine.text import Detokenizer, StopStrings
from confkv_agents.engine.thoughts import AfterThought, Thought, ThoughtMarks, ThoughtParser, refuse_thought
from confkv_agents.engine.tool_grammar import answer_grammar, opening
from confkv_agents.engine.tool_parsing import CallPiece, ToolCallParser
from confkv_agents.engine.tools import MARKERS, ToolCall, ToolUse, call_id, guidance_installed
from confkv_agents.errors import ConfigError

if TYPE_CHECKING:
    from confkv_agents.engine.encoding import PromptEncoder

logger = logging.getLogger(__name__)


class Answer:
    """The answer of one request. Lives in the engine's thread.

    Attributes:
        constraint: What the next token may be, if anything is asked of the answer.
        constrained: How the answer is held to that: by a grammar, by its forced opening, or not at all.

    Args:
        request: What is asked.
        loaded: The model.
        encoder: Its prompt encoder.
        emit: Takes each event.
        after: The generation prompt that the answer follows.

    Raises:
        PromptError: The template cannot switch thoughts on or off as asked.
        ExtraMissingError: What is asked needs llguidance.
        ConstraintError: The grammar or schema cannot be held.
        ConfigError: A grammar and tools or a schema are given together.
    """

    def __init__(
        self,
        request: Request,
        loaded: LoadedModel,
        encoder: PromptEncoder,
        emit: Callable[[Delta | ThoughtDelta | CallDelta], None],
        after: str = "",
    ):
        self._request = request
        self._loaded = loaded
        self._emit = emit
        self._stops = StopStrings(request.stop)
        self._parser: ToolCallParser | None = None
        self._text: list[str] = []
        self._logprobs: list[Logprob] = []
        self._unsent: list[Logprob] = []
        self.constraint: Constraint | None = None
        self.constrained: Literal["grammar", "opening"] | None = None
        marks = ThoughtMarks.of(loaded)
        state = "answer" if marks is None else marks.state_after(after)
        refuse_thought(loaded.name, marks, state, request.reasoning)
        self._thoughts = None if marks is None or request.grammar is not None else ThoughtParser(marks, state)
        special: dict[str, int] = {}
        use = request.tools
        if use is not None and use.tools:
            special = _special_marks(loaded)
            if use.choice != "none":
                names = frozenset(tool.name for tool in use.tools)
                make_id = partial(call_id, chain_hashes(request.turns)[-1])
                self._parser = ToolCallParser(encoder.template.syntax, names, make_id)
        shown = special if self._parser is not None else {}
        self._detokenizer = Detokenizer(loaded.tokenizer, {number: mark for mark, number in shown.items()})
        self._constrain(encoder, special)
        if self._thoughts is not None and (self.constraint is not None or request.reasoning is False):
            gaps = [ids[0] for gap in ("\n", "\n\n") if len(ids := encoder.marked_ids(gap, {})) == 1]
            self.constraint = AfterThought(
                self.constraint, self._thoughts, sorted(loaded.eos_ids), gaps, request.reasoning is not False
            )

    @property
    def text(self) -> str:
        """The text so far, tool calls and what follows a stop string left out."""
        return "".join(self._text)

    @property
    def thought(self) -> Thought | None:
        """What was thought before the text, if anything."""
        return self._thoughts.thought if self._thoughts is not None and self._thoughts.tokens else None

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls so far."""
        return tuple(self._parser.calls) if self._parser is not None else ()

    @property
    def logprobs(self) -> tuple[Logprob, ...]:
        """One entry per token, if asked for."""
        return tuple(self._logprobs)

    def push(self, token: int, logits: torch.Tensor) -> bool:
        """Take the next token.

        Args:
            token: Its id.
            logits: The raw logits it was chosen from, `[V]`.

        Returns:
            Whether the answer is over.
        """
        if self._request.logprobs:
            entry = logprob_of(logits, token, self._request.top_logprobs, self._loaded.tokenizer.decode)
            self._logprobs.append(entry)
            self._unsent.append(entry)
        if token in self._loaded.eos_ids:
            return True
        if self.constraint is not None:
            self.constraint.advance(token)
        if self._thoughts is not None and self._thoughts.is_mark(token):
            self._read(self._detokenizer.flush(), 0)
            self._thoughts.take_mark(token)
        else:
            self._read(self._detokenizer.push(token))
        if self._stops.found is not None or (self.constraint is not None and self.constraint.done):
            return True
        parallel = self._request.tools is None or self._request.tools.parallel
        return self._parser is not None and not parallel and self._parser.settled

    def finish(self, reason: FinishReason) -> FinishReason:
        """Send what is held back; returns why the answer ended."""
        self._read(self._detokenizer.flush(), 0)
        if self._thoughts is not None:
            self._tell(self._thoughts.flush())
        if self._parser is not None:
            for piece in self._parser.flush():
                self._send(piece)
        self._say(self._stops.flush())
        if self._unsent:  # of tokens without text of their own, such as the one that ends the turn
            self._emit(Delta("", self._take_unsent()))
        if reason == "length" and self._stops.found is not None:
            reason = "stop"
        return "tool_calls" if reason == "stop" and self.calls else reason

    def _read(self, text: str, tokens: int = 1) -> None:
        if self._thoughts is None:
            self._hear(text)
        else:
            self._tell(self._thoughts.push(text, tokens))

    def _tell(self, pieces: Iterable[tuple[bool, str]]) -> None:
        for is_thought, text in pieces:
            if is_thought:
                self._emit(ThoughtDelta(text, self._take_unsent()))
            else:
                self._hear(text)

    def _hear(self, text: str) -> None:
        if self._parser is None:
            self._send(text)
            return
        for piece in self._parser.push(text):
            self._send(piece)

    def _send(self, piece: str | CallPiece) -> None:
        if isinstance(piece, str):
            self._say(self._stops.push(piece))
        else:
            self._emit(CallDelta(piece.index, piece.id, piece.name, piece.text, self._take_unsent()))

    def _say(self, text: str) -> None:
        if text:
            self._text.append(text)
            self._emit(Delta(text, self._take_unsent()))

    def _take_unsent(self) -> tuple[Logprob, ...]:
        entries, self._unsent = tuple(self._unsent), []
        return entries

    def _constrain(self, encoder: PromptEncoder, special: dict[str, int]) -> None:
        request = self._request
        use = request.tools or ToolUse()
        if request.grammar is not None and (request.schema is not None or use.tools):
            raise ConfigError("give either a grammar, or tools and a schema of the answer, not both")
        if request.grammar is not None:
            require_guidance("grammar")
        if request.schema is not None:
            require_guidance("an answer held to a JSON schema, or JSON mode,")
        text = request.grammar
        if guidance_installed():
            if use.tools or request.schema is not None:
                marks = marks_of(self._loaded)
                text = answer_grammar(use, request.schema, encoder.template.syntax, marks, request.strict)
            if text is not None:
                self.constraint, self.constrained = Grammar(text).compile(self._loaded), "grammar"
        elif use.choice == "any":
            _say_what_is_missing()
            ids = encoder.marked_ids(opening(use, encoder.template.syntax), special)
            self.constraint, self.constrained = Opening(ids), "opening"


@cache
def _say_what_is_missing() -> None:
    """Say once what a forced tool call is worth without a grammar."""
    logger.warning(
        "llguidance is not installed: of a forced tool call only the beginning is forced, and what follows may be "
        "no valid call; pip install 'confkv-agents[guidance]'"
    )


def _special_marks(loaded: LoadedModel) -> dict[str, int]:
    """Ids of the marks of calls that are special tokens, which decoding leaves out of the text."""
    return {
        token.content: number
        for number, token in loaded.tokenizer.added_tokens_decoder.items()
        if token.special and token.content in MARKERS
    }
