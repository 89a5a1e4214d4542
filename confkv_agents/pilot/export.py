"""Writes what was trained as the two files that the pilot is put together from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import nn

from confkv_agents.engine.eyes import EyesConfig
from confkv_agents.engine.pilot_weights import FORMAT, NETWORK_SHA256
from confkv_agents.engine.weights import GGUF_SHA256
from confkv_agents.errors import ConfigError
from confkv_agents.wheels import sha256_of

PACKAGE_WEIGHTS = Path(__file__).resolve().parent / "weights"
_PARTS = ("eyes.", "projector.", "lora.")


def eyes_tensors(resampler: nn.Module, projector: nn.Module) -> dict[str, torch.Tensor]:
    """Return the trained part of the eyes and the projector by their names in the file, bf16."""
    parts = (("eyes.", resampler), ("projector.", projector))
    return {
        prefix + name: value.detach().to(torch.bfloat16).contiguous()
        for prefix, module in parts
        for name, value in module.state_dict().items()
    }


def write_trained(
    folder: Path, tensors: Mapping[str, torch.Tensor], eyes: EyesConfig, training: Mapping[str, Any]
) -> Path:
    """Write `pilot.safetensors` and `pilot.json`; parts that are not given stay as the folder has them.

    Args:
        folder: Where to; made if missing.
        tensors: `eyes.*`, `projector.*`, `lora.*`.
        eyes: Sizes of the eyes.
        training: How each part was trained, by the part's name; what the folder says of other parts stays.

    Returns:
        The file of weights.

    Raises:
        ConfigError: A name is none of these.
    """
    strange = [name for name in tensors if not name.startswith(_PARTS)]
    if strange:
        raise ConfigError(f"trained weights are named {', '.join(f'{part}*' for part in _PARTS)}, not {strange[0]!r}")
    folder.mkdir(parents=True, exist_ok=True)
    weights, about = folder / "pilot.safetensors", folder / "pilot.json"
    given = tuple(part for part in _PARTS if any(name.startswith(part) for name in tensors))
    kept: dict[str, torch.Tensor] = {}
    told: dict[str, Any] = {}
    if weights.is_file() and about.is_file():
        kept = {name: value for name, value in load_file(weights).items() if not name.startswith(given)}
        told = dict(json.loads(about.read_text()).get("training", {}))
    temporary = folder / ".pilot.safetensors"
    save_file(kept | dict(tensors), temporary, metadata={"format": "pt"})
    temporary.chmod(0o644)
    temporary.replace(weights)
    facts = {
        "format": FORMAT,
        "sha256": sha256_of(weights),
        "bases": {"text": GGUF_SHA256, "network": NETWORK_SHA256},
        "lora_scale": 1.0,
        "eyes": {name: getattr(eyes, name) for name in _EYES},
        "training": told | dict(training),
    }
    about.write_text(json.dumps(facts, indent=2) + "\n")
    return weights


_EYES = ("image_size", "patch_size", "hidden_size", "mixing_layers", "num_hidden_layers", "num_attention_heads")
