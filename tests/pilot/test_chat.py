"""Conversations beside episodes: questions, and a model's own answers."""

from __future__ import annotations

import torch
from typer.testing import CliRunner

from confkv_agents.engine import loading, weights
from confkv_agents.pilot.chat import chats, questions
from confkv_agents.pilot.commands import pilot_app
from confkv_agents.pilot.data import read_data
from confkv_agents.pilot.encoding import encode
from tests.engine.tiny import script, tiny_llama


def test_questions_are_different_and_a_seed_gives_the_same():
    asked = questions(60, seed=3)
    assert len(set(asked)) == 60 and asked == questions(60, seed=3) != questions(60, seed=4)
    assert len(questions(10_000)) == len(set(questions(10_000))) > 120


def test_answers_are_the_models_own_and_those_without_an_end_are_no_success():
    loaded = script(tiny_llama(), ["It is Oslo.", "x" * 200])
    made = list(chats(loaded, ["Which city?", "And?"], most=40))
    assert [(each.task, each.success) for each in made] == [("chat:Which city?", True), ("chat:And?", False)]
    assert made[0].messages[0] == {"role": "user", "content": [{"text": "Which city?"}]}
    assert made[0].messages[1] == {"role": "assistant", "content": [{"text": "It is Oslo."}], "learn": True}
    encoded = encode(made[0], loaded)
    assert loaded.tokenizer.decode(encoded.ids[encoded.learned]) == "It is Oslo." + loaded.tokenizer.eos_token
    assert encoded.ids.dtype == torch.int64


def test_a_file_of_answers_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    out = tmp_path / "chat.jsonl"
    monkeypatch.setattr(weights, "embedded_model", lambda: tmp_path)

    def ask(answers: list[str], count: int) -> str:
        monkeypatch.setattr(loading, "load_model", lambda _: script(tiny_llama(), answers))
        result = CliRunner().invoke(pilot_app, ["chat", "--out", str(out), "--count", str(count)])
        assert result.exit_code == 0, result.output
        return result.output

    assert "2 conversations" in ask(["One.", "Two."], 2)
    with out.open("a") as file:
        file.write('{"task": "cut')
    assert "3 conversations" in ask(["Three."], 3)
    assert [each.messages[1]["content"][0]["text"] for each in read_data(out)] == ["One.", "Two.", "Three."]
    assert "3 conversations" in ask([], 3)
