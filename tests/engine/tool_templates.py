"""Small chat templates that write tools and calls as the known families do."""

from __future__ import annotations

from transformers import AddedToken

from confkv_agents.engine.loading import LoadedModel
from confkv_agents.engine.tools import MARKERS
from tests.engine.tiny import CHATML, tiny_llama

_START = "{% for m in messages %}<|im_start|>{{ m.role }}\n"
_END = "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
_TOOLS = (
    "{% if tools %}<|im_start|>system\nTools:{% for t in tools %}\n{{ t | tojson }}{% endfor %}<|im_end|>\n{% endif %}"
)

HERMES = (  # Qwen, Hermes: tools in the system turn, results in user turns
    _TOOLS + "{% for m in messages %}{% if m.role == 'tool' %}<|im_start|>user\n<tool_response>\n{{ m.content }}\n"
    "</tool_response><|im_end|>\n{% else %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% for c in m.tool_calls or [] %}\n<tool_call>\n"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}'
    "<|im_end|>\n{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAMA3 = (  # Llama 3: the call is the whole turn
    _TOOLS + _START + "{% if m.tool_calls %}"
    '{"name": "{{ m.tool_calls[0].function.name }}", "parameters": {{ m.tool_calls[0].function.arguments | tojson }}}'
    "{% else %}{{ m.content }}{% endif %}" + _END
)
MISTRAL = (  # Mistral: special tokens, ids of nine characters, and turns are counted
    "{% if tools %}[AVAILABLE_TOOLS]{{ tools | tojson }}{% endif %}{% set n = namespace(i=0) %}"
    "{% for m in messages %}{% if m.role == 'user' or (m.role == 'assistant' and not m.tool_calls) %}"
    "{% if (m.role == 'user') != (n.i % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}"
    "{% set n.i = n.i + 1 %}{% elif m.role == 'system' %}{{ raise_exception('no system turn') }}{% endif %}"
    "{% if m.role == 'user' %}[INST]{{ m.content }}[/INST]"
    "{% elif m.role == 'tool' %}{% if m.tool_call_id | length != 9 %}{{ raise_exception('id') }}{% endif %}"
    '[RESULT]{"content": {{ m.content | tojson }}, "call_id": "{{ m.tool_call_id }}"}[/RESULT]'
    "{% elif m.tool_calls %}[TOOL_CALLS] [{% for c in m.tool_calls %}"
    "{% if c.id | length != 9 %}{{ raise_exception('id') }}{% endif %}"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}, "id": "{{ c.id }}"}'
    "{{ '' if loop.last else ', ' }}{% endfor %}]<|im_end|>"
    "{% else %}{{ m.content }}<|im_end|>{% endif %}{% endfor %}"
)
MISTRAL_NAMED = (
    _TOOLS + _START + "{{ m.content }}{% for c in m.tool_calls or [] %}"
    "[TOOL_CALLS]{{ c.function.name }}[ARGS]{{ c.function.arguments | tojson }}{% endfor %}" + _END
)
OTHER_CALLS = _TOOLS + _START + "{{ m.content }}{% for c in m.tool_calls or [] %}CALL {{ c.function.name }}{% endfor %}"
OTHER_CALLS += _END

TEMPLATES = {
    "hermes": HERMES,
    "llama3": LLAMA3,
    "mistral": MISTRAL,
    "mistral_named": MISTRAL_NAMED,
    "plain": CHATML,
    "other": OTHER_CALLS,
}


def tiny_with_tools(family: str, positions: int = 4096) -> LoadedModel:
    """A tiny model whose template writes calls as a family does, and whose marks of calls are special tokens."""
    loaded = tiny_llama(TEMPLATES[family], positions=positions)
    if family.startswith("mistral"):
        marks = [AddedToken(mark, special=True) for mark in MARKERS if mark.startswith("[")]
        loaded.tokenizer.add_tokens(marks, special_tokens=True)
        loaded.model.resize_token_embeddings(len(loaded.tokenizer))
    return loaded
