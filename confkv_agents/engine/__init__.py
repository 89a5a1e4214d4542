"""One loaded model, many sessions: load, read prompts in chunks, decode, reuse what was read.

Nothing heavy is imported here; names are loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confkv_agents.engine.conversation import Picture, Turn
    from confkv_agents.engine.engine import Engine
    from confkv_agents.engine.loading import LoadedModel, load_model
    from confkv_agents.engine.registry import close_engines, get_engine
    from confkv_agents.engine.request import Request, Result, Stream

_LAZY = {
    "Engine": "engine",
    "LoadedModel": "loading",
    "Picture": "conversation",
    "Request": "request",
    "Result": "request",
    "Stream": "request",
    "Turn": "conversation",
    "close_engines": "registry",
    "get_engine": "registry",
    "load_model": "loading",
}

__all__ = [
    "Engine",
    "LoadedModel",
    "Picture",
    "Request",
    "Result",
    "Stream",
    "Turn",
    "close_engines",
    "get_engine",
    "load_model",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its module on first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
