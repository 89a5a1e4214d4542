"""Tiny random models with a byte-level tokenizer and a ChatML template: real code paths, no downloads."""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaOnevisionConfig,
    LlavaOnevisionForConditionalGeneration,
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    SmolVLMConfig,
    SmolVLMForConditionalGeneration,
)
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.llava_onevision.image_processing_pil_llava_onevision import LlavaOnevisionImageProcessorPil
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from confkv_agents.engine.eyes import EyesConfig, EyesImageProcessor, register
from confkv_agents.engine.loading import LoadedModel, prepare_model
from confkv_agents.engine.processors import picture_processor

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CHATML_PARTS = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% for p in m['content'] %}"
    "{% if p['type'] == 'image' %}<image>{% else %}{{ p['text'] }}{% endif %}{% endfor %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ["<|im_start|>", "<image>", "<fake_token_around_image>", "<global-img>"]
QWEN_SPECIAL = ["<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>"]
SPECIAL += [f"<row_{row}_col_{column}>" for row in range(1, 5) for column in range(1, 5)]


@cache
def _backend() -> str:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {symbol: index for index, symbol in enumerate(alphabet)}
    merges = [("Ġ", "a"), ("t", "h"), ("e", "r"), ("o", "n"), ("th", "e"), ("i", "n"), ("Ġ", "the")]
    for left, right in merges:
        vocab[left + right] = len(vocab)
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer.to_str()


def tiny_tokenizer(template: str | None = CHATML, **added: Any) -> PreTrainedTokenizerFast:
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_backend()),
        eos_token="<|im_end|>",
        pad_token="<pad>",
        additional_special_tokens=SPECIAL,
        **added,
    )
    tokenizer.add_tokens(["<tool_call>"], special_tokens=False)
    tokenizer.chat_template = template
    return tokenizer


def _speak_plainly(model: Any, tokenizer: PreTrainedTokenizerFast) -> None:
    """Let a random model say only single printable characters that no merge touches: its text has one tokenization."""
    plain = [symbol for symbol in string.ascii_letters + string.digits if symbol not in "taheroin"]
    said = torch.tensor([tokenizer.convert_tokens_to_ids(symbol) for symbol in plain])
    keep = torch.zeros(model.lm_head.weight.shape[0], 1)
    keep[said] = 1.0
    with torch.no_grad():
        model.lm_head.weight.mul_(keep)


def tiny_llama(
    template: str | None = CHATML, seed: int = 0, positions: int = 4096, name: str = "tiny", width: int = 16
) -> LoadedModel:
    tokenizer = tiny_tokenizer(template)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=width,
        max_position_embeddings=positions,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = LlamaForCausalLM(config)
    _speak_plainly(model, tokenizer)
    return prepare_model(name, model, tokenizer)


TEXT = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
}
VISION = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 32,
    "patch_size": 8,
}


def tiny_smolvlm(seed: int = 0) -> LoadedModel:
    tokenizer = tiny_tokenizer(CHATML_PARTS)
    torch.manual_seed(seed)
    config = SmolVLMConfig(
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        pad_token_id=tokenizer.pad_token_id,
        vision_config=VISION,
        text_config={"model_type": "llama", **TEXT, **_ids(tokenizer)},
    )
    processor = picture_processor("smolvlm")(
        Idefics3ImageProcessorPil(size={"longest_edge": 64}, max_image_size={"longest_edge": 32}),
        tokenizer,
        image_seq_len=4,
        chat_template=CHATML_PARTS,
    )
    model = SmolVLMForConditionalGeneration(config)
    _speak_plainly(model, tokenizer)
    return prepare_model("tiny-vlm", model, tokenizer, processor)


def tiny_llava(seed: int = 0) -> LoadedModel:
    """LLaVA with CLIP's vision: one square picture each, without the class token."""
    tokenizer = tiny_tokenizer(CHATML_PARTS)
    torch.manual_seed(seed)
    config = LlavaConfig(
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_config={"model_type": "clip_vision_model", **VISION, "num_hidden_layers": 2},
        text_config={"model_type": "llama", **TEXT, **_ids(tokenizer)},
    )
    processor = picture_processor("llava")(
        CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}),
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=CHATML_PARTS,
    )
    model = LlavaForConditionalGeneration(config)
    _speak_plainly(model, tokenizer)
    return prepare_model("tiny-llava", model, tokenizer, processor)


def tiny_pilot(seed: int = 0) -> LoadedModel:
    """LLaVA with the pilot's own eyes: four tokens a picture."""
    tokenizer = tiny_tokenizer(CHATML_PARTS)
    torch.manual_seed(seed)
    config = LlavaConfig(
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_config=EyesConfig(image_size=64, patch_size=32, hidden_size=16, num_attention_heads=2),
        text_config={"model_type": "llama", **TEXT, **_ids(tokenizer)},
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
    )
    processor = picture_processor("llava")(
        EyesImageProcessor(size={"height": 64, "width": 64}),
        tokenizer,
        patch_size=32,
        vision_feature_select_strategy="full",
        chat_template=CHATML_PARTS,
    )
    register()
    model = LlavaForConditionalGeneration(config)
    _speak_plainly(model, tokenizer)
    return prepare_model("tiny-pilot", model, tokenizer, processor)


