import base64
import io
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from PIL import Image

from confkv_agents.engine.conversation import Picture, Turn
from confkv_agents.engine.media import ImageLimits
from confkv_agents.errors import ImageError, PromptError
from confkv_agents.messages import ImageAccess, to_turns

RED = Image.new("RGB", (8, 6), "red")


def encoded(image: Image.Image = RED) -> str:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def one(message: AnyMessage, **access: Any) -> Turn:
    return to_turns([message], ImageAccess(**access))[0]


def test_roles_and_text() -> None:
    messages = [
        SystemMessage("s"),
        HumanMessage([{"type": "text", "text": "a"}, "b"], name="ada"),
        AIMessage("c"),
        ChatMessage(role="developer", content="d"),
    ]
    assert to_turns(messages) == (
        Turn("system", ("s",)),
        Turn("user", ("ab",)),
        Turn("assistant", ("c",)),
        Turn("system", ("d",)),
    )


BLOCKS: dict[str, dict[str, Any]] = {
    "v1 base64": {"type": "image", "base64": encoded(), "mime_type": "image/png"},
    "v1 data address": {"type": "image", "url": f"data:image/png;base64,{encoded()}"},
    "v0 base64": {"type": "image", "source_type": "base64", "data": encoded(), "mime_type": "image/png"},
    "OpenAI object": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded()}"}},
    "OpenAI string": {"type": "image_url", "image_url": f"data:image/png;base64,{encoded()}"},
    "PIL": {"type": "image", "extras": {"image": RED}},
}


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS.keys())
def test_every_form_of_picture_block_gives_the_same_picture(block: dict[str, Any]) -> None:
    turn = one(HumanMessage([{"type": "text", "text": "see"}, block]))
    assert turn.parts == ("see", Picture.of(RED))


def test_pictures_in_tool_messages_are_kept_with_the_tools_name() -> None:
    messages = [
        AIMessage("", tool_calls=[{"name": "look", "args": {"x": 1}, "id": "call-1"}]),
        ToolMessage(["seen", BLOCKS["v1 base64"]], tool_call_id="call-1"),
    ]
    call, result = to_turns(messages)
    assert call.tool_calls == ({"name": "look", "arguments": {"x": 1}, "id": "call-1"},)
    assert (result.role, result.name, result.parts) == ("tool", "look", ("seen", Picture.of(RED)))


def test_blocks_of_an_assistant_that_are_no_text_are_dropped() -> None:
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, {"type": "tool_use", "id": "1"}]
    assert one(AIMessage(content)).parts == ("a",)


@pytest.mark.parametrize("kind", ["audio", "file", "video", "document", "tool_result", None])
def test_blocks_of_a_user_that_are_unknown_are_refused(kind: str | None) -> None:
    with pytest.raises(PromptError, match=r"message 0 \(human\), block 0"):
        one(HumanMessage([{"type": kind, "data": "x"}]))


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image_url", "image_url": "/etc/passwd"},
        {"type": "image", "base64": "/etc/passwd"},
        {"type": "image", "url": "../secret.png"},
        {"type": "image", "file_id": "file-1"},
        {"type": "image_url"},
        {"type": "image", "url": "data:image/png;base64"},
        {"type": "image", "base64": "not base64!"},
    ],
)
def test_a_string_is_never_a_path(block: dict[str, Any]) -> None:
    with pytest.raises(ImageError):
        one(HumanMessage([block]))


def test_http_addresses_are_refused_unless_allowed() -> None:
    block = {"type": "image", "url": "https://example.com/a.png"}
    with pytest.raises(ImageError, match="allow_image_urls"):
        one(HumanMessage([block]))


def test_files_are_refused_unless_allowed(tmp_path: Path) -> None:
    path = tmp_path / "a b.png"
    RED.save(path)
    message = HumanMessage([{"type": "image", "url": path.as_uri()}])
    with pytest.raises(ImageError, match="allow_image_files"):
        one(message)
    assert one(message, files=True).parts == (Picture.of(RED),)
    path.unlink()
    with pytest.raises(ImageError, match="cannot be read"):
        one(message, files=True)


def test_limits_hold_before_base64_is_decoded() -> None:
    with pytest.raises(ImageError, match="at most 1,000 are allowed"):
        one(HumanMessage([{"type": "image", "base64": "A" * 10_000}]), limits=ImageLimits(bytes=1000))


def test_unknown_roles_and_message_kinds_are_refused() -> None:
    with pytest.raises(PromptError, match="role 'narrator'"):
        one(ChatMessage(role="narrator", content="x"))  # type: ignore[arg-type]
    with pytest.raises(PromptError, match="RemoveMessage"):
        one(RemoveMessage(id="1"))  # type: ignore[arg-type]


def test_no_messages_are_refused() -> None:
    with pytest.raises(PromptError, match="no messages"):
        to_turns([])
