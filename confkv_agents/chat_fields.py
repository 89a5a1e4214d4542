"""The settings of `ChatConfKV`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StrictBool,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from confkv_agents.amounts import parse_bytes
from confkv_agents.engine.media import ImageLimits
from confkv_agents.errors import ConfigError


class ChatFields(BaseModel):
    """Part of `ChatConfKV`: its fields, validated once."""

    model_config = ConfigDict(arbitrary_types_allowed=True, populate_by_name=True, protected_namespaces=())

    model: str = Field(
        default="embedded", validation_alias=AliasChoices("model", "model_name", "model_id"), min_length=1
    )
    """ "embedded", "pilot", a folder, or a hub id."""
    revision: str | None = None
    """Branch, tag or commit on the hub."""
    dtype: str = "auto"
    """Number format of the weights: "auto" or a torch type's name such as "float32"."""
    device_map: Any = None
    """Where the weights go, as transformers takes it; `None` is the first CUDA device, else the CPU."""
    offload_folder: str | None = None
    """Where weights that `device_map` puts on disk may be written."""

    policy: str = "confkv"
    """Cache policy: "full", "window", "h2o" or "confkv"."""
    budget: int = Field(default=512, ge=1)
    """Slots per layer, in full-precision equivalents."""
    kv: Any = None
    """A whole `confkv_agents.cache.CacheConfig`; overrides `policy` and `budget`."""
    kv_memory: int | None = Field(default=None, ge=1)
    """Most bytes that all conversations of the loaded model may hold: an integer, or text like "1.5GiB"."""
    session_id: str | None = None
    """Name of the conversation; a hint, the token prefix decides."""

    temperature: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """0 is greedy decoding."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Sample among the fewest tokens whose probability reaches this."""
    top_k: int | None = Field(default=None, ge=0)
    """Sample among this many likeliest tokens."""
    max_tokens: int | None = Field(default=512, ge=1)
    """Most tokens of an answer; `None` is as many as the model has positions left."""
    stop: list[str] | None = None
    """Strings that end an answer; those given at a call are added."""
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**64)
    """Seed of each call's own random generator, of 64 bits."""
    logprobs: StrictBool = False
    """Return log probabilities."""
    top_logprobs: int = Field(default=0, ge=0)
    """How many likeliest alternatives come with each log probability."""
    trace: StrictBool | Literal["cache"] = False
    """Return confidence, budget and bytes of every step in the response metadata; "cache" adds all of its trace."""
    chat_template_kwargs: dict[str, Any] = Field(default_factory=dict)
    """Extra variables for the model's chat template."""
    reasoning: StrictBool | None = None
    """Whether a model that can is to think before it answers; `None` is what its template does by itself."""
    keep_thoughts: StrictBool = True
    """Leave the thoughts of earlier answers in the prompt, so that nothing is read twice; if not, the chat template
    decides, and what was read after a thought that it leaves out is read again at each new user turn."""

    timeout: float | None = Field(default=None, gt=0)
    """Seconds per call, waiting included."""
    max_retries: int = 0
    """Accepted for compatibility; a local model has no transient errors, so nothing is retried."""
    streaming: bool = False
    """Stream inside `invoke` too, for callbacks."""
    api_key: SecretStr | None = Field(default=None, exclude=True, repr=False)
    """Accepted for compatibility; never used."""

    sanitize_control_tokens: bool = True
    """Encode control tokens that stand in message text as text, so that a web page cannot forge a turn."""
    allow_image_urls: bool = False
    """Fetch pictures from http and https addresses in messages."""
    allow_image_files: bool = False
    """Read pictures from file:// addresses in messages."""
    image_limits: ImageLimits = Field(default_factory=ImageLimits)
    """Largest pictures that are decoded."""

    engine: Any = Field(default=None, exclude=True, repr=False)
    """An `Engine` to use instead of the process-wide one for `model`."""

    @field_validator(
        "budget",
        "kv_memory",
        "temperature",
        "top_p",
        "top_k",
        "max_tokens",
        "seed",
        "top_logprobs",
        "timeout",
        mode="before",
    )
    @classmethod
    def _a_number(cls, value: Any, info: ValidationInfo) -> Any:
        text = isinstance(value, str) and info.field_name != "kv_memory"
        if text or isinstance(value, bool):
            raise ValueError("it must be a number")
        return value

    @field_validator("kv_memory", mode="before")
    @classmethod
    def _parse_kv_memory(cls, value: Any) -> Any:
        return parse_bytes(value) if isinstance(value, str) else value

    @field_validator("stop", mode="before")
    @classmethod
    def _one_stop(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


def checked_field(name: str, value: Any) -> Any:
    """A value for one field, checked as the constructor checks it.

    Args:
        name: The field.
        value: What a call gives for it.

    Raises:
        ConfigError: The field cannot have this value.
    """
    fields = ChatFields.model_construct()
    try:
        ChatFields.__pydantic_validator__.validate_assignment(fields, name, value)
    except ValidationError as error:
        told = [entry["msg"].removeprefix("Value error, ") for entry in error.errors(include_url=False)[:2]]
        raise ConfigError(f"{name} cannot be {shown(value)}: {', or '.join(told)}") from error
    return getattr(fields, name)


def shown(value: Any) -> str:
    """A value as a message shows it: short."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
