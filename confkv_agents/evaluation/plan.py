"""What fits: bytes of weights and of KV caches by policy, from a model's configuration alone.

Bytes of caches come from `confkv_agents.cache.sizes`, the arithmetic of the cache's own accounting; parameters are
counted on a model built on torch's meta device, which holds no weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from confkv_agents.amounts import parse_bytes
from confkv_agents.errors import ConfigError

if TYPE_CHECKING:
    import torch

POLICIES = "full,window,h2o,snapkv,confkv,confkv+recall"
NO_LIMIT = 1 << 30  # tokens; where so many fit, memory sets no limit
_MOST = 1 << 40  # of anything that is counted: all sums stay far below 64 bits
_SHORT = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "half": "float16"}


@dataclass(frozen=True, kw_only=True)
class ModelSize:
    """A model's figures.

    Attributes:
        name: As asked for.
        family: Its `model_type`.
        layers: Decoder layers, those with a sliding window included.
        sliding_layers: Layers with a sliding window; they keep the stock cache layer.
        query_heads: Attention heads.
        kv_heads: Heads of keys and values.
        head_width: Channels of a head.
        positions: Most tokens of a sequence that the model was made for; None if it does not say.
        dtype: Number format of weights and of full-precision keys and values.
        parameters: Weights of the whole model, tied ones once.
        weight_bytes: Bytes that they take.
        token_bytes: Bytes of a token's keys and values in full precision, over the layers that keep every token.
        int8_token_bytes: The same as int8 codes with their scales.
    """

    name: str
    family: str
    layers: int
    sliding_layers: int
    query_heads: int
    kv_heads: int
    head_width: int
    positions: int | None
    dtype: str
    parameters: int
    weight_bytes: int
    token_bytes: int
    int8_token_bytes: int


@dataclass(frozen=True, kw_only=True)
class PolicyPlan:
    """What one policy needs.

    Attributes:
        policy: Its label: a name, and settings after colons.
        bytes_per_token: `peak_bytes` divided by the context.
        peak_bytes: Most bytes that one session holds, reading buffer included.
        held_bytes: Bytes that it holds between turns.
        cold_bytes: Bytes that it holds in host memory.
        total_bytes: Weights and the peaks of all sessions.
        fits: Whether the total fits the memory.
        sessions: How many sessions of that context fit.
        longest_context: Most tokens per session at which all sessions asked for fit; None if memory sets no limit.
    """

    policy: str
    bytes_per_token: float
    peak_bytes: int
    held_bytes: int
    cold_bytes: int
    total_bytes: int
    fits: bool
    sessions: int
    longest_context: int | None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A question and its answer.

    Attributes:
        model: The model's figures.
        memory: Bytes there are.
        context: Tokens per session.
        sessions: Sessions at the same time.
        budget: Slots per layer in full-precision equivalents.
        chunk: Tokens read at a time.
        policies: The answer, a row per policy.
        remarks: What a reader has to know about the figures.
    """

    model: ModelSize
    memory: int
    context: int
    sessions: int
    budget: int
    chunk: int
    policies: tuple[PolicyPlan, ...]
    remarks: tuple[str, ...]


def make_plan(
    model: str,
    *,
    memory: int,
    context: int,
    sessions: int = 1,
    budget: int = 512,
    dtype: str = "auto",
    chunk: int = 256,
    policies: str = POLICIES,
) -> Plan:
    """Work out what fits.

    Args:
        model: "embedded", a folder, a hub id, or a configuration's JSON file.
        memory: Bytes for weights and caches together.
        context: Tokens per session.
        sessions: Sessions at the same time.
        budget: Slots per layer of every policy that sets none itself.
        dtype: "auto" (the checkpoint's own), or a torch type's name or its short form such as "bf16".
        chunk: Tokens read at a time.
        policies: As the benchmarks take them: names with commas, settings after colons.

    Raises:
        ConfigError: A number, type or policy cannot be used.
        ModelError: There is no such model, or the cache cannot serve its family.
    """
    for name, value in (("memory", memory), ("context", context), ("sessions", sessions)):
        if value < 1:
            raise ConfigError(f"--{name} is {value}; pass a number above 0")
    for name, value in (("context", context), ("sessions", sessions), ("budget", budget), ("chunk", chunk)):
        if value > _MOST:
            raise ConfigError(f"--{name} is {value}; pass a number up to {_MOST:,}")
    from confkv_agents.cache.sizes import CacheSizes
    from confkv_agents.engine.loading import load_config
    from confkv_agents.evaluation.bench.policies import parse_policies

    configs = {
        label: config if ":chunk=" in label else replace(config, chunk=chunk)
        for label, config in parse_policies(policies, budget).items()
    }
    model_config = load_config(model)
    chosen = _dtype(dtype, model_config)
    sizes = {label: CacheSizes(model_config, config, dtype=chosen) for label, config in configs.items()}
    figures = _model_size(model, model_config, chosen)
    rows = [_policy_plan(label, each, figures.weight_bytes, memory, context, sessions) for label, each in sizes.items()]
    return Plan(
        model=figures,
        memory=memory,
        context=context,
        sessions=sessions,
        budget=budget,
        chunk=chunk,
        policies=tuple(rows),
        remarks=tuple(_remarks(model_config, figures, memory, context, rows)),
    )


