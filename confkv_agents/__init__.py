"""A local multimodal language model whose KV cache spends memory where the model is unsure.

Names below are loaded when first used, so that importing the package costs milliseconds.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from confkv_agents._version import __version__

if TYPE_CHECKING:
    from confkv_agents.cache import CacheConfig, ConfKVCache
    from confkv_agents.chat_models import ChatConfKV
    from confkv_agents.web.env import WebEnv

_LAZY = {
    "CacheConfig": "confkv_agents.cache",
    "ConfKVCache": "confkv_agents.cache",
    "ChatConfKV": "confkv_agents.chat_models",
    "WebEnv": "confkv_agents.web.env",
}

__all__ = ["CacheConfig", "ChatConfKV", "ConfKVCache", "WebEnv", "__version__"]


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
