"""From an engine's results to LangChain's: messages, chunks, usage and response metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, UsageMetadata
from langchain_core.messages.tool import invalid_tool_call, tool_call, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

if TYPE_CHECKING:
    from confkv_agents.engine.request import Result
    from confkv_agents.engine.sampling import Logprob


def chat_result(model: str, result: Result) -> ChatResult:
    """The answer of `invoke`."""
    metadata = response_metadata(model, result)
    if result.logprobs:
        metadata["logprobs"] = logprobs_metadata(result.logprobs)
    message = AIMessage(
        content=result.text,
        additional_kwargs={"reasoning_content": result.reasoning} if result.reasoning else {},
        tool_calls=[
            tool_call(name=call.name or "", args=call.arguments, id=call.id)
            for call in result.tool_calls
            if call.arguments is not None
        ],
        invalid_tool_calls=[
            invalid_tool_call(name=call.name, args=call.text, id=call.id, error=call.error)
            for call in result.tool_calls
            if call.arguments is None
        ],
        usage_metadata=usage_metadata(result),
        response_metadata=metadata,
    )
    info = {"finish_reason": result.finish_reason}
    return ChatResult(generations=[ChatGeneration(message=message, generation_info=info)])


def chat_chunk(model: str, event: Any) -> ChatGenerationChunk | None:
    """The chunk of a stream for an engine's event: text or a piece of a call, usage and metadata for the result."""
    from confkv_agents.engine.request import CallDelta, Delta, Result, ThoughtDelta

    if isinstance(event, ThoughtDelta):
        metadata = {"logprobs": logprobs_metadata(event.logprobs)} if event.logprobs else {}
        thought = {"reasoning_content": event.text}
        message = AIMessageChunk(content="", additional_kwargs=thought, response_metadata=metadata)
        return ChatGenerationChunk(message=message)
    if isinstance(event, CallDelta):
        metadata = {"logprobs": logprobs_metadata(event.logprobs)} if event.logprobs else {}
        piece = tool_call_chunk(name=event.name, args=event.text, id=event.id, index=event.index)
        message = AIMessageChunk(content="", tool_call_chunks=[piece], response_metadata=metadata)
        return ChatGenerationChunk(message=message)
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
    usage = UsageMetadata(
        input_tokens=result.tokens_prompt,
        output_tokens=result.tokens_generated,
        total_tokens=result.tokens_prompt + result.tokens_generated,
        input_token_details=details,
    )
    if result.reasoning_tokens:
        usage["output_token_details"] = OutputTokenDetails(reasoning=result.reasoning_tokens)
    return usage


def response_metadata(model: str, result: Result) -> dict[str, Any]:
    """The response metadata of an answer, JSON-safe; see `ChatConfKV`."""
    confkv: dict[str, Any] = {
        "session": result.session,
        "tokens_read": result.tokens_read,
        "tokens_reused": result.tokens_reused,
        "tokens_probed": result.tokens_probed,
        "miss_at": result.miss_at,
        "miss_message": None if result.miss is None else result.miss.message,
        "miss_reason": None if result.miss is None else result.miss.reason,
        "tokens_recomputed": 0 if result.miss is None else result.miss.recomputed,
        "kv_bytes": result.kv_bytes,
        "peak_kv_bytes": result.peak_kv_bytes,
        "full_kv_bytes": result.full_kv_bytes,
        "budget": result.budget.as_dict(),
        "confidence": result.confidence.as_dict(),
        "read_ms": round(result.read_ms, 1),
        "decode_ms": round(result.decode_ms, 1),
        "tokens_generated": result.tokens_generated,
    }
    if result.constrained is not None:
        confkv["constrained"] = result.constrained
    if result.steps:
        confkv["steps"] = [[round(step[0], 4), round(step[1], 2), step[2]] for step in result.steps]
    if result.trace:
        confkv["cache_trace"] = [asdict(record) for record in result.trace]
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


def _logprob(entry: Logprob) -> dict[str, Any]:
    data = list(entry.text.encode("utf-8", "replace"))
    return {"token": entry.text, "logprob": entry.logprob, "bytes": data}
