"""int8 codes for keys and values, one scale per token, so that a freed slot can be used again by any token.

Keys have outliers that live in fixed channels; rotary embedding turns a channel pair `(c, c + D/2)` without changing
its length. Dividing each pair by the largest length it had over the first tokens stored therefore removes outliers
at every position, and what is left is quantized per token, asymmetrically. A score then needs no dequantized key:

    q . k  =  scale_t * (q * amplitude) . code_t  +  zero_t * sum(q * amplitude)

Values have no such outliers and take one symmetric scale per token. Compared with one scale per channel and block of
64 tokens (KIVI, arXiv 2402.02750), the error is about the same (tests hold the figures), no block has to be merged
or quantized again when tokens leave, and 12 bytes per token and head replace `8 D / 64`.
"""

from __future__ import annotations

import torch

LEVELS = 255


def pair_amplitude(keys: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Return the largest length of each rotary channel pair over the tokens that count.

    Args:
        keys: `[B, H, S, D]` keys after rotary embedding.
        weight: `[B, H, S]` bool, True for tokens that count.

    Returns:
        `[B, H, 1, D]` fp32, the same value for both channels of a pair, at least 1e-6.
    """
    half = keys.shape[-1] // 2
    first, second = keys[..., :half].float(), keys[..., half : 2 * half].float()
    length = torch.hypot(first, second).masked_fill(~weight[..., None], 0.0).amax(-2, keepdim=True)
    parts = [length, length]
    if keys.shape[-1] % 2:
        last = keys[..., -1:].float().abs().masked_fill(~weight[..., None], 0.0).amax(-2, keepdim=True)
        parts.append(last)
    return torch.cat(parts, -1).clamp_min(1e-6)


def encode_keys(keys: torch.Tensor, amplitude: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Quantize keys `[B, H, S, D]` given `amplitude [B, H, 1, D]`.

    Returns:
        Codes `[B, H, S, D]` int8, scale and zero `[B, H, S]` fp32: `key = amplitude * (scale * code + zero)`.
    """
    normal = keys.float() / amplitude
    low, high = normal.amin(-1, keepdim=True), normal.amax(-1, keepdim=True)
    scale = ((high - low) / LEVELS).clamp_min(1e-8)
    codes = ((normal - low) / scale).round_().clamp_(0, LEVELS).sub_(128)
    return codes.to(torch.int8), scale.squeeze(-1), (low + 128 * scale).squeeze(-1)


def decode_keys(codes: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor, amplitude: torch.Tensor) -> torch.Tensor:
    """Return fp32 keys `[B, H, S, D]` from their codes."""
    return amplitude * (codes.float() * scale[..., None] + zero[..., None])


def encode_values(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantize values `[B, H, S, D]`: codes int8 and scale `[B, H, S]` fp32 with `value = scale * code`."""
    wide = values.float()
    scale = (wide.abs().amax(-1, keepdim=True) / 127).clamp_min(1e-8)
    return (wide / scale).round_().clamp_(-127, 127).to(torch.int8), scale.squeeze(-1)


def decode_values(codes: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Return fp32 values `[B, H, S, D]` from their codes."""
    return codes.float() * scale[..., None]
