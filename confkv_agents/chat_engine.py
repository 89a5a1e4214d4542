"""What a chat model does with its engine besides answering: memory, counting tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage

from confkv_agents.chat_errors import langchain_errors_raised
from confkv_agents.chat_fields import shown
from confkv_agents.chat_options import as_cache_config, template_vars
from confkv_agents.chat_tools import tool_use
from confkv_agents.engine.named import NAMES
from confkv_agents.engine.placement import check_device_map
from confkv_agents.errors import ConfigError
from confkv_agents.messages import ImageAccess, has_pictures, to_turns

if TYPE_CHECKING:
    from confkv_agents.engine import Engine
    from confkv_agents.engine.conversation import Turn
    from confkv_agents.engine.media import ImageLimits


class EngineAccess:
    """Part of `ChatConfKV` that needs its engine only."""

    if TYPE_CHECKING:  # fields of the chat model
        model: str
        revision: str | None
        dtype: str
        device_map: Any
        offload_folder: str | None
        engine: Any
        chat_template_kwargs: dict[str, Any]
        reasoning: bool | None
        keep_thoughts: bool
        sanitize_control_tokens: bool
        image_limits: ImageLimits
        allow_image_urls: bool
        allow_image_files: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        check_engine(kwargs.get("engine"))
        as_cache_config(kwargs.get("kv"))
        check_device_map(kwargs.get("device_map"), kwargs.get("offload_folder"))
        if kwargs.get("revision") is not None and kwargs.get("engine") is None:
            check_revision(*(kwargs.get(key) for key in ("model", "model_name", "model_id")))
        super().__init__(*args, **kwargs)

    @property
    def kv_bytes(self) -> int:
        """Bytes that all conversations hold now."""
        return self._engine().kv_bytes

    def close(self) -> None:
        """Stop the engine and free the weights; a later call of a chat model named by `model` loads them again."""
        self._engine().close()

    def get_token_ids(self, text: str) -> list[int]:
        """Token ids of plain text, by the model's own tokenizer."""
        return self._engine().text_ids(text)

    def get_num_tokens(self, text: str) -> int:
        """Number of tokens of plain text, by the model's own tokenizer."""
        return len(self.get_token_ids(text))

    def get_num_tokens_from_messages(self, messages: list[BaseMessage], tools: Sequence[Any] | None = None) -> int:
        """Exact number of prompt tokens of a conversation: template, generation prompt, tools and pictures included.

        Args:
            messages: The conversation.
            tools: Tools as `bind_tools` takes them.
        """
        use = tool_use({"tools": tools})
        with langchain_errors_raised():
            return self._engine().count_tokens(
                to_turns(messages, self._access),
                template_vars(self.reasoning, self.chat_template_kwargs),
                self.sanitize_control_tokens,
                () if use is None else use.tools,
                keep_thoughts=self.keep_thoughts,
            )

    @property
    def _access(self) -> ImageAccess:
        return ImageAccess(self.image_limits, self.allow_image_urls, self.allow_image_files)

    async def _aturns(self, messages: list[BaseMessage]) -> tuple[Turn, ...]:
        """Convert messages; pictures are decoded in threads of our own, never in the loop's default ones."""
        if not has_pictures(messages):
            return to_turns(messages, self._access)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_picture_threads(), to_turns, messages, self._access)

    def _engine(self) -> Engine:
        if self.engine is not None:
            return check_engine(self.engine)
        from confkv_agents.engine.registry import get_engine

        return get_engine(
            self.model,
            revision=self.revision,
            dtype=self.dtype,
            device_map=self.device_map,
            offload_folder=self.offload_folder,
        )


def check_engine(engine: Any) -> Any:
    """The engine that was given, or `None`.

    Raises:
        ConfigError: It is none.
    """
    if engine is not None:
        from confkv_agents.engine import Engine

        if not isinstance(engine, Engine):
            raise ConfigError(f"engine must be an Engine of confkv_agents.engine, got {shown(engine)}")
    return engine


def check_revision(*names: Any) -> None:
    """Refuse a revision of a model that goes by a name, which has one only.

    Args:
        names: What was given as the model's name, by any of the field's names.

    Raises:
        ConfigError: The model is such a one.
    """
    if all(name in (None, *NAMES) for name in names):
        raise ConfigError(
            "a model that comes with the package has no revisions; leave revision out, or name a model of the hub"
        )


@cache
def _picture_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=2, thread_name_prefix="confkv-pictures")
