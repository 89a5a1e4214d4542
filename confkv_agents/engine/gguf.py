"""Turns a GGUF file into a model folder that transformers loads in seconds.

Reading GGUF unpacks every weight and rebuilds the tokenizer from its merges each time; a folder with bfloat16
safetensors and `tokenizer.json` holds the same and is read as it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from confkv_agents.errors import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_CONTROL = 3  # token type of control tokens, GGUF specification, tokenizer.ggml.token_type


def convert_gguf(source: Path, folder: Path) -> None:
    """Write a GGUF causal language model to a folder: bfloat16 safetensors, tokenizer, chat template.

    Packed weights (Q4_1 and the like) are unpacked and rounded to bfloat16.

    Args:
        source: The `.gguf` file.
        folder: An existing, empty folder.

    Raises:
        ModelError: The file cannot be read as a causal language model.
    """
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
    from transformers.utils import logging

    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(source.parent), gguf_file=source.name)
        model = AutoModelForCausalLM.from_pretrained(
            str(source.parent),
            gguf_file=source.name,
            quantization_config=GgufConfig(dequantize=True),
            dtype=torch.float32,
            device_map="cpu",
        )
    except (OSError, ValueError, KeyError, NotImplementedError) as error:
        raise ModelError(f"cannot read {source} as a GGUF language model: {error}") from error
    finally:
        if bars:
            logging.enable_progress_bar()
    _restore_tokenizer(tokenizer, _metadata(source), model.config.max_position_embeddings)
    tokenizer.save_pretrained(folder)

    shared = set(model.all_tied_weights_keys) if model.config.tie_word_embeddings else set()
    weights = {
        name: tensor.to(torch.bfloat16).contiguous()
        for name, tensor in model.state_dict().items()
        if name not in shared
    }
    target = folder / "model.safetensors"
    save_file(weights, target, metadata={"format": "pt"})
    target.chmod((folder / "tokenizer.json").stat().st_mode)  # save_file writes for the owner only
    fields = model.config.to_dict()
    for key in ("quantization_config", "_name_or_path", "_model_name_or_path"):
        fields.pop(key, None)
    fields |= {"dtype": "bfloat16", "architectures": [type(model).__name__]}
    type(model.config)(**fields).save_pretrained(folder)
    model.generation_config.save_pretrained(folder)


def _metadata(source: Path) -> dict[str, Any]:
    from gguf import GGUFReader

    fields = GGUFReader(source).fields
    wanted = ("tokenizer.ggml.pre", "tokenizer.ggml.tokens", "tokenizer.ggml.token_type")
    return {name.rpartition(".")[2]: fields[name].contents() for name in wanted if name in fields}


def _restore_tokenizer(tokenizer: PreTrainedTokenizerBase, metadata: dict[str, Any], positions: int) -> None:
    # transformers rebuilds vocabulary, merges and chat template, but neither the pre-tokenizer that the file
    # names nor the control tokens beyond begin, end and unknown.
    from tokenizers import AddedToken, pre_tokenizers

    backend = tokenizer.backend_tokenizer
    if metadata.get("pre") == "smollm":  # llama.cpp's name: every digit alone, then GPT-2's byte level
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
    known = set(tokenizer.all_special_tokens)
    types = zip(metadata.get("tokens", []), metadata.get("token_type", []), strict=False)
    control = [token for token, kind in types if kind == _CONTROL and token not in known]
    tokenizer.add_special_tokens(
        {"extra_special_tokens": [AddedToken(token, special=True, normalized=False) for token in control]}
    )
    tokenizer.model_max_length = positions
