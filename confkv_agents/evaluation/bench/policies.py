"""Which policies to compare: names, each with settings of its own if wanted, at one common budget."""

from __future__ import annotations

import json
from dataclasses import fields

from confkv_agents.cache import CacheConfig
from confkv_agents.errors import ConfigError

REFERENCE = "full"


def parse_policies(text: str, budget: int) -> dict[str, CacheConfig]:
    """Read a list such as `full,h2o,confkv,confkv:int8_share=0:pyramid=0.5`.

    Args:
        text: Names of policies; after a colon, fields of `CacheConfig` that differ from the defaults.
        budget: Slots per layer in full-precision equivalents, for all that do not set their own.

    Returns:
        Configuration by label, in the order given; the label is the text between the commas.

    Raises:
        ConfigError: A name, field or value is not known, or a label comes twice.
    """
    configs: dict[str, CacheConfig] = {}
    known = {field.name for field in fields(CacheConfig)} - {"policy"}
    for label in (part.strip() for part in text.split(",")):
        if not label:
            continue
        if label in configs:
            raise ConfigError(f"--policies names {label!r} twice")
        name, *pairs = label.split(":")
        settings: dict[str, object] = {"budget": budget}
        for pair in pairs:
            key, equals, value = pair.partition("=")
            if not equals or key not in known:
                raise ConfigError(
                    f"--policies: {pair!r} in {label!r} is no setting of the cache; write field=value with one of "
                    f"{', '.join(sorted(known))}"
                )
            settings[key] = _value(value)
        configs[label] = CacheConfig(policy=name, **settings)  # type: ignore[arg-type]
    if not configs:
        raise ConfigError("--policies names no policy; write for example full,window,h2o,snapkv,confkv")
    return configs


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
