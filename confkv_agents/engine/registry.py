"""The engines of this process: the same weights are loaded once, however many chat models use them."""

from __future__ import annotations

import atexit
import threading
from pathlib import Path
from typing import Any

from confkv_agents.engine.engine import Engine
from confkv_agents.engine.loading import load_model
from confkv_agents.engine.named import NAMES
from confkv_agents.engine.placement import canonical

_ENGINES: dict[tuple[str, ...], Engine] = {}
_LOCK = threading.Lock()
_EXIT_SECONDS = 10.0  # at the end of the process; a download must not hold it


def get_engine(
    model: str,
    *,
    revision: str | None = None,
    dtype: str = "auto",
    device_map: Any = None,
    offload_folder: str | Path | None = None,
) -> Engine:
    """The engine for a model; made at the first call, loaded at its first request.

    Args:
        model: "embedded", "pilot", a folder, or a hub id.
        revision: Branch, tag or commit on the hub.
        dtype: "auto" or a torch type's name.
        device_map: As transformers takes it; `None` is the first CUDA device, else the CPU.
        offload_folder: Where weights that the map puts on disk may be written.
    """
    placed = canonical(device_map), str(offload_folder)
    key = (_identity(model), str(revision), dtype.removeprefix("torch."), *placed)
    with _LOCK:
        engine = _ENGINES.get(key)
        if engine is None or engine.closed:
            engine = Engine(
                lambda: load_model(
                    model, revision=revision, dtype=dtype, device_map=device_map, offload_folder=offload_folder
                ),
                model,
                on_close=_forget,
            )
            _ENGINES[key] = engine
        return engine


def close_engines(timeout: float | None = None) -> None:
    """Close every engine that `get_engine` made; their threads have ended when this returns.

    Args:
        timeout: Most seconds to wait for each thread, which a model that is loading cannot leave; `None` is no
            bound.
    """
    with _LOCK:
        engines = list(_ENGINES.values())
    for engine in engines:
        engine.close(timeout)


def _forget(engine: Engine) -> None:
    with _LOCK:
        for key in [key for key, known in _ENGINES.items() if known is engine]:
            del _ENGINES[key]


def _identity(model: str) -> str:
    """One name for one folder, however its path is written."""
    if model in NAMES:
        return model
    path = Path(model).expanduser()
    return str(path.resolve()) if path.exists() else model


atexit.register(close_engines, _EXIT_SECONDS)
