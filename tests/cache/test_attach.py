"""What `attach` takes, and what it refuses with what to pass instead."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest
import torch
from helpers import TIGHT, new_cache
from tiny import FAMILIES, SEEING, make_model, make_prompt
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache, Gemma3TextConfig, LlamaConfig

from confkv_agents.cache import ConfKVCache, attach
from confkv_agents.cache.attach import SUPPORTED, TRANSFORMERS
from confkv_agents.cache.layer import ConfKVLayer
from confkv_agents.errors import CacheStateError, ConfKVError, UnsupportedModelError


def test_every_supported_family_is_tested():
    assert set(SUPPORTED) == set(FAMILIES)


def test_a_family_that_was_not_checked_is_refused_with_those_that_were():
    model = AutoModelForCausalLM.from_config(
        AutoConfig.for_model("gpt2", n_layer=1, n_embd=8, n_head=2, vocab_size=9, n_positions=8)
    )
    with pytest.raises(UnsupportedModelError, match=r"'gpt2' has not been checked.*gemma3_text.*llama.*qwen3_vl"):
        attach(model)
    assert model.config._attn_implementation != "confkv"


def installed():
    """The module whose version `attach` reads; pytest may have put another object in its place since."""
    return sys.modules[attach.__module__].transformers


@pytest.mark.parametrize("version", ["5.23.9", "4.57.1", "5.25.0", "5.25.0.dev0", "6.0.0"])
def test_a_transformers_outside_the_tested_range_is_refused_with_the_range(version, monkeypatch):
    model = make_model("llama")
    monkeypatch.setattr(installed(), "__version__", version)
    with pytest.raises(UnsupportedModelError, match=rf"transformers {version} .* 5\.24 up to, not including, 5\.25"):
        attach(model)


@pytest.mark.parametrize("version", ["5.24.0", "5.24.7", "5.24.1.dev0"])
def test_a_transformers_inside_the_tested_range_is_taken(version, monkeypatch):
    monkeypatch.setattr(installed(), "__version__", version)
    attach(make_model("llama"))


def test_the_tested_range_is_the_one_that_installing_asks_for():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    low, high = (".".join(map(str, bound)) for bound in TRANSFORMERS)
    assert f"transformers>={low},<{high}" in project["dependencies"]


@pytest.mark.parametrize("family", SEEING, indirect=True, scope="session")
def test_the_vision_part_keeps_its_own_attention(family, model):
    parts = {module.config._attn_implementation for module in model.modules() if hasattr(module, "config")}
    assert model.config.get_text_config()._attn_implementation == "confkv"
    assert model.config.vision_config._attn_implementation == "sdpa"
    assert parts == {"confkv", "sdpa"}


def test_a_model_that_was_not_attached_is_told_so():
    model = make_model("llama")
    cache, ids = ConfKVCache(model.config), make_prompt("llama", 8).ids
    with pytest.raises(ConfKVError, match="attach"):
        for part in ids.split(4, 1):
            model(input_ids=part, cache=cache)


def test_a_model_whose_layers_all_slide_is_refused():
    text = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4}
    config = Gemma3TextConfig(vocab_size=9, layer_types=["sliding_attention"] * 2, sliding_window=4, **text)
    with pytest.raises(UnsupportedModelError, match="bounded already; use the stock DynamicCache"):
        ConfKVCache(config)


def test_a_layer_of_another_kind_is_refused():
    config = LlamaConfig(num_hidden_layers=2)
    config.layer_types = ["full_attention", "linear_attention"]
    with pytest.raises(UnsupportedModelError, match="linear_attention"):
        ConfKVCache(config)


def test_an_attention_that_keeps_its_arguments_from_the_cache_is_refused():
    """About thirty call sites in transformers update a cache without the side channel that our attention needs."""
    cache = ConfKVCache(LlamaConfig(num_hidden_layers=1))
    layer = cache.layers[0]
    assert isinstance(layer, ConfKVLayer)
    with pytest.raises(UnsupportedModelError, match="does not pass its keyword arguments"):
        layer.update(torch.zeros(1, 1, 1, 8), torch.zeros(1, 1, 1, 8))


@pytest.mark.parametrize("family", ["llama"], indirect=True, scope="session")
def test_a_mask_that_cannot_be_mapped_to_stored_tokens_is_refused(family, model):
    ids = make_prompt(family, 6).ids
    with pytest.raises(UnsupportedModelError, match="4-D attention mask"):
        model(input_ids=ids, attention_mask=torch.ones(1, 1, 6, 6).bool(), cache=new_cache(model))
    with pytest.raises(CacheStateError, match="attention_mask covers 4 tokens, but 6"):
        model(input_ids=ids, attention_mask=torch.tensor([[0, 1, 1, 1]]), cache=new_cache(model))


def test_a_mask_that_lets_tokens_see_later_ones_is_refused():
    config = Gemma3TextConfig(
        vocab_size=97,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        layer_types=["full_attention", "sliding_attention"],
        use_bidirectional_attention=True,
    )
    model = attach(AutoModelForCausalLM.from_config(config).eval())
    with pytest.raises(UnsupportedModelError, match="more than causal"):
        model(input_ids=make_prompt("llama", 6).ids, cache=ConfKVCache(config))


@pytest.mark.parametrize("family", ["llama"], indirect=True, scope="session")
def test_attaching_twice_changes_nothing(family, stock, model):
    ids = make_prompt(family, 12).ids
    before = model(input_ids=ids, cache=new_cache(model, **TIGHT)).logits
    assert attach(model) is model
    assert torch.equal(model(input_ids=ids, cache=new_cache(model, **TIGHT)).logits, before)
    reference = stock(input_ids=ids, cache=DynamicCache(config=stock.config)).logits
    assert (model(input_ids=ids, cache=DynamicCache(config=model.config)).logits - reference).abs().max() < 1e-6
