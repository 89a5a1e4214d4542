"""A converted folder holds the GGUF file's weights (rounded to bfloat16), tokenizer and chat template."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from gguf.quants import quantize
from transformers import AutoModelForCausalLM, AutoTokenizer

from confkv_agents.engine.gguf import convert_gguf
from confkv_agents.errors import ModelError

HIDDEN, HEADS, KV_HEADS, MIDDLE = 64, 2, 1, 96
CONTROL, NORMAL = 3, 1
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<file_sep>"]
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"


def byte_alphabet() -> list[str]:
    """GPT-2's printable stand-ins for the 256 bytes, in byte order."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in kept else chr(next(others)) for byte in range(256)]


@pytest.fixture(scope="module")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random two-layer Llama in the layout of the embedded model: Q4_1 weights, smollm tokenizer."""
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    alphabet = byte_alphabet()
    space, newline = alphabet[32], alphabet[10]
    tokens = [*SPECIAL, *alphabet, space * 2, newline * 2, "hi"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_block_count(2)
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(MIDDLE)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([CONTROL] * len(SPECIAL) + [NORMAL] * (len(tokens) - len(SPECIAL)))
    writer.add_token_merges([f"{space} {space}", f"{newline} {newline}", "h i"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)

    random = np.random.default_rng(0)

    def packed(name: str, rows: int, columns: int) -> None:
        values = random.normal(0, 0.2, (rows, columns)).astype(np.float32)
        kind = gguf.GGMLQuantizationType.Q4_1
        writer.add_tensor(name, quantize(values, kind), raw_dtype=kind)

    def plain(name: str) -> None:
        writer.add_tensor(name, random.normal(1, 0.1, HIDDEN).astype(np.float32))

    packed("token_embd.weight", len(tokens), HIDDEN)
    plain("output_norm.weight")
    for layer in range(2):
        plain(f"blk.{layer}.attn_norm.weight")
        plain(f"blk.{layer}.ffn_norm.weight")
        packed(f"blk.{layer}.attn_q.weight", HIDDEN, HIDDEN)
        packed(f"blk.{layer}.attn_k.weight", HIDDEN // HEADS * KV_HEADS, HIDDEN)
        packed(f"blk.{layer}.attn_v.weight", HIDDEN // HEADS * KV_HEADS, HIDDEN)
        packed(f"blk.{layer}.attn_output.weight", HIDDEN, HIDDEN)
        packed(f"blk.{layer}.ffn_gate.weight", MIDDLE, HIDDEN)
        packed(f"blk.{layer}.ffn_up.weight", MIDDLE, HIDDEN)
        packed(f"blk.{layer}.ffn_down.weight", HIDDEN, MIDDLE)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def folder(tiny_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("converted")
    convert_gguf(tiny_gguf, folder)
    return folder


def test_weights_are_the_unpacked_ones_rounded_to_bfloat16(tiny_gguf: Path, folder: Path) -> None:
    reference = AutoModelForCausalLM.from_pretrained(
        str(tiny_gguf.parent), gguf_file=tiny_gguf.name, dtype=torch.float32
    )
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert model.dtype == torch.bfloat16
    expected = reference.state_dict()
    assert model.state_dict().keys() == expected.keys()
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, expected[name].to(torch.bfloat16)), name


def test_logits_equal_those_of_the_gguf_model_within_bfloat16(tiny_gguf: Path, folder: Path) -> None:
    reference = AutoModelForCausalLM.from_pretrained(
        str(tiny_gguf.parent), gguf_file=tiny_gguf.name, dtype=torch.float32
    )
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    ids = torch.arange(5, 25)[None]
    with torch.no_grad():
        expected, got = reference(input_ids=ids).logits, model(input_ids=ids).logits
    assert (got - expected).norm() / expected.norm() < 0.02  # 2**-9 a weight, two layers


def test_digits_stand_alone_and_spaces_before_them_are_joined(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    space, newline = byte_alphabet()[32], byte_alphabet()[10]
    assert tokenizer.tokenize("  12\n\n3") == [space * 2, "1", "2", newline * 2, "3"]


def test_control_tokens_are_single_special_tokens_and_text_survives(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert set(tokenizer.all_special_tokens) == set(SPECIAL)
    assert tokenizer("<file_sep><|im_end|>").input_ids == [3, 2]
    text = " hi, 12  caf\u00e9 \U0001f392\n\n"
    assert tokenizer.decode(tokenizer(text).input_ids) == text


def test_chat_template_and_special_ids_are_kept(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    prompt = tokenizer.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False)
    assert prompt == "<|im_start|>user\nhi<|im_end|>\n"
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (1, 2, 2)
    assert tokenizer.model_max_length == 128
    generation = json.loads((folder / "generation_config.json").read_text())
    assert generation["eos_token_id"] == 2


def test_configuration_forgets_the_packing_and_its_source(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLM"] and config["dtype"] == "bfloat16"
    assert "quantization_config" not in config and not [key for key in config if "name_or_path" in key]


def test_file_that_is_no_gguf_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"not a model")
    with pytest.raises(ModelError, match=r"broken\.gguf"):
        convert_gguf(path, tmp_path)
