"""Many episodes: tasks, seeds and policies in one go, resumable, side by side in one report."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_WHERE = {
    "BatchCallback": "callbacks",
    "BatchInfo": "callbacks",
    "BatchOptions": "options",
    "Results": "results",
    "Unit": "options",
    "evaluate": "api",
}

__all__ = ["BatchCallback", "BatchInfo", "BatchOptions", "Results", "Unit", "evaluate"]


def __getattr__(name: str) -> Any:
    """Load a public name on first use, so that the command's options cost no more than themselves."""
    if name in _WHERE:
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