def tiny_llava_onevision(seed: int = 0) -> LoadedModel:
    tokenizer = tiny_tokenizer(CHATML_PARTS)
    torch.manual_seed(seed)
    config = LlavaOnevisionConfig(
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
        image_grid_pinpoints=[[32, 64], [64, 32], [64, 64]],
        vision_config={"model_type": "siglip_vision_model", **VISION},
        text_config={"model_type": "qwen2", **TEXT, **_ids(tokenizer)},
    )
    pinpoints = [[32, 64], [64, 32], [64, 64]]
    processor = picture_processor("llava_onevision")(
        LlavaOnevisionImageProcessorPil(size={"height": 32, "width": 32}, image_grid_pinpoints=pinpoints),
        tokenizer,
        num_image_tokens=16,
        vision_feature_select_strategy="full",
        chat_template=CHATML_PARTS,
    )
    model = LlavaOnevisionForConditionalGeneration(config)
    _speak_plainly(model, tokenizer)
    return prepare_model("tiny-onevision", model, tokenizer, processor)


def tiny_qwen_vl(family: str, seed: int = 0) -> LoadedModel:
    """Qwen2.5-VL or Qwen3-VL, by model type: positions in three rows, and for the latter features for two layers."""
    template = CHATML_PARTS.replace("<image>", "<|vision_start|><|image_pad|><|vision_end|>")
    tokenizer = tiny_tokenizer(template)
    tokenizer.add_special_tokens({"additional_special_tokens": [*SPECIAL, *QWEN_SPECIAL]})
    torch.manual_seed(seed)
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [4, 2, 2]}
    vision = {"depth": 2, "hidden_size": 32, "intermediate_size": 48, "num_heads": 2, "patch_size": 8}
    vision |= {"out_hidden_size": TEXT["hidden_size"], "temporal_patch_size": 2, "spatial_merge_size": 2}
    ids = zip(("image", "video", "vision_start", "vision_end"), QWEN_SPECIAL, strict=True)
    ids = {f"{name}_token_id": tokenizer.convert_tokens_to_ids(token) for name, token in ids}
    text = {**TEXT, **_ids(tokenizer), "rope_parameters": rope}
    if family == "qwen2_5_vl":
        vision |= {"window_size": 32, "fullatt_block_indexes": [1]}
        model: Any = Qwen2_5_VLForConditionalGeneration(Qwen2_5_VLConfig(text_config=text, vision_config=vision, **ids))
    else:
        text |= {"head_dim": 16, "rope_parameters": {**rope, "mrope_interleaved": True}}
        vision |= {"num_position_embeddings": 16, "deepstack_visual_indexes": [0, 1]}
        model = Qwen3VLForConditionalGeneration(Qwen3VLConfig(text_config=text, vision_config=vision, **ids))
    images = Qwen2VLImageProcessorPil(
        size={"shortest_edge": 16 * 16, "longest_edge": 64 * 64}, patch_size=8, merge_size=2, temporal_patch_size=2
    )
    processor = picture_processor(family)(images, tokenizer, chat_template=template)
    _speak_plainly(model, tokenizer)
    return prepare_model(f"tiny-{family}", model, tokenizer, processor)


SEEING: dict[str, Callable[[], LoadedModel]] = {
    "smolvlm": tiny_smolvlm,
    "llava": tiny_llava,
    "pilot": tiny_pilot,
    "llava_onevision": tiny_llava_onevision,
    "qwen2_5_vl": lambda: tiny_qwen_vl("qwen2_5_vl"),
    "qwen3_vl": lambda: tiny_qwen_vl("qwen3_vl"),
}


def _ids(tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    """The vocabulary's part of a text configuration."""
    return {
        "vocab_size": len(tokenizer),
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }


class Scripted:
    """A model that says what it is told: real embeddings and cache, logits that point at scripted ids.

    Install it with `script(loaded, [text, ...])`; each answer ends with the end-of-turn token.
    """

    def __init__(self, loaded: LoadedModel, answers: list[str]):
        tokenizer = loaded.tokenizer
        eos = tokenizer.eos_token_id
        self._answers = itertools.cycle(
            [[*tokenizer.encode(answer, add_special_tokens=False), eos] for answer in answers]
        )
        self._forward = loaded.model.forward
        self._answer: list[int] = []
        self._left: list[int] = []
        self._reading = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        output = self._forward(*args, **kwargs)
        given = kwargs.get("input_ids", kwargs.get("inputs_embeds"))
        reading = given.shape[1] > 1 or not self._left
        if reading and not self._reading:
            self._answer = next(self._answers)
        if reading:
            self._left = list(self._answer)
        self._reading = reading
        token = self._left.pop(0)
        output.logits[:] = 0.0
        output.logits[..., token] = 20.0
        return output


def script(loaded: LoadedModel, answers: list[str]) -> LoadedModel:
    """Make a tiny model answer with these texts in turn."""
    loaded.model.forward = Scripted(loaded, answers)
    return loaded
