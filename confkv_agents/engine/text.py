"""From token ids to text while they arrive: whole characters only, and stop strings never shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

REPLACEMENT = "\ufffd"


class Detokenizer:
    """Turns a growing list of ids into text, holding back bytes that do not make a whole character yet.

    Decoding each id by itself loses spaces and breaks characters that span tokens, so every piece is the
    difference of two decodings that share their left context.

    Args:
        tokenizer: A transformers tokenizer.
        shown: Text of the special tokens that are not left out, by id.
    """

    def __init__(self, tokenizer: Any, shown: Mapping[int, str] | None = None):
        self._tokenizer = tokenizer
        self._special = shown or {}
        self._ids: list[int] = []
        self._start = 0
        self._shown = 0

    def push(self, token_id: int) -> str:
        """Take one id and return the text that is certain by now, often one word, sometimes nothing."""
        if token_id in self._special:
            return self.flush() + self._special[token_id]
        self._ids.append(token_id)
        before = self._decode(self._ids[self._start : self._shown])
        after = self._decode(self._ids[self._start :])
        if len(after) <= len(before) or after.endswith(REPLACEMENT):
            return ""
        self._start, self._shown = self._shown, len(self._ids)
        return after[len(before) :]

    def flush(self) -> str:
        """Return what is still held back; a cut character shows as U+FFFD, as in a whole decoding."""
        before = self._decode(self._ids[self._start : self._shown])
        after = self._decode(self._ids[self._start :])
        self._start = self._shown = len(self._ids)
        return after[len(before) :]

    def _decode(self, ids: list[int]) -> str:
        if not ids:
            return ""
        return self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)


class StopStrings:
    """Cuts text at the first stop string, also where the string spans several pieces.

    Args:
        stops: The stop strings; empty ones are ignored.
    """

    def __init__(self, stops: Sequence[str]):
        self._stops = [stop for stop in stops if stop]
        self._held = ""
        self.found: str | None = None

    def push(self, text: str) -> str:
        """Take a piece of text and return what may be shown of it.

        The end of the text that could still become a stop string is held back. After a stop string was found
        (`found` names it) nothing more is returned.
        """
        if self.found is not None:
            return ""
        if not self._stops:
            return text
        self._held += text
        hits = [(at, -len(stop), stop) for stop in self._stops if (at := self._held.find(stop)) >= 0]
        if hits:
            at, _, self.found = min(hits)
            shown, self._held = self._held[:at], ""
            return shown
        keep = max(overlap(self._held, stop) for stop in self._stops)
        cut = len(self._held) - keep
        shown, self._held = self._held[:cut], self._held[cut:]
        return shown

    def flush(self) -> str:
        """Return what is held back; the text ended before a stop string was complete."""
        shown, self._held = self._held, ""
        return shown if self.found is None else ""


def overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that is a beginning of `stop`."""
    for size in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:size]):
            return size
    return 0
