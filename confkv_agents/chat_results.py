"""From an engine's results to LangChain's: messages, chunks, usage and response metadata, the model's profile."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import ModelProfile
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

if TYPE_CHECKING:
    from confkv_agents.engine.request import Result
    from confkv_agents.engine.sampling import Logprob


def chat_result(model: str, result: Result) -> ChatResult:
    """The answer of `invoke`."""
    metadata = response_metadata(model, result)
    if result.logprobs:
        metadata["logprobs"] = logprobs_metadata(result.logprobs)
    message = AIMessage(content=result.text, usage_metadata=usage_metadata(result), response_metadata=metadata)
    info = {"finish_reason": result.finish_reason}
    return ChatResult(generations=[ChatGeneration(message=message, generation_info=info)])


def chat_chunk(model: str, event: Any) -> ChatGenerationChunk | None:
    """The chunk of a stream for an engine's event: text for a delta, usage and metadata for the result."""
    from confkv_agents.engine.request import Delta, Result

    if isinstance(event, Delta):
        metadata = {"logprobs": logprobs_metadata(event.logprobs)} if event.logprobs else {}
        return ChatGenerationChunk(message=AIMessageChunk(content=event.text, response_metadata=metadata))
    if isinstance(event, Result):
        message = AIMessageChunk(
            content="",
            usage_metadata=usage_metadata(event),
            response_metadata=response_metadata(model, event),
            chunk_position="last",
        )
        info = {"finish_reason": event.finish_reason}
        return ChatGenerationChunk(message=message, generation_info=info)
    return None


def usage_metadata(result: Result) -> UsageMetadata:
    """Token counts; `cache_read` is what was found in the session's cache, `cache_creation` what was read."""
    details = InputTokenDetails(cache_creation=result.tokens_read, cache_read=result.tokens_reused)
    return UsageMetadata(
        input_tokens=result.tokens_prompt,
        output_tokens=result.tokens_generated,
        total_tokens=result.tokens_prompt + result.tokens_generated,
        input_token_details=details,
    )


def response_metadata(model: str, result: Result) -> dict[str, Any]:
    """The response metadata of an answer, JSON-safe; see `ChatConfKV`."""
    confkv: dict[str, Any] = {
        "session": result.session,
        "tokens_read": result.tokens_read,
        "tokens_reused": result.tokens_reused,
        "tokens_probed": result.tokens_probed,
        "miss_at": result.miss_at,
        "kv_bytes": result.kv_bytes,
        "peak_kv_bytes": result.peak_kv_bytes,
        "full_kv_bytes": result.full_kv_bytes,
        "budget": result.budget.as_dict(),
        "confidence": result.confidence.as_dict(),
        "read_ms": round(result.read_ms, 1),
        "decode_ms": round(result.decode_ms, 1),
        "tokens_generated": result.tokens_generated,
    }
    if result.steps:
        confkv["steps"] = [[round(step[0], 4), round(step[1], 2), step[2]] for step in result.steps]
    return {
        "model_name": model,
        "model_provider": "confkv",
        "finish_reason": result.finish_reason,
        "confkv": confkv,
    }


def logprobs_metadata(entries: Sequence[Logprob]) -> dict[str, Any]:
    """Log probabilities in OpenAI's form."""
    return {
        "content": [{**_logprob(entry), "top_logprobs": [_logprob(other) for other in entry.top]} for entry in entries]
    }


def model_profile(model: str, max_tokens: int | None, image_urls: bool) -> ModelProfile:
    """What is known of a model without loading it.

    Args:
        model: "embedded", a folder or a hub id; only a config.json on this disk is looked at.
        max_tokens: Most tokens of an answer.
        image_urls: Whether pictures may be fetched.
    """
    profile = ModelProfile(
        name=model,
        text_inputs=True,
        text_outputs=True,
        image_outputs=False,
        audio_inputs=False,
        video_inputs=False,
        pdf_inputs=False,
        tool_calling=False,
        structured_output=False,
    )
    config = _model_config(model)
    if config is None:
        return profile
    vision = "vision_config" in config
    profile["image_inputs"] = profile["image_tool_message"] = vision
    profile["image_url_inputs"] = vision and image_urls
    positions = config.get("text_config", config).get("max_position_embeddings")
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


def _logprob(entry: Logprob) -> dict[str, Any]:
    data = list(entry.text.encode("utf-8", "replace"))
    return {"token": entry.text, "logprob": entry.logprob, "bytes": data}


def _cached_config(model: str) -> Path | None:
    """The configuration of a hub id that was downloaded before; asks no network."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(model, "config.json")
    except HFValidationError:
        return None
    return Path(found) if isinstance(found, str) else None
