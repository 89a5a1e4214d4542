"""The picture half of a model's processor: with Pillow, and without what only videos need.

The processors of most families want a video processor, which exists only where torchvision is installed, and one of
them a package that spells numbers. This engine reads no videos, so it leaves that part out.
"""

from __future__ import annotations

from typing import Any

import transformers

# SmolVLM writes its pictures' placeholders as Idefics3 does.
KINDS = {
    "smolvlm": "Idefics3Processor",
    "idefics3": "Idefics3Processor",
    "llava": "LlavaProcessor",
    "llava_onevision": "LlavaOnevisionProcessor",
    "qwen2_5_vl": "Qwen2_5_VLProcessor",
    "qwen3_vl": "Qwen3VLProcessor",
}


def picture_processor(model_type: str) -> Any:
    """Return the processor class of a family, without its video part.

    Args:
        model_type: The model's `config.model_type`, one of `KINDS`.
    """
    base: Any = getattr(transformers, KINDS[model_type])

    class PictureProcessor(base):
        """Takes pictures and text."""

        @classmethod
        def get_attributes(cls) -> list[str]:
            """Return the parts it is made of."""
            return ["image_processor", "tokenizer"]

    return PictureProcessor


def load_processor(model_type: str, source: str, **options: Any) -> Any:
    """Load a model's tokenizer and image processor from its folder or hub id.

    The same pixels come out whether or not torchvision is installed.

    Args:
        model_type: The model's `config.model_type`, one of `KINDS`.
        source: Folder or hub id.
        options: As `from_pretrained` takes them.

    Raises:
        OSError: Files are missing or cannot be fetched.
        ValueError: Files are not what they should be.
    """
    return picture_processor(model_type).from_pretrained(source, backend="pil", **options)
