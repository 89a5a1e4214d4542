"""Whether a grammar admits a text, asked without any model."""

from __future__ import annotations

import llguidance


def accepts(text: str, grammar: str) -> bool:
    """Whether a byte-level matcher takes the whole text and could end there."""
    tokenizer = llguidance.LLTokenizer("byte")
    matcher = llguidance.LLMatcher(tokenizer, llguidance.LLMatcher.grammar_from_lark(grammar))
    assert not matcher.is_error(), matcher.get_error()
    tokens = tokenizer.tokenize_str(text)
    return bool(matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting())
