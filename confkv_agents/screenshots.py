"""A middleware for agents that see: old screenshots go in batches, so that what was read before can mostly be reused.

A model that keeps its KV cache reads only what follows the first change in a conversation. Taking away one old
screenshot per step changes the conversation at every step; taking away several at once changes it once in a while.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, SystemMessage, ToolMessage

from confkv_agents.errors import ConfigError

logger = logging.getLogger(__name__)

REMOVED = "(A picture was here. It was removed, since only the newest are kept.)"
_MOST_CONVERSATIONS = 256  # whose system prompts are remembered


class ScreenshotWindowMiddleware(AgentMiddleware[Any, Any, Any]):
    """Shows the model only the newest screenshots, and forgets the older ones in batches.

    Pictures in tool results count, a result with several as one; those of the user stay. Of `n` results with pictures
    the oldest `(n - keep) // every * every` lose theirs, so that `keep` to `keep + every - 1` are shown and what was
    read before changes once in `every` steps. Words stay, and words mark where a picture was. What is shown depends on
    the conversation alone; the agent's state keeps every picture.

    A change costs `keep + every - 1` steps, read again once in `every` steps; taking one picture at a time would cost
    `keep` steps at every step. Where the cache's policy evicts, a change before what was evicted costs the whole
    conversation.

    It also warns, once per conversation, when the system prompt is not the one of the call before: that changes the
    conversation from its first token on. Put it last in the list of middleware, so that it sees what the model sees.

    Args:
        keep: Screenshots that are always shown, at least.
        every: How many go at once, and so how many steps apart the changes are.

    Raises:
        ConfigError: `keep` is no integer or negative, or `every` is none or below 1.

    ```python
    create_agent(model, browser_tools(env, model), middleware=[ScreenshotWindowMiddleware(keep=2, every=5)])
    ```
    """

    def __init__(self, keep: int = 2, every: int = 5) -> None:
        super().__init__()
        if type(keep) is not int or type(every) is not int or keep < 0 or every < 1:
            raise ConfigError(
                f"keep is {keep!r} and every is {every!r}; both are integers, keep at least 0 and every at least 1"
            )
        self.keep = keep
        self.every = every
        self._lock = threading.Lock()
        self._prompts: OrderedDict[str, str] = OrderedDict()  # an empty text once it was warned of

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | AIMessage:
        """Call the model with the window of screenshots."""
        return handler(self._windowed(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | AIMessage:
        """Call the model with the window of screenshots."""
        return await handler(self._windowed(request))

    def _windowed(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        self._check_prompt(request.system_message, request.messages)
        messages = screenshot_window(request.messages, self.keep, self.every)
        return request.override(messages=messages)

    def _check_prompt(self, system: SystemMessage | None, messages: Sequence[AnyMessage]) -> None:
        """Warn where the system prompt changed within a conversation, which its first message tells from others."""
        text = "" if system is None else system.text
        if not messages or not text:
            return
        first = messages[0]
        key = first.id or hashlib.sha256(repr(first.content).encode("utf-8", "surrogatepass")).hexdigest()
        with self._lock:
            before = self._prompts.get(key)
            changed = bool(before) and before != text
            self._prompts[key] = "" if changed or before == "" else text
            self._prompts.move_to_end(key)
            while len(self._prompts) > _MOST_CONVERSATIONS:
                self._prompts.popitem(last=False)
        if changed and before is not None:
            at = next((n for n, (old, new) in enumerate(zip(before, text, strict=False)) if old != new), len(before))
            logger.warning(
                "the system prompt changed from one call to the next, at character %d (%r became %r): nothing after it "
                "can be reused. Put what changes into the newest message instead",
                at,
                before[at : at + 40],
                text[at : at + 40],
            )


def screenshot_window(messages: Sequence[AnyMessage], keep: int, every: int) -> list[AnyMessage]:
    """The conversation with old pictures of tool results replaced by words; what stays is the same object.

    Args:
        messages: The whole conversation.
        keep: Results whose pictures are always shown.
        every: How many results lose their pictures at once.
    """
    places = [at for at, message in enumerate(messages) if isinstance(message, ToolMessage) and _shows(message)]
    gone = set(places[: max(0, len(places) - keep) // every * every])
    return [_without_pictures(message) if at in gone else message for at, message in enumerate(messages)]


def _shows(message: ToolMessage) -> bool:
    return isinstance(message.content, list) and any(_is_picture(block) for block in message.content)


def _is_picture(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in ("image", "image_url", "input_image")


def _without_pictures(message: Any) -> Any:
    content = [{"type": "text", "text": REMOVED} if _is_picture(block) else block for block in message.content]
    return message.model_copy(update={"content": content})
