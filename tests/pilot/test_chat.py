"""Conversations beside episodes: questions, and a model's own answers."""

from __future__ import annotations

import torch

from confkv_agents.pilot.chat import chats, questions
from confkv_agents.pilot.encoding import encode
from tests.engine.tiny import script, tiny_llama


def test_questions_are_different_and_a_seed_gives_the_same():
    asked = questions(60, seed=3)
    assert len(set(asked)) == 60 and asked == questions(60, seed=3) != questions(60, seed=4)
    assert len(questions(10_000)) == len(set(questions(10_000))) > 120


def test_answers_are_the_models_own_and_those_without_an_end_are_left_out():
    loaded = script(tiny_llama(), ["It is Oslo.", "x" * 200])
    made = list(chats(loaded, ["Which city?", "And?"], most=40))
    assert [(each.task, each.success) for each in made] == [("chat:0", True)]
    assert made[0].messages[0] == {"role": "user", "content": [{"text": "Which city?"}]}
    assert made[0].messages[1] == {"role": "assistant", "content": [{"text": "It is Oslo."}], "learn": True}
    encoded = encode(made[0], loaded)
    assert loaded.tokenizer.decode(encoded.ids[encoded.learned]) == "It is Oslo." + loaded.tokenizer.eos_token
    assert encoded.ids.dtype == torch.int64
