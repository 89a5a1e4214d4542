"""How the cache reaches a model: registered attention and mask functions, public interfaces only, nothing patched.

The mask function hands on what it was told instead of a mask, since stored tokens are not contiguous positions. The
attention function is also called without our cache (stock cache, no cache, training); then it builds the ordinary
mask from the same arguments and calls sdpa.
"""

from __future__ import annotations

from typing import Any

import torch
import transformers
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, causal_mask_function
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from confkv_agents.cache.attention import Heads
from confkv_agents.cache.layer import HANDLE, ConfKVLayer
from confkv_agents.errors import UnsupportedModelError

NAME = "confkv"
TRANSFORMERS = ((5, 24), (5, 25))  # from, and up to but not including: as pyproject.toml says

# Model types whose attention and positions were checked against the stock cache by this project's tests.
SUPPORTED = {
    "llama": "Llama",
    "qwen2": "Qwen2",
    "qwen3": "Qwen3",
    "mistral": "Mistral",
    "phi3": "Phi-3",
    "gemma3_text": "Gemma 3 text",
    "smolvlm": "SmolVLM",
    "idefics3": "Idefics3",
    "llava": "LLaVA",
    "llava_onevision": "LLaVA-OneVision",
    "qwen2_5_vl": "Qwen2.5-VL",
    "qwen3_vl": "Qwen3-VL",
}


class MaskRequest:
    """What a mask was asked to be: the 2-D padding mask for our attention, all arguments for the stock one."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self.arguments = arguments

    @property
    def padding(self) -> torch.Tensor | None:
        """`[B, seen + Q]` bool, False for padding, or None."""
        padding: torch.Tensor | None = self.arguments.get("attention_mask")
        return padding

    @property
    def is_causal(self) -> bool:
        """Whether nothing but causality and padding was asked for."""
        return self.arguments.get("mask_function", causal_mask_function) is causal_mask_function

    def build(self) -> torch.Tensor | None:
        """Return the mask that sdpa would have been given."""
        mask: torch.Tensor | None = ALL_MASK_ATTENTION_FUNCTIONS["sdpa"](**self.arguments)
        return mask


def request_mask(*args: Any, **kwargs: Any) -> MaskRequest:
    """Stand in for a mask function; see `MaskRequest`."""
    names = (
        "batch_size",
        "q_length",
        "kv_length",
        "q_offset",
        "kv_offset",
        "mask_function",
        "attention_mask",
    )
    return MaskRequest({**dict(zip(names, args, strict=False)), **kwargs})


def confkv_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Any,
    dropout: float = 0.0,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """Attention function registered as "confkv".

    Args:
        module: The attention module.
        query: `[B, Hq, Q, D]`.
        key: `[B, Hkv, K, D]`; the new tokens only if our cache is in use.
        value: `[B, Hkv, K, D]`.
        attention_mask: What `request_mask` returned, a 4-D mask, or None.
        dropout: Only without our cache.
        scaling: Factor on the scores, `D ** -0.5` if None.
        kwargs: Holds the layer's handle under "confkv" if our cache is in use.

    Returns:
        `[B, Q, Hq, D]` and None: weights are never materialized.
    """
    layer: ConfKVLayer | None = kwargs.pop(HANDLE, None)
    if layer is None:
        mask = attention_mask.build() if isinstance(attention_mask, MaskRequest) else attention_mask
        sdpa = ALL_ATTENTION_FUNCTIONS["sdpa"]
        output: tuple[torch.Tensor, None] = sdpa(
            module, query, key, value, mask, dropout=dropout, scaling=scaling, **kwargs
        )
        return output
    if isinstance(attention_mask, torch.Tensor):
        raise UnsupportedModelError(
            "a ready-made 4-D attention mask cannot be mapped to stored tokens; pass the 2-D mask of the sequence"
        )
    heads = Heads(
        scaling=query.shape[-1] ** -0.5 if scaling is None else scaling,
        groups=query.shape[1] // key.shape[1],
        softcap=kwargs.get("softcap"),
        group=layer.group,
    )
    if isinstance(attention_mask, MaskRequest) and not attention_mask.is_causal and not layer.is_sliding:
        raise UnsupportedModelError(
            "this call's attention mask is more than causal (packed sequences, or tokens that see later ones), which "
            "cannot be mapped to stored tokens; use the stock DynamicCache for it"
        )
    padding = attention_mask.padding if isinstance(attention_mask, MaskRequest) else None
    if padding is None and query.shape[-2] > 1 and kwargs.get("position_ids") is not None:
        layer.cache.check_positions(layer, kwargs["position_ids"])
    attended = layer.attend(query, key, value, padding, heads)
    return attended.transpose(1, 2).contiguous(), None


def attach(model: PreTrainedModel) -> PreTrainedModel:
    """Let a model use `ConfKVCache`; call once per loaded model.

    Sets the text part's attention to "confkv" and leaves a vision part alone. Without a `ConfKVCache` the model then
    computes what it did with sdpa.

    Args:
        model: Any model of a supported family.

    Returns:
        The same model.

    Raises:
        UnsupportedModelError: If the family or the installed transformers has not been checked.
    """
    _check_transformers()
    kind = model.config.model_type
    if kind not in SUPPORTED:
        raise UnsupportedModelError(
            f"model type {kind!r} has not been checked with this cache; supported: {', '.join(sorted(SUPPORTED))}"
        )
    AttentionInterface.register(NAME, confkv_attention)
    AttentionMaskInterface.register(NAME, request_mask)
    text = model.config.get_text_config(decoder=True)
    if text is model.config:
        model.set_attn_implementation(NAME)
    else:
        model.set_attn_implementation({"text_config": NAME})
    if text._attn_implementation != NAME:
        raise UnsupportedModelError(f"the attention of model type {kind!r} cannot be set from outside")
    return model


def _check_transformers() -> None:
    """Refuse a transformers whose caches and masks nobody has checked: they change between minor versions."""
    major, minor = transformers.__version__.split(".")[:2]
    if not TRANSFORMERS[0] <= (int(major), int(minor)) < TRANSFORMERS[1]:
        low, high = (".".join(map(str, bound)) for bound in TRANSFORMERS)
        raise UnsupportedModelError(
            f"transformers {transformers.__version__} has not been checked with this cache, which knows {low} up to, "
            f"not including, {high}; install one of these: pip install 'transformers>={low},<{high}'"
        )
