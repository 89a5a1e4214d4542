"""What is known of a model without loading it: LangChain's model profile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from langchain_core.language_models import ModelProfile

from confkv_agents.engine.tools import guidance_installed


def model_profile(model: str, max_tokens: int | None, image_urls: bool) -> ModelProfile:
    """What is known of a model without loading it.

    Args:
        model: "embedded", a folder or a hub id; only a config.json on this disk is looked at.
        max_tokens: Most tokens of an answer.
        image_urls: Whether pictures may be fetched.
    """
    return profile_of(model, _model_config(model), max_tokens, image_urls)


def profile_of(model: str, config: dict[str, Any] | None, max_tokens: int | None, image_urls: bool) -> ModelProfile:
    """The profile of a model of a given configuration.

    Args:
        model: Its name.
        config: The content of its config.json, if known.
        max_tokens: Most tokens of an answer.
        image_urls: Whether pictures may be fetched.
    """
    profile = ModelProfile(
        name=model,
        open_weights=True,
        text_inputs=True,
        text_outputs=True,
        image_outputs=False,
        audio_inputs=False,
        audio_outputs=False,
        video_inputs=False,
        video_outputs=False,
        pdf_inputs=False,
        pdf_tool_message=False,
        reasoning_output=False,
        temperature=True,
        tool_calling=True,
        tool_call_streaming=True,
        tool_choice=True,
        structured_output=guidance_installed(),
        mid_conversation_system_messages=True,
    )
    if config is None:
        return profile
    vision = "vision_config" in config
    profile["image_inputs"] = profile["image_tool_message"] = vision
    profile["image_url_inputs"] = vision and image_urls
    positions = (config.get("text_config") or config).get("max_position_embeddings")
    if isinstance(positions, int):
        profile["max_input_tokens"] = positions - 1
        profile["max_output_tokens"] = min(max_tokens or positions, positions)
    return profile


def _model_config(model: str) -> dict[str, Any] | None:
    folder = Path(model).expanduser()
    if model == "embedded":
        from confkv_agents.engine.weights import embedded_model

        folder = embedded_model()
    path = folder / "config.json"
    if not path.is_file():
        cached = _cached_config(model)
        if cached is None:
            return None
        path = cached
    config: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return config


def _cached_config(model: str) -> Path | None:
    """The configuration of a hub id that was downloaded before; asks no network."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(model, "config.json")
    except HFValidationError:
        return None
    return Path(found) if isinstance(found, str) else None
