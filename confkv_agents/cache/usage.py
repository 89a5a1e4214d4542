"""Bytes: what a cache holds now, what it held at most, and what full KV would hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class CacheUsage:
    """A cache's figures after the last forward.

    Attributes:
        seen: Tokens fed.
        stored_slots: Mean slots in use per layer, in full-precision equivalents.
        budget: Mean budget per layer in slots; `seen` where there is none.
        confidence: Smoothed confidence of the last observed step, or None before the first.
        kv_bytes: Bytes of all tensors held, the cold tier apart: keys, values, codes, scales, positions, scores.
        peak_kv_bytes: The largest `kv_bytes` so far.
        full_kv_bytes: Bytes that keys and values of `seen` tokens take in full precision.
        cold_bytes: Bytes of the cold tier in host memory, which is not part of `kv_bytes`.
    """

    seen: int
    stored_slots: float
    budget: float
    confidence: float | None
    kv_bytes: int
    peak_kv_bytes: int
    full_kv_bytes: int
    cold_bytes: int = 0


def held_bytes(tensors: Iterable[torch.Tensor]) -> int:
    """Return the bytes of the storages behind the tensors, each storage once."""
    storages = {}
    for tensor in tensors:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr(), str(tensor.device)] = storage.nbytes()
    return sum(storages.values())


def token_bytes(heads: int, width: int, itemsize: int) -> int:
    """Return the bytes one token's key and value take in one layer of full KV."""
    return 2 * heads * width * itemsize
