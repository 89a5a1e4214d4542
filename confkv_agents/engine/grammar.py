"""Constrained decoding with llguidance: JSON schemas, tool calls and grammars of one's own.

llguidance (https://github.com/guidance-ai/llguidance) is an optional extra; its Lark dialect is described in its
docs/syntax.md. Only its matcher is used: the mask is unpacked here, since its torch helper needs a compiler.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from confkv_agents.engine.loading import LoadedModel
from confkv_agents.engine.tools import MARKERS, guidance_installed
from confkv_agents.errors import ConstraintError, ExtraMissingError

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer

# One way to write white space, the one of json.dumps: a small model that may choose it can choose it forever.
_WRITTEN = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
ANY_OBJECT: dict[str, Any] = {"type": "object"}


def require_guidance(purpose: str) -> None:
    """Refuse what cannot be done without llguidance.

    Args:
        purpose: What it is needed for, as the beginning of a sentence.

    Raises:
        ExtraMissingError: llguidance is not installed.
    """
    if not guidance_installed():
        raise ExtraMissingError(
            f"{purpose} needs constrained decoding, and llguidance is not installed; run "
            "pip install 'confkv-agents[guidance]'"
        )


@dataclass(frozen=True)
class Grammar:
    """A grammar in llguidance's Lark dialect, its start rule named `start`.

    Attributes:
        text: The grammar.
    """

    text: str

    def compile(self, loaded: LoadedModel) -> GrammarConstraint:
        """Make the constraint of one answer.

        Args:
            loaded: The model whose tokens are masked.

        Raises:
            ExtraMissingError: llguidance is not installed.
            ConstraintError: The grammar is wrong, or the tokenizer cannot be used.
        """
        require_guidance("a grammar")
        from llguidance import LLMatcher

        matcher = LLMatcher(_grammar_tokenizer(loaded), self.text, log_level=0)
        if matcher.is_error():
            raise ConstraintError(f"the grammar of the answer cannot be used: {_short(matcher.get_error())}")
        return GrammarConstraint(matcher)


class GrammarConstraint:
    """A grammar at work on one answer.

    Args:
        matcher: An llguidance matcher, used by nobody else.
    """

    def __init__(self, matcher: LLMatcher):
        self._matcher = matcher

    @property
    def done(self) -> bool:
        """Whether the grammar allows nothing more."""
        return self._matcher.is_stopped()

    def mask(self, logits: torch.Tensor) -> torch.Tensor:
        """Logits `[V]` with minus infinity where the grammar does not allow the token."""
        packed = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        self._check()
        bits = np.unpackbits(packed, bitorder="little")[: logits.shape[-1]]
        refused = np.ones(logits.shape[-1], dtype=bool)  # ids beyond the tokenizer's are padding of the weights
        refused[: len(bits)] = bits == 0
        if refused.all():
            raise ConstraintError("the grammar of the answer allows no token here; check that it can be completed")
        return logits.masked_fill(torch.from_numpy(refused).to(logits.device), float("-inf"))

    def advance(self, token_id: int) -> None:
        """Take note of the token that was chosen."""
        if not self._matcher.consume_token(token_id):
            self._check()

    def _check(self) -> None:
        if self._matcher.is_error():
            raise ConstraintError(f"the grammar of the answer failed: {_short(self._matcher.get_error())}")


@dataclass(frozen=True)
class Marks:
    """Special tokens of a tokenizer that a grammar of free text and calls must name.

    Attributes:
        special: Ids by text of those that mark calls.
        visible: Ids of those that the model may say in free text, such as the marks of a thought.
    """

    special: dict[str, int] = field(default_factory=dict)
    visible: tuple[int, ...] = ()


def marks_of(loaded: LoadedModel) -> Marks:
    """The special tokens of a model's tokenizer as llguidance sees them: it takes more for special than the model does.

    Raises:
        ConstraintError: The tokenizer cannot be used.
    """
    tokenizer = _grammar_tokenizer(loaded)
    special: dict[str, int] = {}
    visible: list[int] = []
    for number, token in loaded.tokenizer.added_tokens_decoder.items():
        if not tokenizer.is_special_token(number):
            continue
        if token.content in MARKERS:
            special[token.content] = number
        elif not token.special:
            visible.append(number)
    return Marks(special, tuple(visible))


def json_rule(schema: dict[str, Any], lenient: bool = False) -> str:
    """The body of a Lark rule for one JSON value of a schema, written with json.dumps's separators.

    Args:
        schema: A JSON schema.
        lenient: Leave out what llguidance does not know of the schema instead of refusing it.
    """
    return "%json " + json.dumps({**schema, "x-guidance": {**_WRITTEN, "lenient": lenient}})


def literal(text: str, special: dict[str, int]) -> str:
    """Fixed text as part of a Lark rule.

    Args:
        text: The text.
        special: Ids of the special tokens in it; only as a token, not as text, do they mean anything.
    """
    for token, number in special.items():
        before, found, after = text.partition(token)
        if found:
            parts = (literal(before, special), f"<[{number}]>", literal(after, special))
            return " ".join(part for part in parts if part)
    return json.dumps(text) if text else ""


def any_of(rules: Sequence[str]) -> str:
    """A rule body of alternatives."""
    return " | ".join(rules)


def _grammar_tokenizer(loaded: LoadedModel) -> LLTokenizer:
    """The model's tokenizer as llguidance needs it; made once per model, which takes up to a second."""
    if loaded.grammar_tokenizer is None:
        from llguidance.hf import from_tokenizer

        try:
            loaded.grammar_tokenizer = from_tokenizer(loaded.tokenizer, eos_token=sorted(loaded.eos_ids))
        except (ValueError, AttributeError, RuntimeError) as error:
            raise ConstraintError(
                f"the tokenizer of model {loaded.name!r} cannot be used for constrained decoding: {_short(str(error))}"
            ) from error
    return loaded.grammar_tokenizer


def _short(text: str) -> str:
    return " ".join(text.split())[:400]
