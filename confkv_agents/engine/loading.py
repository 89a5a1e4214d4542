"""Loading a model with its tokenizer or processor, from the embedded weights, a folder or a hub id."""

from __future__ import annotations

import os
import socket
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.utils import logging as transformers_logging

from confkv_agents.engine.eyes import register
from confkv_agents.engine.named import named_model
from confkv_agents.engine.placement import check_complete, check_device_map, computes_on_cpu
from confkv_agents.engine.processors import load_processor
from confkv_agents.errors import ConfigError, ModelError, ModelNotFoundError, UnsupportedModelError


@dataclass
class LoadedModel:
    """A model ready to run, and what the engine must know of it.

    Attributes:
        name: As asked for: "embedded", "pilot", a path or a hub id.
        model: The transformers model, in evaluation mode, its text part attached to the cache.
        tokenizer: Its tokenizer.
        processor: Its processor if it takes pictures, else `None`.
        eos_ids: Ids that end a turn.
        image_token_id: Id of the picture placeholder, if it takes pictures.
        grammar_tokenizer: The tokenizer in the form that constrained decoding needs, once it was needed.
    """

    name: str
    model: Any
    tokenizer: Any
    processor: Any = None
    eos_ids: frozenset[int] = frozenset()
    image_token_id: int | None = None
    grammar_tokenizer: Any = field(default=None, repr=False)
    text_config: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.text_config = self.model.config.get_text_config(decoder=True)

    @property
    def takes_pictures(self) -> bool:
        """Whether pictures may be in the prompt."""
        return self.image_token_id is not None

    @property
    def has_mrope(self) -> bool:
        """Whether its positions have rows for time, height and width, so that pictures move what follows them."""
        rope = getattr(self.text_config, "rope_parameters", None) or {}
        return "mrope_section" in rope

    @property
    def device(self) -> torch.device:
        """Where inputs must be: where the embedding computes, also if its weights lie elsewhere meanwhile."""
        embedding = self.model.get_input_embeddings()
        device = embedding.weight.device
        if device.type == "meta":  # on disk until it is used
            device = torch.device(embedding._hf_hook.execution_device)
        return device

    @property
    def dtype(self) -> torch.dtype:
        """Number format of the weights, and so of full-precision cache slots."""
        return self.model.get_input_embeddings().weight.dtype

    @property
    def position_limit(self) -> int:
        """Most tokens a sequence may have."""
        limit = getattr(self.text_config, "max_position_embeddings", None)
        return int(limit) if limit else 2**31

    @property
    def chat_template(self) -> str | None:
        """The Jinja chat template: the processor's if it has one, else the tokenizer's."""
        for owner in (self.processor, self.tokenizer):
            template = getattr(owner, "chat_template", None)
            if isinstance(template, dict):
                template = template.get("default")
            if template:
                return str(template)
        return None

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of one token's keys and values in full precision, over all layers."""
        config = self.text_config
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        return int(2 * config.num_hidden_layers * heads * head_dim * self.dtype.itemsize)


def load_model(
    name: str,
    *,
    revision: str | None = None,
    dtype: str = "auto",
    device_map: Any = None,
    offload_folder: str | Path | None = None,
) -> LoadedModel:
    """Load a causal or image-text-to-text model.

    Args:
        name: "embedded", "pilot", a folder, or a hub id. Code from the model's repository is never run.
        revision: Branch, tag or commit on the hub.
        dtype: "auto" or a torch type's name. "auto" is the checkpoint's own type on an accelerator; on a CPU
            it is bfloat16 where the processor computes it natively and the checkpoint uses a 16-bit type,
            else float32.
        device_map: As transformers takes it; `None` is the first CUDA device, else the CPU.
        offload_folder: Where weights that the map puts on disk may be written.

    Raises:
        ConfigError: The device map cannot be meant, does not fit the model, leaves a module of it out, or splits a
            layer.
        WeightsMissingError: The weights of a model with a name were not fetched.
        ModelNotFoundError: Nothing usable lies there.
        UnsupportedModelError: The model is of a family or kind that cannot be used.
    """
    check_device_map(device_map, offload_folder)
    source = _source(name)
    options: dict[str, Any] = {"trust_remote_code": False}
    if revision is not None:
        options["revision"] = revision
    if not Path(source).is_dir() and not _hub_answers():
        options["local_files_only"] = True
    config = _config(name, source, options)
    _refuse_unsupported(name, config)
    vision = type(config) in transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING and _has_vision(config)
    if not vision and type(config) not in transformers.MODEL_FOR_CAUSAL_LM_MAPPING:
        raise UnsupportedModelError(
            f"model {name!r} is of type {config.model_type!r}, which is neither a causal language model nor "
            "an image-text-to-text model"
        )
    _refuse_unchecked(name, config)
    device_map = _device_map(device_map)
    chosen = _dtype(dtype, config, device_map)
    auto: Any = transformers.AutoModelForImageTextToText if vision else transformers.AutoModelForCausalLM
    processor = _processor(name, config.model_type, source, options) if vision else None
    try:
        if isinstance(device_map, Mapping):
            with torch.device("meta"), _quietly():
                skeleton = auto.from_config(config)
            check_complete(device_map, skeleton)
        tokenizer = (
            transformers.AutoTokenizer.from_pretrained(source, **options) if processor is None else processor.tokenizer
        )
        with _quietly():
            if offload_folder is not None:
                options["offload_folder"] = str(Path(offload_folder).expanduser())
            model = auto.from_pretrained(source, config=config, dtype=chosen, device_map=device_map, **options)
    except ConfigError:
        raise
    except ImportError as error:
        raise ModelError(f"model {name!r} needs a package that is not installed: {_line(error)}") from error
    except (OSError, ValueError) as error:
        if "device_map" in str(error) or "offload_folder" in str(error):
            raise ConfigError(f"model {name!r} cannot be placed by this device_map: {_line(error)}") from error
        raise ModelNotFoundError(
            f"model {name!r} lacks weights or tokenizer files, or they cannot be fetched now: {_line(error)}"
        ) from error
    except Exception as error:  # files of any content, and libraries of many kinds of errors
        raise ModelError(f"model {name!r} cannot be loaded: {type(error).__name__}: {_line(error)}") from error
    return prepare_model(name, model, tokenizer, processor)


