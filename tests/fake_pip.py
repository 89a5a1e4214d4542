"""`pip download` without a network: writes one wheel of a test's making, or fails."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any


class FakePip:
    """Stands for `subprocess.run` where it would run pip.

    Args:
        wheel: Name of the wheel's file.
        content: What it holds; None lets the download fail.
        write: Writes a wheel of this content; by default the content as it is.

    Attributes:
        commands: What it was run with.
        requirements: The last requirements file.
    """

    def __init__(
        self, wheel: str, content: bytes | None, write: Callable[[Path, bytes], object] = Path.write_bytes
    ) -> None:
        self.content = content
        self.commands: list[list[str]] = []
        self.requirements = ""
        self._wheel, self._write = wheel, write

    def __call__(self, command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        self.commands.append(command)
        self.requirements = Path(command[command.index("-r") + 1]).read_text()
        if self.content is None:
            return subprocess.CompletedProcess(command, 1, "", "ERROR: no network here")
        folder = Path(command[command.index("-d") + 1])
        folder.mkdir()
        self._write(folder / self._wheel, self.content)
        return subprocess.CompletedProcess(command, 0, "", "")
