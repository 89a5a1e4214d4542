"""How the cache reaches a model: registered attention and mask functions, public interfaces only, nothing patched.

The mask function hands on what it was told instead of a mask, since stored tokens are not contiguous positions. The
attention function is also called without our cache (stock cache, no cache, training); then it builds the ordinary
mask from the same arguments and calls sdpa.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from confkv_agents.cache.attention import Heads
from confkv_agents.cache.layer import HANDLE, ConfKVLayer
from confkv_agents.errors import UnsupportedModelError

NAME = "confkv"

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
    "llava_onevision": "LLaVA-OneVision",
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
    )
    padding = attention_mask.padding if isinstance(attention_mask, MaskRequest) else None
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
        UnsupportedModelError: If the family has not been checked.
    """
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
