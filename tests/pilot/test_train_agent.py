"""Training on demonstrations: the loss of answers only, and a run that goes on where it was stopped."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AttentionInterface, AttentionMaskInterface
from typer.testing import CliRunner

from confkv_agents.engine.eyes import EyesConfig
from confkv_agents.engine.pilot_weights import trained_weights
from confkv_agents.errors import ConfigError
from confkv_agents.pilot.causal import NAME, causal_attention, register
from confkv_agents.pilot.commands import pilot_app
from confkv_agents.pilot.encoding import Encoded
from confkv_agents.pilot.export import write_trained
from confkv_agents.pilot.lora import add_lora, lora_parameters
from confkv_agents.pilot.train_agent import ABOUT, AgentData, AgentPlan, adapters_of, answer_loss, shares, train_agent
from confkv_agents.pilot.training import CHECKPOINT, CURVE, Settings
from tests.pilot.tiny_text import tiny


def episode(seed: int, length: int = 24) -> Encoded:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, 90, (length,), generator=generator)
    learned = torch.zeros(length, dtype=torch.bool)
    learned[[6, 7, 8, length - 1]] = True
    return Encoded(ids, learned)


def curve_of(folder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / CURVE).read_text().splitlines()]


def test_the_loss_is_that_of_the_learned_tokens_given_all_before_them():
    model = tiny()
    made = episode(1)
    logits = model(made.ids[None]).logits[0].float().log_softmax(-1)
    by_hand = -sum(logits[place - 1, made.ids[place]] for place in (6, 7, 8, 23))
    assert float(answer_loss(model, made, {}).detach()) == pytest.approx(float(by_hand.detach()), rel=1e-5)


def test_a_picture_is_read_as_its_embeddings_where_its_placeholders_stand():
    model = tiny()
    made = episode(1)
    pictures = {"a": torch.randn(2, 64), "b": torch.randn(2, 64)}
    shown = Encoded(made.ids, made.learned, (("b", (1, 2)), ("a", (10, 11))))
    embedded = model.get_input_embeddings()(made.ids).clone()
    embedded[[1, 2]], embedded[[10, 11]] = pictures["b"], pictures["a"]
    logits = model(inputs_embeds=embedded[None]).logits[0].float().log_softmax(-1)
    by_hand = -sum(logits[place - 1, made.ids[place]] for place in (6, 7, 8, 23))
    assert float(answer_loss(model, shown, pictures).detach()) == pytest.approx(float(by_hand.detach()), rel=1e-5)


class Bare(torch.nn.Module):
    """A model of embeddings and a head, on the one device besides the processor that is everywhere."""

    device = torch.device("meta")

    def __init__(self) -> None:
        super().__init__()
        self.embeddings, self.lm_head = torch.nn.Embedding(97, 8, device="meta"), torch.nn.Linear(8, 97, device="meta")

    def get_input_embeddings(self) -> torch.nn.Module:
        return self.embeddings

    def model(self, inputs_embeds: torch.Tensor, use_cache: bool) -> Any:
        return SimpleNamespace(last_hidden_state=inputs_embeds)


def test_the_loss_is_taken_where_the_model_is():
    shown = Encoded(episode(1).ids, episode(1).learned, (("a", (10, 11)),))
    model = Bare()
    model.embeddings.weight.requires_grad_(False)  # as in training; pictures are written into what it gives
    loss = answer_loss(model, shown, {"a": torch.randn(2, 8)})
    loss.backward()
    assert loss.device.type == "meta" and model.lm_head.weight.grad is not None


def test_causal_attention_and_its_gradients_are_those_of_torch():
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(heads, 600, 16, generator=generator).requires_grad_() for heads in (6, 2, 2))
    weight = torch.randn(6, 600, 16, generator=generator)
    found, reference = [], []
    for results, out in (
        (found, causal_attention(query, key, value)),
        (
            reference,
            torch.nn.functional.scaled_dot_product_attention(
                query[None], key[None], value[None], is_causal=True, enable_gqa=True
            )[0],
        ),
    ):
        results += [out, *torch.autograd.grad((out * weight).sum(), (query, key, value))]
    for ours, theirs in zip(found, reference, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def test_a_model_gives_the_same_with_it():
    register()
    model = tiny()
    expected = answer_loss(model, episode(3, 300), {})
    model.config._attn_implementation = NAME
    assert float(answer_loss(model, episode(3, 300), {}).detach()) == pytest.approx(float(expected.detach()), rel=1e-4)


def test_answers_alone_learn_what_they_would_with_everything_else_held_still():
    register()
    model = tiny()
    add_lora(model, 2)
    with torch.no_grad():
        for value in lora_parameters(model).values():
            value.normal_(generator=torch.Generator().manual_seed(value.numel()))
    model.config._attn_implementation = NAME
    made = episode(3, 300)
    alone = answer_loss(model, made, {}, full=False)
    found = torch.autograd.grad(alone, list(lora_parameters(model).values()))

    moving = made.learned[1:]

    def held(_, query, key, value, mask, **__):
        key, value = (torch.where(moving[:, None], each, each.detach()) for each in (key, value))
        out = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
        return out.transpose(1, 2), None

    AttentionInterface.register("held", held)
    AttentionMaskInterface.register("held", lambda *_, **__: None)
    model.config._attn_implementation = "held"
    whole = answer_loss(model, made, {})
    expected = torch.autograd.grad(whole, list(lora_parameters(model).values()))
    assert float(alone.detach()) == pytest.approx(float(whole.detach()), rel=1e-4)
    for ours, reference in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, reference, atol=1e-4, rtol=1e-3)
    assert max(float(each.abs().max()) for each in found) > 0.01


def test_answers_alone_need_the_attention_that_keeps_what_was_read():
    with pytest.raises(ConfigError, match="nothing was kept"):
        answer_loss(tiny(), episode(3), {}, full=False)


def test_steps_between_full_ones_learn_too(tmp_path):
    episodes = [episode(seed) for seed in range(4)]
    plan = AgentPlan(Settings(30, 1e-2, 2, save_every=10), batch=2, rank=4, full_every=3)
    train_agent(AgentData(episodes, [], {}), plan, tmp_path, load=tiny)
    curve = curve_of(tmp_path)
    assert curve[-1]["loss"] < 0.9 * curve[0]["loss"]
    with pytest.raises(ConfigError, match="full_every is 0"):
        AgentPlan(Settings(1), full_every=0)


def test_work_is_dealt_evenly_the_longest_first():
    assert shares([5, 9, 4, 4], 2) == [[1, 3], [0, 2]]
    assert shares([3], 2) == [[0], []]


def test_training_learns_and_writes_the_adapters(tmp_path):
    episodes = [episode(seed) for seed in range(4)]
    plan = AgentPlan(Settings(60, 5e-2, 2, save_every=20), batch=2, rank=4)
    adapters = train_agent(AgentData(episodes, episodes[:1], {}), plan, tmp_path, load=tiny)
    curve = curve_of(tmp_path)
    assert curve[-1]["loss"] < curve[0]["loss"] - 0.2  # the output layer is frozen and random
    assert curve[-1]["held_out_loss"] < curve[0]["held_out_loss"]
    assert load_file(adapters)["lora.model.layers.1.mlp.down_proj.a"].shape == (4, 96)
    about = json.loads((tmp_path / ABOUT).read_text())
    assert (about["episodes"], about["tokens"], about["learned_tokens"], about["steps"]) == (4, 96, 16, 60)
    assert about["end"] == curve[-1] and about["start"] is None


def test_a_run_that_was_stopped_ends_as_one_that_was_not(tmp_path):
    episodes = [episode(seed) for seed in range(5)]
    data, plan = AgentData(episodes, [], {}), AgentPlan(Settings(8, 1e-2, 2, save_every=2), batch=2, rank=2)
    said: list[str] = []

    def stop(line: str) -> None:
        said.append(line)
        if len(said) == 2:
            raise KeyboardInterrupt

    whole = load_file(train_agent(data, plan, tmp_path / "a", load=tiny))
    with pytest.raises(KeyboardInterrupt):
        train_agent(data, plan, tmp_path / "b", stop, tiny)
    stopped = load_file(train_agent(data, plan, tmp_path / "b", load=tiny))
    assert all(torch.allclose(whole[name], stopped[name], atol=1e-6) for name in whole)


def test_a_run_goes_on_with_the_same_conversations_only(tmp_path):
    data = AgentData([episode(seed) for seed in range(4)], [], {})
    plan = AgentPlan(Settings(2, save_every=1, warmup=1), batch=2, rank=4)
    train_agent(data, plan, tmp_path, load=tiny)
    with pytest.raises(
        ConfigError, match="cannot go on so: episodes was 4 and is 3; tokens was 96 and is 72; learned_tok"
    ):
        train_agent(AgentData(data.episodes[:3], [], {}), plan, tmp_path, load=tiny)
    with pytest.raises(ConfigError, match="cannot go on so: batch was 2 and is 4; train into another folder"):
        train_agent(data, replace(plan, batch=4), tmp_path, load=tiny)
    train_agent(data, replace(plan, processes=1, compiled=False), tmp_path, load=tiny)
    (tmp_path / CHECKPOINT).write_bytes(b"damaged")
    with pytest.raises(ConfigError, match=r"checkpoint\.safetensors cannot be read: .*remove it to start again"):
        train_agent(data, plan, tmp_path, load=tiny)
    (tmp_path / ABOUT).write_text("{}")
    with pytest.raises(ConfigError, match=r"training\.json does not tell what was trained"):
        train_agent(data, plan, tmp_path, load=tiny)


def test_two_processes_learn_what_one_does(tmp_path):
    episodes = [episode(seed, 20 + seed) for seed in range(5)]
    data = AgentData(episodes, [episode(8), episode(9, 30), episode(10)], {})
    settings = Settings(2, 1e-2, 1, save_every=1)
    one = load_file(train_agent(data, AgentPlan(settings, 3, 2), tmp_path / "1", load=tiny))
    two = load_file(train_agent(data, AgentPlan(settings, 3, 2, processes=2), tmp_path / "2", load=tiny))
    assert all(torch.allclose(one[name], two[name], atol=1e-3) for name in one)
    for what in ("loss", "held_out_loss"):
        losses = [[line[what] for line in curve_of(tmp_path / name)] for name in "12"]
        assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def interrupt(_: str) -> None:
    """What a process that trains does with the first line of the curve: press Ctrl-C."""
    os.kill(os.getppid(), signal.SIGINT)


def test_processes_end_with_the_one_that_started_them(tmp_path):
    data, plan = (
        AgentData([episode(0), episode(1)], [], {}),
        AgentPlan(Settings(10**6, save_every=1), 2, 2, processes=2),
    )
    with pytest.raises(KeyboardInterrupt):
        train_agent(data, plan, tmp_path, interrupt, tiny)
    assert not multiprocessing.active_children()


def test_every_layer_is_compiled_for_any_length_when_asked(tmp_path, monkeypatch):
    compiled: list[Any] = []  # compiling itself takes half a minute of a core
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self, **how: compiled.append((type(self).__name__, how)))
    data = AgentData([episode(0)], [], {})
    train_agent(data, AgentPlan(Settings(1), 1, 2), tmp_path / "1", load=tiny)
    assert not compiled
    train_agent(data, AgentPlan(Settings(1), 1, 2, compiled=True), tmp_path / "2", load=tiny)
    assert compiled == 2 * [("LlamaDecoderLayer", {"dynamic": True})]


def test_compiling_without_a_compiler_is_refused(tmp_path, monkeypatch):
    (tmp_path / "d.jsonl").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    given = ["train", "--data", str(tmp_path / "d.jsonl"), "--out", str(tmp_path / "run"), "--compiled"]
    result = CliRunner().invoke(pilot_app, given)
    assert isinstance(result.exception, ConfigError) and "C++ compiler" in str(result.exception)


def test_adapters_are_put_among_the_weights_and_what_else_is_there_stays(tmp_path):
    data = AgentData([episode(seed) for seed in range(3)], [], {})
    adapters = train_agent(data, AgentPlan(Settings(1), 1, 2), tmp_path / "run", load=tiny)
    weights = tmp_path / "weights"
    write_trained(weights, {"eyes.x": torch.ones(2)}, EyesConfig(), {"eyes": {"steps": 7}})
    result = CliRunner().invoke(pilot_app, ["install", str(tmp_path / "run"), "--weights", str(weights)])
    assert result.exit_code == 0, result.output
    there = load_file(weights / "pilot.safetensors")
    assert there.pop("eyes.x").tolist() == [1, 1]
    assert all(torch.equal(there[name], value) for name, value in load_file(adapters).items())
    facts = json.loads((weights / "pilot.json").read_text())
    assert facts["training"]["eyes"] == {"steps": 7} and facts["training"]["lora"]["steps"] == 1
    assert trained_weights(weights).facts == facts


def test_the_last_checkpoint_of_a_training_that_was_stopped_can_be_installed(tmp_path):
    def stop(_: str) -> None:
        raise KeyboardInterrupt

    data, run = AgentData([episode(seed) for seed in range(3)], [], {}), tmp_path / "run"
    one, two = (AgentPlan(Settings(steps, 1e-2, 0, decay=0, save_every=1), 1, 2) for steps in (1, 2))
    with pytest.raises(KeyboardInterrupt):
        train_agent(data, two, run, stop, load=tiny)
    with pytest.raises(ConfigError, match="no finished training"):
        adapters_of(run)
    tensors, about = adapters_of(run, unfinished=True)
    whole = load_file(train_agent(data, one, tmp_path / "one", load=tiny))
    assert tensors.keys() == whole.keys() and all(torch.equal(tensors[name], whole[name]) for name in whole)
    assert about["end"]["step"] == 1 and about["steps"] == 2
    given = ["install", str(run), "--weights", str(tmp_path / "w"), "--unfinished"]
    assert CliRunner().invoke(pilot_app, given).exit_code == 0
    assert load_file(tmp_path / "w" / "pilot.safetensors").keys() == whole.keys()


@pytest.mark.parametrize("option", [[], ["--unfinished"]])
def test_a_folder_without_a_training_is_refused(tmp_path, option):
    given = ["install", str(tmp_path), "--weights", str(tmp_path / "w"), *option]
    result = CliRunner().invoke(pilot_app, given)
    assert isinstance(result.exception, ConfigError) and f"{tmp_path} holds no" in str(result.exception)
    assert not (tmp_path / "w").exists()
