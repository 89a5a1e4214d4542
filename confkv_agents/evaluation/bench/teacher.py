"""A chat model that says what it is told to, and remembers what it was asked."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from confkv_agents.errors import RecordError


class Teacher(BaseChatModel):
    """Stands in for a model while an agent builds its prompts from a record.

    Attributes:
        replies: What it says next, in order.
        asked: The messages that it was asked with last.
    """

    replies: list[str] = []  # noqa: RUF012 - pydantic copies it for each instance
    asked: list[Any] = []  # noqa: RUF012 - the same

    @property
    def _llm_type(self) -> str:
        return "confkv-teacher"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.asked = list(messages)
        if not self.replies:
            raise RecordError("the agent asks its model more often than in the run; use the version that recorded it")
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.replies.pop(0)))])
