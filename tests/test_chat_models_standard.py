"""LangChain's standard unit tests."""

from langchain_core.language_models import BaseChatModel
from langchain_tests.unit_tests import ChatModelUnitTests

from confkv_agents.chat_models import ChatConfKV


class TestChatConfKVStandard(ChatModelUnitTests):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatConfKV

    @property
    def chat_model_params(self) -> dict[str, object]:
        return {"model": "embedded"}

    @property
    def supports_image_inputs(self) -> bool:
        return True

    @property
    def supports_image_tool_message(self) -> bool:
        return True

    @property
    def supports_model_override(self) -> bool:
        return False
