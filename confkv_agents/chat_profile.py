"""What is known of a model without loading it: LangChain's model profile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from langchain_core.language_models import ModelProfile

from confkv_agents.engine.named import named_model
from confkv_agents.engine.tools import THOUGHT_MARKS, guidance_installed


def model_profile(model: str, max_tokens: int | None, image_urls: bool) -> ModelProfile:
    """What is known of a model without loading it.

    Args:
        model: "embedded", "pilot", a folder or a hub id; only a config.json on this disk is looked at.
        max_tokens: Most tokens of an answer.
        image_urls: Whether pictures may be fetched.
    """
    path = _known_file(model, "config.json")
    config = None if path is None else json.loads(path.read_text("utf-8"))
    return profile_of(model, config, max_tokens, image_urls, _reasons(model))


def profile_of(
    model: str, config: dict[str, Any] | None, max_tokens: int | None, image_urls: bool, reasons: bool = False
) -> ModelProfile:
    """The profile of a model of a given configuration.

    Args:
        model: Its name.
        config: The content of its config.json, if known.
        max_tokens: Most tokens of an answer.
        image_urls: Whether pictures may be fetched.
        reasons: Whether its thoughts are told from what it says.
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
        reasoning_output=reasons,
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


def _known_file(model: str, name: str) -> Path | None:
    """A file of a model, if it is on this disk; asks no network."""
    path = (named_model(model) or Path(model).expanduser()) / name
    return path if path.is_file() else _cached_file(model, name)


def _reasons(model: str) -> bool:
    """Whether the model's template or tokenizer knows marks of a thought."""
    for name in ("chat_template.jinja", "tokenizer_config.json"):
        path = _known_file(model, name)
        text = "" if path is None else path.read_text("utf-8")
        if any(mark in text for pair in THOUGHT_MARKS for mark in pair):
            return True
    return False


def _cached_file(model: str, name: str) -> Path | None:
    """A file of a hub id that was downloaded before."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(model, name)
    except HFValidationError:
        return None
    return Path(found) if isinstance(found, str) else None
