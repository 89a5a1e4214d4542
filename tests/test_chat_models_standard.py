"""LangChain's standard tests: the unit suite, and the integration suite against a scripted engine.

What a local model does not do is declared by property: other models by a call's option, addresses of pictures (refused
unless allowed), PDF, audio and Anthropic's own blocks.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, Literal

import httpx
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests
from PIL import Image
from torch import set_num_threads

from confkv_agents.chat_models import ChatConfKV
from confkv_agents.engine import Engine
from tests.engine.tiny import tiny_smolvlm
from tests.scripted import install, obliging

set_num_threads(1)  # more of them than free cores wait for each other

Detail = Literal["audio_input", "audio_output", "reasoning_output", "cache_read_input", "cache_creation_input"]
Details = dict[Literal["invoke", "stream"], list[Detail]]


class TestUnit(ChatModelUnitTests):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatConfKV

    @property
    def chat_model_params(self) -> dict[str, object]:
        return {"model": "embedded"}

    @property
    def supports_json_mode(self) -> bool:
        return True

    @property
    def supports_image_inputs(self) -> bool:
        return True

    @property
    def supports_image_tool_message(self) -> bool:
        return True

    @property
    def supports_model_override(self) -> bool:
        return False


class CacheDetails:
    """Answers that show what was found in the conversation's cache."""

    def invoke_with_cache_read_input(self, *, stream: bool = False) -> AIMessage:
        model = self.chat_model_class(**self.chat_model_params)  # type: ignore[attr-defined]
        model.invoke("Tell me of the sea.")
        answer = answered(model, "Tell me of the sea.", stream)
        assert answer.usage_metadata is not None
        assert answer.usage_metadata["input_token_details"]["cache_read"] > 0
        return answer

    def invoke_with_cache_creation_input(self, *, stream: bool = False) -> AIMessage:
        model = self.chat_model_class(**self.chat_model_params)  # type: ignore[attr-defined]
        return answered(model, "Tell me of the land.", stream)


def answered(model: BaseChatModel, text: str, stream: bool) -> AIMessage:
    if not stream:
        return model.invoke(text)
    total: AIMessageChunk | None = None
    for chunk in model.stream(text):
        assert isinstance(chunk, AIMessageChunk)
        total = chunk if total is None else total + chunk
    assert total is not None
    return total


class TestScriptedIntegration(CacheDetails, ChatModelIntegrationTests):
    @pytest.fixture(autouse=True)
    def scripted(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        install(monkeypatch, obliging)
        buffer = io.BytesIO()
        Image.new("RGB", (60, 40), "red").save(buffer, "PNG")
        monkeypatch.setattr(httpx, "get", lambda url, **options: httpx.Response(200, content=buffer.getvalue()))
        loaded = tiny_smolvlm()
        self.engine = Engine(lambda: loaded, "scripted")
        yield
        self.engine.close()

    @pytest.fixture
    def model(self, request: Any, scripted: None) -> BaseChatModel:
        return self.chat_model_class(**self.chat_model_params, **(getattr(request, "param", None) or {}))

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatConfKV

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": "tiny", "engine": self.engine, "policy": "full", "max_tokens": 200}

    @property
    def supports_json_mode(self) -> bool:
        return True

    @property
    def supports_image_inputs(self) -> bool:
        return True

    @property
    def supports_image_tool_message(self) -> bool:
        return True

    @property
    def supports_model_override(self) -> bool:
        return False

    @property
    def supported_usage_metadata_details(self) -> Details:
        return {
            "invoke": ["cache_read_input", "cache_creation_input"],
            "stream": ["cache_read_input", "cache_creation_input"],
        }
