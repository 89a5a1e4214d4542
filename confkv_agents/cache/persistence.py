"""A cache in one file: safetensors, with the plain values as JSON in its header; nothing in it is ever executed."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from transformers import PreTrainedConfig

from confkv_agents.cache.cache import ConfKVCache
from confkv_agents.cache.config import CacheConfig
from confkv_agents.errors import CacheStateError, ConfigError

FORMAT = "confkv-cache-1"


def save_cache(cache: ConfKVCache, path: str | Path) -> None:
    """Write a cache to a file; the cache goes on as before, its reading buffer released.

    Args:
        cache: The cache.
        path: Target; written beside it first and then put in its place, so that it is never half there.

    Raises:
        CacheStateError: If a forward is unfinished.
    """
    tensors, values = cache.state()
    facts = {"config": dataclasses.asdict(cache.config), **values}
    whole = {
        name: tensor.detach().to("cpu").clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()
    }
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        save_file(whole, beside, metadata={"format": FORMAT, "facts": json.dumps(facts)})
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def load_cache(path: str | Path, model_config: PreTrainedConfig, device: torch.device | str = "cpu") -> ConfKVCache:
    """Read a cache that `save_cache` wrote.

    Args:
        path: The file.
        model_config: Configuration of the model it belongs to.
        device: Where the tensors go.

    Returns:
        A cache that goes on bit for bit like the saved one.

    Raises:
        CacheStateError: If the file is missing, damaged, of another format, or of another model.
    """
    try:
        with safe_open(path, framework="pt", device=str(device)) as file:
            header = file.metadata() or {}
            if header.get("format") != FORMAT:
                raise CacheStateError(f"{path} is not a saved cache ({FORMAT}); it says {header.get('format')!r}")
            facts: dict[str, Any] = json.loads(header["facts"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
        cache = ConfKVCache(model_config, CacheConfig(**facts["config"]))
        cache.restore(tensors, facts)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError, ConfigError) as error:
        if isinstance(error, CacheStateError):
            raise
        raise CacheStateError(f"{path} cannot be read as a saved cache of this model: {error}") from error
    return cache
