"""What tests of the engine ask it with, and a gate that stops its model at a known place."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from confkv_agents.cache import CacheConfig
from confkv_agents.engine.conversation import Picture, Turn
from confkv_agents.engine.loading import LoadedModel
from confkv_agents.engine.request import Request, Result

FULL = CacheConfig(policy="full", chunk=32)
BOUNDED = CacheConfig(policy="confkv", budget=160, chunk=32)
LONG = "the other thing on the line, in the inner one. " * 8


def user(*parts: str | Picture) -> Turn:
    return Turn("user", parts)


def said(result: Result) -> Turn:
    return Turn("assistant", (result.text,))


def request(*turns: Turn, cache: CacheConfig = FULL, max_tokens: int | None = 6, **options: Any) -> Request:
    return Request(turns, cache, max_tokens=max_tokens, **options)


class Gate:
    """Stops the model's forward at chosen calls, so that tests meet the engine at a known place."""

    def __init__(self, loaded: LoadedModel, stop_at: int):
        self.reached, self.open = threading.Event(), threading.Event()
        self.calls = 0
        self._stop_at = stop_at
        self._forward: Callable[..., Any] = loaded.model.forward
        loaded.model.forward = self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if self.calls == self._stop_at:
            self.reached.set()
            assert self.open.wait(60)
        return self._forward(*args, **kwargs)