def load_config(name: str, *, revision: str | None = None) -> Any:
    """Load a model's configuration alone; weights are neither needed nor fetched.

    Args:
        name: "embedded", "pilot", a folder, a hub id, or a configuration's JSON file.
        revision: Branch, tag or commit on the hub.

    Raises:
        WeightsMissingError: The weights of a model with a name were not fetched.
        ModelNotFoundError: Nothing usable lies there.
        UnsupportedModelError: The cache does not know the model's family.
    """
    path = Path(name).expanduser()
    if path.suffix == ".json" and not path.exists():
        raise ModelNotFoundError(f"there is no file {name!r}; pass a configuration's JSON file that exists")
    source = str(path) if path.suffix == ".json" and path.is_file() else _source(name)
    options: dict[str, Any] = {"trust_remote_code": False}
    if revision is not None:
        options["revision"] = revision
    if not Path(source).exists() and not _hub_answers():
        options["local_files_only"] = True
    config = _config(name, source, options)
    _refuse_unsupported(name, config)
    if getattr(config.get_text_config(decoder=True), "kv_lora_rank", None):
        raise UnsupportedModelError(
            f"model {name!r} of family {config.model_type!r} stores one latent per token (MLA) instead of keys and "
            "values, which the cache cannot serve; use its own cache with it"
        )
    _refuse_unchecked(name, config)
    return config


def prepare_model(name: str, model: Any, tokenizer: Any, processor: Any = None) -> LoadedModel:
    """Attach the cache's attention to a loaded model and find its special ids.

    Args:
        name: Name to report.
        model: A transformers model.
        tokenizer: Its tokenizer.
        processor: Its processor, if it takes pictures.

    Raises:
        UnsupportedModelError: The model's family cannot be used.
    """
    from confkv_agents.cache import attach

    _refuse_unsupported(name, model.config)
    attach(model)
    model.eval()
    image_token_id = None
    if processor is not None and _has_vision(model.config):
        image_token_id = _image_token_id(name, model.config)
    loaded = LoadedModel(name, model, tokenizer, processor, _eos_ids(model, tokenizer), image_token_id)
    loaded.eos_ids |= _turn_end_ids(loaded)
    return loaded


def native_bfloat16() -> bool:
    """Whether this machine's CPU multiplies bfloat16 in hardware."""
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name) for name in ("amx_bf16", "avx512_bf16", "bf16", "arm_bf16"))


@contextmanager
def _quietly() -> Iterator[None]:
    """Load without a progress bar on the caller's terminal, and leave the setting as it was."""
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()


