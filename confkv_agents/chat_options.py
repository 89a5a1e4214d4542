"""From a chat model's fields and a call's options to a request to the engine."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.runnables.config import RunnableConfig, ensure_config

from confkv_agents.chat_fields import checked_field, shown
from confkv_agents.chat_tools import response_schema, tool_use
from confkv_agents.errors import ConfigError

if TYPE_CHECKING:
    from confkv_agents.cache import CacheConfig
    from confkv_agents.chat_models import ChatConfKV
    from confkv_agents.engine import Request
    from confkv_agents.engine.conversation import Turn

_OF_MODEL = {  # options that are fields of the chat model too
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "timeout",
    "session_id",
    "logprobs",
    "top_logprobs",
    "trace",
    "chat_template_kwargs",
    "reasoning",
    "keep_thoughts",
}
_NEVER_NONE = {"temperature", "logprobs", "top_logprobs", "trace", "chat_template_kwargs", "keep_thoughts"}
_OF_CALL = {"tools", "tool_choice", "parallel_tool_calls", "strict", "response_format", "grammar"}

IDENTIFYING = (  # fields that change an answer
    "model",
    "revision",
    "dtype",
    "policy",
    "budget",
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "stop",
    "seed",
    "logprobs",
    "top_logprobs",
    "trace",
    "chat_template_kwargs",
    "reasoning",
    "keep_thoughts",
    "sanitize_control_tokens",
)


def build_request(
    model: ChatConfKV, turns: tuple[Turn, ...], stop: Sequence[str] | None, kwargs: dict[str, Any]
) -> Request:
    """A request for an answer to a conversation.

    Args:
        model: Its fields are the defaults.
        turns: The conversation.
        stop: The call's stop strings, added to the model's.
        kwargs: The call's options.

    Raises:
        TypeError: An unknown option.
        ConfigError: An option's value is impossible.
    """
    from confkv_agents.engine.request import Request
    from confkv_agents.engine.sampling import SamplingConfig

    options = call_options(model, kwargs)
    schema, strict = response_schema(options["response_format"])
    return Request(
        turns=turns,
        cache=cache_config(model),
        sampling=SamplingConfig(
            temperature=options["temperature"],
            top_k=options["top_k"],
            top_p=options["top_p"],
            seed=options["seed"],
        ),
        max_tokens=options["max_tokens"],
        stop=tuple(merged(model.stop, stop)),
        session=model._session_name(kwargs, thread_id_of(ensure_config())),
        kv_memory=model.kv_memory,
        timeout=options["timeout"],
        logprobs=options["logprobs"],
        top_logprobs=options["top_logprobs"],
        trace=bool(options["trace"]),
        trace_cache=options["trace"] == "cache",
        template_vars=template_vars(options["reasoning"], model.chat_template_kwargs, options["chat_template_kwargs"]),
        reasoning=options["reasoning"],
        keep_thoughts=options["keep_thoughts"],
        sanitize=model.sanitize_control_tokens,
        tools=tool_use(options),
        schema=schema,
        strict=strict,
        grammar=options["grammar"],
    )


def call_options(model: ChatConfKV, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Fields of a model with a call's own values over them.

    Raises:
        TypeError: An unknown option.
        ConfigError: An option's value is impossible.
    """
    given = {name: value for name, value in kwargs.items() if name != "stream"}
    if given.pop("n", 1) not in (None, 1):
        raise ConfigError("ChatConfKV gives one answer per call; n must be 1")
    if given.pop("model", model.model) != model.model:
        raise ConfigError(f"this ChatConfKV has the weights of {model.model!r} only; make another one per model")
    unknown = sorted(set(given) - _OF_MODEL - _OF_CALL)
    if unknown:
        raise TypeError(
            f"ChatConfKV does not know the call options {', '.join(unknown)}; it knows "
            f"{', '.join(sorted(_OF_MODEL | _OF_CALL))} and stop"
        )
    for name in _OF_MODEL & given.keys():
        if given[name] is None and name in _NEVER_NONE:
            del given[name]  # as if it were not given
        else:
            given[name] = checked_field(name, given[name])
    for name in ("parallel_tool_calls", "strict"):
        if not isinstance(given.get(name), bool | None):
            raise ConfigError(f"{name} cannot be {shown(given[name])}: it must be True, False or None")
    if not isinstance(given.get("grammar"), str | None):
        raise ConfigError(f"grammar cannot be {shown(given['grammar'])}: it must be text")
    return {name: getattr(model, name) for name in _OF_MODEL} | dict.fromkeys(_OF_CALL) | given


def cache_config(model: ChatConfKV) -> CacheConfig:
    """How a model's conversations spend memory.

    Raises:
        ConfigError: `kv` is no `CacheConfig`, or a setting is impossible.
    """
    from confkv_agents.cache import CacheConfig

    whole = as_cache_config(model.kv)
    return CacheConfig(policy=model.policy, budget=model.budget) if whole is None else whole


def as_cache_config(kv: Any) -> CacheConfig | None:
    """What the field `kv` says: a configuration, or a dictionary of its fields.

    Raises:
        ConfigError: It is neither, or a setting is impossible.
    """
    if kv is None:
        return None
    from confkv_agents.cache import CacheConfig

    if isinstance(kv, CacheConfig):
        return kv
    known = [field.name for field in dataclasses.fields(CacheConfig)]
    if not isinstance(kv, Mapping):
        raise ConfigError(f"kv must be a CacheConfig or a dictionary of its fields, got {shown(kv)}")
    unknown = [str(name) for name in kv if name not in known]
    if unknown:
        raise ConfigError(f"kv has no field {', '.join(unknown)}; a CacheConfig has {', '.join(known)}")
    return CacheConfig(**kv)


def merged(first: Sequence[str] | None, second: Sequence[str] | str | None) -> list[str]:
    """Stop strings of the model and of a call, each once.

    Raises:
        ConfigError: The call's are no strings.
    """
    return list(dict.fromkeys([*(first or ()), *(checked_field("stop", second) or ())]))


def template_vars(reasoning: bool | None, *given: Mapping[str, Any]) -> dict[str, Any]:
    """Variables of the chat template; thoughts are switched by the names that templates know.

    Args:
        reasoning: Whether the model is to think first; `None` says nothing.
        given: The caller's own, later ones over earlier ones.
    """
    switches = {} if reasoning is None else {"enable_thinking": reasoning, "thinking": reasoning}
    for more in given:
        switches |= more
    return switches


def thread_id_of(config: RunnableConfig | None) -> str | None:
    """The conversation's id in a LangGraph run."""
    found = ((config or {}).get("configurable") or {}).get("thread_id")
    return None if found is None else str(found)