def parse_memory(text: str) -> int:
    """Return the bytes of a text like "24GiB", "24GB" or "1.5TiB"; a number without unit could be anything.

    Raises:
        ConfigError: It is no amount of memory above zero, or has no unit.
    """
    try:
        amount = parse_bytes(text)
    except ValueError:
        amount = 0
    if amount <= 0 or text.strip()[-1].isdigit():
        raise ConfigError(
            f"--memory {text[:40]!r} is no amount of memory that there can be; write a number above 0 with a unit, "
            "like '24GiB'"
        )
    return amount


def count_parameters(model_config: Any) -> int:
    """Return the number of weights of the model that a configuration describes, tied ones once."""
    import torch
    import transformers

    vision = type(model_config) in transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
    auto: Any = transformers.AutoModelForImageTextToText if vision else transformers.AutoModelForCausalLM
    with torch.device("meta"):
        made = auto.from_config(model_config)
    return sum(parameter.numel() for parameter in made.parameters())


def _model_size(name: str, model_config: Any, dtype: torch.dtype) -> ModelSize:
    from confkv_agents.cache import CacheConfig
    from confkv_agents.cache.sizes import CacheSizes, kv_shape

    text = model_config.get_text_config(decoder=True)
    sizes = CacheSizes(model_config, CacheConfig(), dtype=dtype)
    heads, width = kv_shape(model_config)
    parameters = count_parameters(model_config)
    return ModelSize(
        name=name,
        family=model_config.model_type,
        layers=sizes.full_layers + len(sizes.sliding),
        sliding_layers=len(sizes.sliding),
        query_heads=text.num_attention_heads,
        kv_heads=heads,
        head_width=width,
        positions=getattr(text, "max_position_embeddings", None),
        dtype=str(dtype).removeprefix("torch."),
        parameters=parameters,
        weight_bytes=parameters * dtype.itemsize,
        token_bytes=sizes.token,
        int8_token_bytes=sizes.full_layers * sizes.slot.int8,
    )


def _policy_plan(label: str, sizes: Any, weights: int, memory: int, context: int, sessions: int) -> PolicyPlan:
    peak = sizes.peak(context)
    room = memory - weights
    return PolicyPlan(
        policy=label,
        bytes_per_token=peak / context,
        peak_bytes=peak,
        held_bytes=sizes.held(context),
        cold_bytes=sizes.cold(context),
        total_bytes=weights + sessions * peak,
        fits=sessions * peak <= room,
        sessions=max(0, room // peak),
        longest_context=_longest(sizes, room // sessions),
    )


def _longest(sizes: Any, room: int) -> int | None:
    """Most tokens of which one session stays within `room` bytes; None for no limit."""
    if sizes.peak(NO_LIMIT) <= room:
        return None
    low, high = 0, NO_LIMIT
    while high - low > 1:  # invariant: `low` fits, `high` does not
        middle = (low + high) // 2
        low, high = (middle, high) if sizes.peak(middle) <= room else (low, middle)
    return low


def _dtype(name: str, model_config: Any) -> torch.dtype:
    import torch

    if name == "auto":
        own = getattr(model_config, "dtype", None) or getattr(model_config.get_text_config(), "dtype", None)
        return own if isinstance(own, torch.dtype) else torch.float32
    chosen = getattr(torch, _SHORT.get(name, name.removeprefix("torch.")), None)
    if not isinstance(chosen, torch.dtype) or not chosen.is_floating_point or chosen.itemsize < 2:
        raise ConfigError(f"--dtype {name!r} is no number format for a model; use auto, bf16, fp16 or fp32")
    return chosen


def _remarks(model_config: Any, model: ModelSize, memory: int, context: int, rows: Sequence[PolicyPlan]) -> list[str]:
    remarks = []
    if model.positions is not None and context > model.positions:
        remarks.append(
            f"A context of {context:,} tokens is above the model's {model.positions:,} positions: it was not made "
            "for so many, and the engine refuses prompts beyond them."
        )
    if model.weight_bytes >= memory:
        remarks.append("The weights alone do not fit the memory.")
    if getattr(model_config, "quantization_config", None) is not None:
        remarks.append(
            f"The checkpoint is quantized; its weights take less than the {model.dtype} weights counted here."
        )
    if any(row.longest_context is None for row in rows):
        remarks.append("Any context: memory sets no limit; the model's positions do.")
    if any(row.cold_bytes for row in rows):
        remarks.append("Host: memory of the computer, not of the accelerator; it is in no total.")
    remarks.append(
        "Counted are weights and caches. Activations and the accelerator's own context come on top, and so do the "
        "copies of a session that a chat model keeps at turn ends: up to two, each as large as what is held."
    )
    return remarks
