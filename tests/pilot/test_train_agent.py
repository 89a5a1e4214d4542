"""Training on demonstrations: the loss of answers only, and a run that goes on where it was stopped."""

from __future__ import annotations

import pytest
import torch

from confkv_agents.pilot.encoding import Encoded
from confkv_agents.pilot.lora import add_lora, lora_parameters
from confkv_agents.pilot.train_agent import answer_loss, train_agent
from confkv_agents.pilot.training import Settings
from tests.engine.tiny import tiny_llama


def episode(seed: int, length: int = 24) -> Encoded:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, 90, (length,), generator=generator)
    learned = torch.zeros(length, dtype=torch.bool)
    learned[[6, 7, 8, length - 1]] = True
    return Encoded(ids, learned)


def test_the_loss_is_that_of_the_learned_tokens_given_all_before_them():
    model = tiny_llama().model
    made = episode(1)
    logits = model(made.ids[None]).logits[0].float().log_softmax(-1)
    by_hand = -sum(logits[place - 1, made.ids[place]] for place in (6, 7, 8, 23))
    assert float(answer_loss(model, made).detach()) == pytest.approx(float(by_hand.detach()), rel=1e-5)


def test_training_learns_and_changes_the_adapters_only(tmp_path):
    model = tiny_llama().model
    frozen = {name: value.clone() for name, value in model.state_dict().items()}
    add_lora(model, rank=4)
    episodes = [episode(seed) for seed in range(4)]
    curve = train_agent(model, episodes, episodes[:1], Settings(60, 5e-2, 2, save_every=20), tmp_path, batch=2)
    assert curve[-1]["loss"] < curve[0]["loss"] - 0.2  # the output layer is frozen and random
    assert curve[-1]["held_out_loss"] < curve[0]["held_out_loss"]
    after = {name.replace(".base.", "."): value for name, value in model.state_dict().items()}
    assert all(torch.equal(after[name], value) for name, value in frozen.items())


def test_a_run_that_was_stopped_ends_as_one_that_was_not(tmp_path):
    episodes = [episode(seed) for seed in range(5)]

    def trained(folder, stop_at: int | None):
        model = tiny_llama().model
        add_lora(model, rank=2)
        said: list[str] = []

        def say(line: str) -> None:
            said.append(line)
            if stop_at is not None and len(said) == stop_at:
                raise KeyboardInterrupt

        try:
            train_agent(model, episodes, [], Settings(8, 1e-2, 2, save_every=2), folder, 2, say)
        except KeyboardInterrupt:
            return trained(folder, None)
        return {name: value.detach().clone() for name, value in lora_parameters(model).items()}

    whole, stopped = trained(tmp_path / "a", None), trained(tmp_path / "b", 2)
    assert all(torch.allclose(whole[name], stopped[name], atol=1e-6) for name in whole)
