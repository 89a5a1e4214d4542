"""What a model call cost, in one flat shape for every chat model.

Keys (absent or None where a model does not say): `model_calls`, `tokens_read`, `tokens_reused`,
`tokens_generated`, `kv_bytes`, `peak_kv_bytes`, `full_kv_bytes` (bytes), `budget` (slots) and `confidence`
(both `{"min", "mean", "max"}`), `read_ms`, `decode_ms`, `session`, `miss_at`, `finish_reason`, `trace`, one
`[confidence, budget, kv_bytes]` per decoded token, and `cache_trace`, the fields of a `StepTrace` per step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Usage = dict[str, Any]

_COUNTS = ("model_calls", "tokens_read", "tokens_reused", "tokens_generated", "read_ms", "decode_ms")
_RANGES = ("budget", "confidence")
_LATEST = ("kv_bytes", "full_kv_bytes", "session", "finish_reason")


def usage_of_message(message: Any) -> Usage:
    """Read what a LangChain `AIMessage` says of its own cost.

    `ChatConfKV` fills `response_metadata["confkv"]`; of any other model the token counts are taken from
    `usage_metadata`, and what it does not report stays None.
    """
    counted = getattr(message, "usage_metadata", None) or {}
    metadata = getattr(message, "response_metadata", None) or {}
    own = metadata.get("confkv") or {}
    reused = (counted.get("input_token_details") or {}).get("cache_read")
    whole = counted.get("input_tokens")
    return {
        "model_calls": 1,
        "tokens_read": own.get("tokens_read", None if whole is None else whole - (reused or 0)),
        "tokens_reused": own.get("tokens_reused", reused),
        "tokens_generated": own.get("tokens_generated", counted.get("output_tokens")),
        "kv_bytes": own.get("kv_bytes"),
        "peak_kv_bytes": own.get("peak_kv_bytes"),
        "full_kv_bytes": own.get("full_kv_bytes"),
        "budget": own.get("budget"),
        "confidence": own.get("confidence"),
        "read_ms": own.get("read_ms"),
        "decode_ms": own.get("decode_ms"),
        "session": own.get("session"),
        "miss_at": own.get("miss_at"),
        "finish_reason": metadata.get("finish_reason"),
        "trace": [list(entry) for entry in own.get("steps") or []],
        "cache_trace": list(own.get("cache_trace") or []),
    }


def merge_usage(parts: Iterable[Mapping[str, Any]]) -> Usage:
    """Add up the calls of one decision, or the decisions of one episode.

    Counts and times add, ranges widen (their mean is weighted by generated tokens), peaks are maxima, and
    what describes a state (`kv_bytes`, `full_kv_bytes`, session) is that of the last call which reports it.
    """
    parts = [part for part in parts if part]
    merged: Usage = {}
    for key in _COUNTS:
        known = [part[key] for part in parts if part.get(key) is not None]
        merged[key] = sum(known) if known else None
    for key in _LATEST:
        known = [part[key] for part in parts if part.get(key) is not None]
        merged[key] = known[-1] if known else None
    peaks = [part["peak_kv_bytes"] for part in parts if part.get("peak_kv_bytes") is not None]
    merged["peak_kv_bytes"] = max(peaks) if peaks else None
    for key in _RANGES:
        merged[key] = _merge_range(parts, key)
    misses = [part["miss_at"] for part in parts if part.get("miss_at") is not None]
    merged["miss_at"] = misses[0] if misses else None
    for key in ("trace", "cache_trace"):
        merged[key] = [entry for part in parts for entry in part.get(key) or []]
    return merged


def _merge_range(parts: list[Mapping[str, Any]], key: str) -> dict[str, float] | None:
    ranges = [(part[key], part.get("tokens_generated") or 1) for part in parts if part.get(key)]
    ranges = [(each, weight) for each, weight in ranges if each.get("min") is not None]
    if not ranges:
        return None
    weights = sum(weight for _, weight in ranges)
    return {
        "min": min(each["min"] for each, _ in ranges),
        "mean": sum(each["mean"] * weight for each, weight in ranges) / weights,
        "max": max(each["max"] for each, _ in ranges),
    }
