"""Tiny random models with a byte-level tokenizer and a ChatML template: real code paths, no downloads."""

from __future__ import annotations

import itertools
import string
from functools import cache
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    Idefics3ImageProcessor,
    Idefics3Processor,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    SmolVLMConfig,
    SmolVLMForConditionalGeneration,
)

from confkv_agents.engine.loading import LoadedModel, prepare_model

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


def tiny_llama(template: str | None = CHATML, seed: int = 0, positions: int = 4096, name: str = "tiny") -> LoadedModel:
    tokenizer = tiny_tokenizer(template)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=positions,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = LlamaForCausalLM(config)
    _speak_plainly(model, tokenizer)
    return prepare_model(name, model, tokenizer)


def tiny_smolvlm(seed: int = 0) -> LoadedModel:
    tokenizer = tiny_tokenizer(CHATML_PARTS)
    torch.manual_seed(seed)
    config = SmolVLMConfig(
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        pad_token_id=tokenizer.pad_token_id,
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "image_size": 32,
            "patch_size": 8,
        },
        text_config={
            "model_type": "llama",
            "vocab_size": len(tokenizer),
            "hidden_size": 64,
            "intermediate_size": 96,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 4096,
            "eos_token_id": tokenizer.eos_token_id,
            "pad_token_id": tokenizer.pad_token_id,
        },
    )
    processor = Idefics3Processor(
        Idefics3ImageProcessor(size={"longest_edge": 64}, max_image_size={"longest_edge": 32}),
        tokenizer,
        image_seq_len=4,
        chat_template=CHATML_PARTS,
    )
    model = SmolVLMForConditionalGeneration(config)
    _speak_plainly(model, tokenizer)
    return prepare_model("tiny-vlm", model, tokenizer, processor)


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
