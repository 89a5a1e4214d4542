"""Conversations as token ids: what is read at each turn is a beginning of the next, and only answers are learned."""

from __future__ import annotations

import pytest

from confkv_agents.errors import ModelError
from confkv_agents.pilot.demonstrations import Demonstration
from confkv_agents.pilot.encoding import encode
from tests.engine.tiny import CHATML, tiny_tokenizer

MADE = Demonstration(
    "shop/x:1000",
    True,
    3,
    [
        {"role": "system", "text": "Do it."},
        {"role": "user", "text": "Task: buy\n\n'Cart' [1]"},
        {"role": "assistant", "text": "'Cart' [1]\nclick [1]", "learn": True},
        {"role": "user", "text": "another page"},
        {"role": "assistant", "text": "oops\nclick [9]", "learn": False},
        {"role": "user", "text": "a wrong page"},
        {"role": "assistant", "text": "stop []", "learn": True},
    ],
)


def test_only_answers_that_are_to_be_learned_are_marked_with_what_ends_them():
    tokenizer = tiny_tokenizer()
    encoded = encode(MADE, tokenizer)
    end = tokenizer.eos_token
    learned = tokenizer.decode(encoded.ids[encoded.learned])
    assert learned == f"'Cart' [1]\nclick [1]{end}stop []{end}"
    whole = tokenizer.decode(encoded.ids)
    messages = [{"role": each["role"], "content": each["text"]} for each in MADE.messages]
    assert whole + "\n" == tokenizer.apply_chat_template(messages, tokenize=False)


def test_every_turns_prompt_is_a_beginning_of_what_is_learned():
    tokenizer = tiny_tokenizer()
    ids = encode(MADE, tokenizer).ids.tolist()
    for count in (2, 4, 6):
        messages = [{"role": each["role"], "content": each["text"]} for each in MADE.messages[:count]]
        prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        prompt_ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
        assert ids[: len(prompt_ids)] == prompt_ids


def test_a_template_that_changes_earlier_turns_is_refused():
    changing = "{{ messages | length }}" + CHATML
    with pytest.raises(ModelError, match="changes earlier turns"):
        encode(MADE, tiny_tokenizer(changing))
