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
    from confkv_agents.screenshots import ScreenshotWindowMiddleware
    from confkv_agents.web.env import WebEnv
    from confkv_agents.web_tools import browser_tools, task_message

_LAZY = {
    "CacheConfig": "confkv_agents.cache",
    "ConfKVCache": "confkv_agents.cache",
    "ChatConfKV": "confkv_agents.chat_models",
    "ScreenshotWindowMiddleware": "confkv_agents.screenshots",
    "WebEnv": "confkv_agents.web.env",
    "browser_tools": "confkv_agents.web_tools",
    "task_message": "confkv_agents.web_tools",
}

__all__ = [
    "CacheConfig",
    "ChatConfKV",
    "ConfKVCache",
    "ScreenshotWindowMiddleware",
    "WebEnv",
    "__version__",
    "browser_tools",
    "task_message",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
