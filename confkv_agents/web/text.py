"""Turning page text into text a model reads: quoting that cannot be forged, cutting at safe places."""

from __future__ import annotations

from collections.abc import Callable

TokenCounter = Callable[[str], int]


def estimate_tokens(text: str) -> int:
    """Four characters a token, rounded up: the count used where no tokenizer is given."""
    return -(-len(text) // 4)


def quote(text: str, limit: int = 0) -> str:
    """Put text into quotes so that it can neither end the quote nor look like an element id.

    Apostrophes stay readable: a text with one and without double quotes is put in double quotes. Backslashes,
    the surrounding quote and brackets are escaped by a backslash.

    Args:
        text: One line of text.
        limit: Longest content in code points; 0 means no limit. What is cut is marked by an ellipsis.
    """
    text = shorten(text, limit)
    mark = '"' if "'" in text and '"' not in text else "'"
    for character in ("\\", mark, "[", "]"):
        text = text.replace(character, "\\" + character)
    return f"{mark}{text}{mark}"


def unquoted(text: str, limit: int = 200) -> str:
    """Text of foreign origin that stands without quotes, such as an error's: it cannot look like an element id."""
    return shorten(" ".join(text.split()), limit).replace("[", "\\[").replace("]", "\\]")


def shown_address(url: str, limit: int = 300) -> str:
    """An address as text: no longer than `limit`, and its path and query cannot look like an element id."""
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return shorten(f"{scheme}{mark}{host}{slash}{path.replace('[', '%5B').replace(']', '%5D')}", limit)


def shorten(text: str, limit: int) -> str:
    """Cut at `limit` code points (0: never), never inside a joined emoji or before a combining mark."""
    import unicodedata

    if not limit or len(text) <= limit:
        return text
    end = limit - 1
    while end > 0 and (unicodedata.combining(text[end]) or text[end] in "\u200d\ufe0f" or text[end - 1] == "\u200d"):
        end -= 1
    return text[:end].rstrip() + "\u2026"