def _source(name: str) -> str:
    named = named_model(name)
    if named is not None:
        return str(named)
    path = Path(name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelNotFoundError(
                f"folder {path} holds no model: it has no config.json; give a folder saved by save_pretrained"
            )
        return str(path)
    if path.exists():
        raise ModelNotFoundError(f"{path} is a file; give the folder that holds config.json and the weights")
    if name.startswith((".", "/", "~")) or "\\" in name or name.count("/") > 1:
        raise ModelNotFoundError(f"there is no folder {path}; check the path, or give a hub id like 'owner/name'")
    if not name.strip():
        raise ModelNotFoundError("the model's name is empty; give 'embedded', 'pilot', a folder or a hub id")
    return name


def _config(name: str, source: str, options: dict[str, Any]) -> Any:
    register()  # a saved pilot is of types that transformers does not know by itself
    try:
        return transformers.AutoConfig.from_pretrained(source, **options)
    except OSError as error:
        if Path(source).exists():
            raise ModelError(f"the config.json of model {name!r} cannot be read: {_line(error)}") from error
        raise ModelNotFoundError(
            f"model {name!r} is no local folder, is not in the local hub cache, and cannot be fetched from "
            f"the hub (it does not exist there, is private, or this machine is offline): {_line(error)}"
        ) from error
    except (ValueError, KeyError) as error:
        raise UnsupportedModelError(
            f"model {name!r} has a configuration that transformers {transformers.__version__} does not know, "
            f"or needs code from its repository, which is never run: {_line(error)}"
        ) from error
    except Exception as error:  # a file of any content
        raise ModelError(f"the config.json of model {name!r} is not usable: {_line(error)}") from error


def _processor(name: str, model_type: str, source: str, options: dict[str, Any]) -> Any:
    try:
        return load_processor(model_type, source, **options)
    except ImportError as error:
        raise ModelError(
            f"the processor of model {name!r} needs a package that is not installed: {_line(error)}"
        ) from error
    except Exception as error:  # files of any content
        raise ModelError(f"the processor of model {name!r} cannot be loaded: {_line(error)}") from error


def _hub_answers() -> bool:
    """Whether the hub's name resolves; without this an offline machine waits half a minute for retries."""
    if urllib.request.getproxies():
        return True
    host = urllib.parse.urlsplit(os.environ.get("HF_ENDPOINT", "")).hostname or "huggingface.co"
    try:
        socket.getaddrinfo(host, None)
    except OSError:
        return False
    return True


def _has_vision(config: Any) -> bool:
    return getattr(config, "vision_config", None) is not None


def _refuse_unsupported(name: str, config: Any) -> None:
    """Refuse a family whose pictures the engine cannot serve, before its weights are loaded."""
    if not _has_vision(config):
        return
    if "gemma" in config.model_type:
        raise UnsupportedModelError(
            f"model {name!r} of family {config.model_type!r} attends to pictures in both directions, which a "
            "cache that evicts cannot serve; use its text-only form"
        )


def _refuse_unchecked(name: str, config: Any) -> None:
    """Refuse a family that the cache does not know, before its weights are loaded."""
    from confkv_agents.cache.attach import SUPPORTED

    if config.model_type not in SUPPORTED:
        raise UnsupportedModelError(
            f"model {name!r} is of family {config.model_type!r}, which has not been checked with the cache; "
            f"supported: {', '.join(sorted(SUPPORTED))}"
        )


def _device_map(device_map: Any) -> Any:
    if device_map is not None:
        return device_map
    return "cuda:0" if torch.cuda.is_available() else "cpu"


def _dtype(dtype: str, config: Any, device_map: Any) -> torch.dtype:
    if dtype != "auto":
        chosen = getattr(torch, dtype.removeprefix("torch."), None)
        if not isinstance(chosen, torch.dtype) or not chosen.is_floating_point:
            raise ConfigError(f"dtype must be 'auto' or a floating-point torch type such as 'float32', got {dtype!r}")
        return chosen
    own = getattr(config, "dtype", None) or getattr(config.get_text_config(), "dtype", None) or torch.float32
    if not computes_on_cpu(device_map):
        return own
    return torch.bfloat16 if own in (torch.bfloat16, torch.float16) and native_bfloat16() else torch.float32


def _image_token_id(name: str, config: Any) -> int:
    for key in ("image_token_id", "image_token_index"):
        value = getattr(config, key, None)
        if value is not None:
            return int(value)
    raise UnsupportedModelError(f"model {name!r} of family {config.model_type!r} names no image token in its config")


def _eos_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    found: set[int] = set()
    generation = getattr(model, "generation_config", None)
    for value in (getattr(generation, "eos_token_id", None), tokenizer.eos_token_id):
        if isinstance(value, int):
            found.add(value)
        elif value is not None:
            found.update(int(item) for item in value)
    return frozenset(found)


def _turn_end_ids(loaded: LoadedModel) -> frozenset[int]:
    """The special token that the chat template writes after an answer; some checkpoints do not name it as an end."""
    template = loaded.chat_template
    if template is None:
        return frozenset()
    marker = "qzjxv"
    turns = [("user", "a"), ("assistant", marker)]
    wrap = (lambda text: [{"type": "text", "text": text}]) if loaded.takes_pictures else str
    messages = [{"role": role, "content": wrap(text)} for role, text in turns]
    try:
        text = loaded.tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False)
    except Exception:  # noqa: BLE001 - a template is a program; the first conversation tells what is wrong with it
        return frozenset()
    ids = loaded.tokenizer.encode(text.rpartition(marker)[2].lstrip(), add_special_tokens=False)
    special = {index for index, token in loaded.tokenizer.added_tokens_decoder.items() if token.special}
    return frozenset(ids[:1]) & special


def _line(error: BaseException) -> str:
    """The first lines of a library's error, on one line."""
    return " ".join(str(error).split())[:400]
