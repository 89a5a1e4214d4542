"""Small chat templates that treat thoughts as the known families do."""

from __future__ import annotations

from confkv_agents.engine.loading import LoadedModel
from tests.engine.tiny import tiny_llama

_CONTENT = "{% set said = m.content.split('</think>')[-1] %}"
_TURN = "<|im_start|>{{ m.role }}\n"

QWEN3 = (  # thoughts of answers before the last user turn are dropped; a switch closes the thought at once
    "{% set n = namespace(last=0) %}{% for m in messages %}{% if m.role == 'user' %}{% set n.last = loop.index0 %}"
    "{% endif %}{% endfor %}{% for m in messages %}"
    + _CONTENT
    + _TURN
    + "{% if m.role == 'assistant' and loop.index0 > n.last and m.reasoning_content %}"
    "<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}{{ said }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
OPENED = (  # DeepSeek R1, QwQ: the template itself begins every thought
    "{% for m in messages %}" + _CONTENT + _TURN + "{{ said }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
)
DATED = (  # Llama 3: today's date in front of everything
    "<|im_start|>system\nToday is {{ strftime_now('%d %b %Y') }}<|im_end|>\n{% for m in messages %}"
    + _TURN
    + "{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def tiny_thinker(template: str = QWEN3, tokens: bool = True) -> LoadedModel:
    """A tiny model that can think; its marks are tokens, or text only."""
    loaded = tiny_llama(template)
    if tokens:
        loaded.tokenizer.add_tokens(["<think>", "</think>"], special_tokens=False)
        loaded.model.resize_token_embeddings(len(loaded.tokenizer))
    return loaded
