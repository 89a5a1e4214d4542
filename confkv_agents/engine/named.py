"""Models that go by a name instead of a folder or a hub id."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from confkv_agents.errors import ConfigError

EMBEDDED, PILOT = "embedded", "pilot"
NAMES = (EMBEDDED, PILOT)


def named_model(name: str) -> Path | None:
    """Return the folder of a model that goes by a name; None for any other.

    Raises:
        WeightsMissingError: Its weights were not fetched; the message holds the command.
    """
    if name == EMBEDDED:
        from confkv_agents.engine.weights import embedded_model

        return embedded_model()
    if name == PILOT:
        from confkv_agents.engine.pilot_weights import pilot_model

        return pilot_model()
    return None


def known_model(name: str) -> Path:
    """Return the folder of a model that must go by a name.

    Raises:
        ConfigError: None goes by this name.
        WeightsMissingError: Its weights were not fetched; the message holds the command.
    """
    folder = named_model(name)
    if folder is None:
        raise _unknown(name)
    return folder


def fetch_named(name: str, progress: Callable[[str], None] | None = None) -> Path:
    """Fetch the weights of a model that goes by a name, unless they are there.

    Args:
        name: One of `NAMES`.
        progress: Called with a short sentence before each stage that takes time.

    Returns:
        The model's folder.

    Raises:
        ConfigError: None goes by this name.
        WeightsMissingError: They could not be downloaded.
        ModelError: What was downloaded is not what was expected.
    """
    if name == EMBEDDED:
        from confkv_agents.engine.weights import fetch_embedded

        return fetch_embedded(progress)
    if name == PILOT:
        from confkv_agents.engine.pilot_weights import fetch_pilot

        return fetch_pilot(progress)
    raise _unknown(name)


def _unknown(name: str) -> ConfigError:
    return ConfigError(f"no model of the package is called {name!r}; there are {' and '.join(NAMES)}")
