"""The texts that benchmarks read: files of the user's, or the documentation that comes with Python."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confkv_agents.errors import ConfigError

STANDARD = "pydoc_data.topics"
_PARTS = 6


@dataclass(frozen=True)
class Text:
    """A text: its name, what it says, and the SHA-256 of that."""

    name: str
    content: str

    @property
    def sha256(self) -> str:
        """Hexadecimal digest of the UTF-8 text."""
        return hashlib.sha256(self.content.encode()).hexdigest()


def load_texts(path: Path | None) -> list[Text]:
    """Load the texts to read; nothing is downloaded.

    Args:
        path: A UTF-8 text file, or a folder whose `.txt` files are read, subfolders included, sorted by name. None
            reads the language reference in the standard library (`pydoc_data.topics`), as six texts.

    Raises:
        ConfigError: Nothing readable lies there.
    """
    if path is None:
        return _standard()
    if path.is_file():
        files = [path]
    elif path.is_dir():
        files = sorted(file for file in path.rglob("*.txt") if file.is_file())
    else:
        raise ConfigError(f"--texts {path}: there is no such file or folder")
    if not files:
        raise ConfigError(f"--texts {path}: the folder holds no .txt file")
    base = path if path.is_dir() else path.parent
    texts = [Text(file.relative_to(base).as_posix(), _read(file)) for file in files]
    texts = [text for text in texts if text.content]
    if not texts:
        raise ConfigError(f"--texts {path}: every file is empty")
    return texts


def encode(tokenizer: Any, text: str) -> list[int]:
    """Token ids of a text without special tokens, however long it is."""
    return list(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise ConfigError(f"--texts: {file} is not UTF-8 text (byte {error.start}); convert it first") from error
    except OSError as error:
        raise ConfigError(f"--texts: {file} cannot be read: {error.strerror or error}") from error


def _standard() -> list[Text]:
    from pydoc_data.topics import topics

    chapters = [topics[name].strip() for name in sorted(topics)]
    total = sum(map(len, chapters))
    parts: list[list[str]] = [[] for _ in range(_PARTS)]
    passed = 0
    for chapter in chapters:
        parts[min(_PARTS - 1, passed * _PARTS // total)].append(chapter)
        passed += len(chapter)
    return [Text(f"{STANDARD}:{number}", "\n\n".join(part)) for number, part in enumerate(parts, 1) if part]
