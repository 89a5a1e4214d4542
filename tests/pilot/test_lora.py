"""Low-rank changes: nothing at first, trained in fp32, merged to the same function."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

from confkv_agents.engine.pilot_weights import merged
from confkv_agents.errors import ConfigError
from confkv_agents.pilot.lora import LowRank, add_lora, load_lora, lora_parameters, lora_tensors, merge_lora
from tests.engine.tiny import tiny_pilot

SIZES = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}


def tiny(dtype: torch.dtype = torch.float32) -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**SIZES, vocab_size=20)).to(dtype).eval()


def ids() -> torch.Tensor:
    return torch.tensor([[3, 7, 1, 12]])


def change(model: nn.Module) -> None:
    """Stand in for training: give every B other values."""
    random = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, value in lora_parameters(model).items():
            if name.endswith(".b"):
                value.copy_(torch.randn(value.shape, generator=random) / 4)


@torch.inference_mode()
def test_a_changed_layer_computes_w_x_plus_b_a_x() -> None:
    layer = LowRank(nn.Linear(2, 2, bias=False), rank=1, scale=0.5)
    layer.base.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    layer.a.copy_(torch.tensor([[1.0, 2.0]]))
    layer.b.copy_(torch.tensor([[2.0], [0.0]]))
    assert layer(torch.tensor([3.0, 4.0])).tolist() == [3.0 + 0.5 * 2 * 11, 4.0]
    assert layer.merged()(torch.tensor([3.0, 4.0])).tolist() == [14.0, 4.0]


@torch.inference_mode()
def test_new_changes_change_nothing_and_only_they_ask_for_gradients() -> None:
    model = tiny()
    before = model(ids()).logits
    add_lora(model, rank=3)
    assert torch.equal(model(ids()).logits, before)
    wanted = {name for name, value in model.named_parameters() if value.requires_grad}
    assert wanted == set(lora_parameters(model)) and len(wanted) == 2 * 7 * 2  # seven linear layers in each of two
    assert all(value.dtype == torch.float32 for value in lora_parameters(model).values())


@torch.inference_mode()
def test_merging_keeps_what_the_model_computes() -> None:
    model = tiny()
    add_lora(model, rank=3)
    plain = model(ids()).logits
    change(model)
    changed = model(ids()).logits
    assert (changed - plain).abs().max() > 1e-2
    merge_lora(model)
    assert not lora_parameters(model) and (model(ids()).logits - changed).abs().max() < 1e-5


@torch.inference_mode()
def test_saved_changes_added_to_the_plain_weights_are_the_merged_model() -> None:
    model = tiny()
    plain = {name: value.clone() for name, value in model.state_dict().items()}
    add_lora(model, rank=3)
    change(model)
    tensors = lora_tensors(model)
    again = tiny()
    add_lora(again, rank=3, seed=5)
    load_lora(again, tensors)
    merge_lora(again)
    for name, value in merged(plain, tensors).items():
        assert (value - again.state_dict()[name]).abs().max() < 1e-6
    with pytest.raises(ConfigError, match=r"needs a change a of shape \(2, 16\), found one of shape \(3, 16\)"):
        other = tiny()
        add_lora(other, rank=2)
        load_lora(other, tensors)


def test_a_bf16_model_is_trained_in_fp32() -> None:
    model = tiny(torch.bfloat16)
    add_lora(model, rank=2)
    change(model)
    model(input_ids=ids(), labels=ids()).loss.backward()
    gradients = [value.grad for value in lora_parameters(model).values()]
    assert all(each is not None and each.dtype == torch.float32 and each.abs().max() > 0 for each in gradients)


def test_eyes_stay_as_they_are_and_names_are_those_of_the_text_model() -> None:
    model = tiny_pilot().model
    add_lora(model, rank=2)
    assert all(".vision_tower." not in name for name in lora_parameters(model))
    assert "lora.model.layers.0.self_attn.q_proj.a" in lora_tensors(model)


def test_what_cannot_be_changed_is_refused() -> None:
    model = tiny()
    add_lora(model)
    with pytest.raises(ConfigError, match="already"):
        add_lora(model)
    with pytest.raises(ConfigError, match="no decoder layers"):
        add_lora(nn.Sequential(nn.Linear(2, 2)))
