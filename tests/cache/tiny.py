"""Tiny random models of the supported families, and prompts for them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    Gemma3TextConfig,
    Idefics3Config,
    LlamaConfig,
    LlavaConfig,
    LlavaOnevisionConfig,
    MistralConfig,
    Phi3Config,
    PreTrainedConfig,
    PreTrainedModel,
    Qwen2_5_VLConfig,
    Qwen2Config,
    Qwen3Config,
    Qwen3VLConfig,
    SmolVLMConfig,
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
CORE = ("llama", "gemma3_text", "smolvlm")  # plain, with sliding layers, with pictures
MROPE = ("qwen2_5_vl", "qwen3_vl")  # three rows of positions: time, height, width
SEEING = ("smolvlm", "idefics3", "llava", "llava_onevision", *MROPE)
FAMILIES = ("llama", "qwen2", "qwen3", "mistral", "phi3", "gemma3_text", *SEEING)


def make_config(family: str) -> PreTrainedConfig:
    if family == "llama":
        return LlamaConfig(**TEXT)
    if family == "qwen2":
        return Qwen2Config(**TEXT)
    if family == "qwen3":
        return Qwen3Config(**TEXT, head_dim=8)
    if family == "mistral":
        return MistralConfig(**TEXT, sliding_window=None)
    if family == "phi3":
        return Phi3Config(**TEXT)
    if family == "gemma3_text":  # layers 0 and 2 are sliding
        kinds = ["sliding_attention", "full_attention"] * 2
        return Gemma3TextConfig(**TEXT, head_dim=8, sliding_window=16, layer_types=kinds, query_pre_attn_scalar=8)
    if family in MROPE:
        return _mrope_config(family)
    tie = {"pad_token_id": 0, "tie_word_embeddings": False, "image_token_id": IMAGE_TOKEN}
    if family == "llava":  # without the class token, as LLaVA takes it
        return LlavaConfig(
            text_config={"model_type": "llama", **TEXT},
            vision_config={"model_type": "clip_vision_model", **VISION},
            **tie,
        )
    if family == "llava_onevision":
        return LlavaOnevisionConfig(
            text_config={"model_type": "qwen2", **TEXT},
            vision_config={"model_type": "siglip_vision_model", **VISION},
            vision_feature_layer=-1,
            image_grid_pinpoints=[[32, 32]],
            **tie,
        )
    both = {"text_config": {"model_type": "llama", **TEXT}, "vision_config": VISION, "scale_factor": 2, **tie}
    return SmolVLMConfig(**both) if family == "smolvlm" else Idefics3Config(**both)


def _mrope_config(family: str) -> PreTrainedConfig:
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1]}
    text = {**TEXT, "rope_parameters": rope, "max_position_embeddings": 4096}
    vision = {"depth": 3, "hidden_size": 32, "intermediate_size": 48, "num_heads": 4, "patch_size": 8}
    vision |= {"out_hidden_size": TEXT["hidden_size"], "temporal_patch_size": 2, "spatial_merge_size": 2}
    ids = {"image_token_id": IMAGE_TOKEN, "video_token_id": 95, "vision_start_token_id": 94, "vision_end_token_id": 93}
    if family == "qwen2_5_vl":
        vision |= {"window_size": 32, "fullatt_block_indexes": [2]}
        return Qwen2_5_VLConfig(text_config=text, vision_config=vision, **ids)
    text |= {"head_dim": 8, "rope_parameters": {**rope, "mrope_interleaved": True}}
    vision |= {"num_position_embeddings": 16, "deepstack_visual_indexes": [0, 1]}
    return Qwen3VLConfig(text_config=text, vision_config=vision, **ids)


def make_model(family: str, seed: int = 0) -> PreTrainedModel:
    torch.manual_seed(seed)
    config = make_config(family)
    auto = AutoModelForImageTextToText if family in SEEING else AutoModelForCausalLM
    model: PreTrainedModel = auto.from_config(config)
    return model.eval()


@dataclass
class Prompt:
    """What a model is called with: `input_ids [B, S]`, and a picture for families that see."""

    ids: torch.Tensor
    extra: dict[str, torch.Tensor]


def make_prompt(family: str, length: int, seed: int = 1) -> Prompt:
    """Return one row of `length` tokens; for families that see, some of them (from the third on) are a picture."""
    random = torch.Generator().manual_seed(seed)
    ids = torch.randint(2, 93, (1, length), generator=random)
    if family in ("smolvlm", "idefics3"):
        ids[0, 2:6] = IMAGE_TOKEN
        return Prompt(ids, {"pixel_values": torch.randn(1, 1, 3, 32, 32, generator=random)})
    if family == "llava":
        ids = torch.cat([ids[:, :2], torch.full((1, 16), IMAGE_TOKEN), ids[:, 2:]], 1)
        return Prompt(ids, {"pixel_values": torch.randn(1, 3, 32, 32, generator=random)})
    if family == "llava_onevision":
        features = 16 + 16 + 4  # the whole picture, the one tile, and a new-line feature per row of the tile
        ids = torch.cat([ids[:, :2], torch.full((1, features), IMAGE_TOKEN), ids[:, 2:]], 1)
        pixels = torch.randn(1, 2, 3, 32, 32, generator=random)
        return Prompt(ids, {"pixel_values": pixels, "image_sizes": torch.tensor([[32, 32]])})
    if family in MROPE:
        grid = torch.tensor([[1, 4, 6]])  # patches; four of them make a token
        ids[0, 2:8] = IMAGE_TOKEN
        pixels = torch.randn(24, 3 * 2 * 8 * 8, generator=random)
        kinds = (ids == IMAGE_TOKEN).int()
        return Prompt(ids, {"pixel_values": pixels, "image_grid_thw": grid, "mm_token_type_ids": kinds})
    return Prompt(ids, {})


def left_padded(ids: torch.Tensor, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids `[B, length]` with zeros in front, and the mask."""
    missing = length - ids.shape[1]
    mask = torch.ones_like(ids)
    zeros = torch.zeros(ids.shape[0], missing, dtype=ids.dtype)
    return torch.cat([zeros, ids], 1), torch.cat([zeros, mask], 1)
