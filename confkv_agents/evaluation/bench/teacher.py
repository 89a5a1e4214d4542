"""A chat model that says what it is told to, and remembers what it was asked."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class Teacher(BaseChatModel):
    """Stands in for a model while an agent builds its prompts from a record.

    Attributes:
        reply: What it says next.
        asked: The messages that it was asked with last.
    """

    reply: str = ""
    asked: list[Any] = []  # noqa: RUF012 - pydantic copies it for each instance

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
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.reply))])
