"""Tiny random models of the supported families, and prompts for them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    SmolVLMConfig,
    SmolVLMForConditionalGeneration,
)

VOCABULARY = 97
IMAGE_TOKEN = 96
TEXT = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": None,
}
VISION = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 32,
    "patch_size": 8,
}
FAMILIES = ("llama", "qwen2", "smolvlm")


def make_model(family: str, seed: int = 0) -> PreTrainedModel:
    torch.manual_seed(seed)
    if family == "llama":
        model: PreTrainedModel = LlamaForCausalLM(LlamaConfig(**TEXT))
    elif family == "qwen2":
        model = Qwen2ForCausalLM(Qwen2Config(**TEXT))
    else:
        config = SmolVLMConfig(
            text_config={"model_type": "llama", **TEXT},
            vision_config=VISION,
            image_token_id=IMAGE_TOKEN,
            scale_factor=2,
            pad_token_id=0,
            tie_word_embeddings=False,
        )
        model = SmolVLMForConditionalGeneration(config)
    return model.eval()


@dataclass
class Prompt:
    """What a model is called with: `input_ids [B, S]`, and a picture for families that see."""

    ids: torch.Tensor
    extra: dict[str, torch.Tensor]


def make_prompt(family: str, length: int, seed: int = 1) -> Prompt:
    """Return one row of `length` tokens; for SmolVLM four of them (after the second) are a picture."""
    random = torch.Generator().manual_seed(seed)
    ids = torch.randint(2, VOCABULARY - 2, (1, length), generator=random)
    if family != "smolvlm":
        return Prompt(ids, {})
    ids[0, 2:6] = IMAGE_TOKEN
    return Prompt(ids, {"pixel_values": torch.randn(1, 1, 3, 32, 32, generator=random)})


def left_padded(ids: torch.Tensor, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids `[B, length]` with zeros in front, and the mask."""
    missing = length - ids.shape[1]
    mask = torch.ones_like(ids)
    zeros = torch.zeros(ids.shape[0], missing, dtype=ids.dtype)
    return torch.cat([zeros, ids], 1), torch.cat([zeros, mask], 1)
