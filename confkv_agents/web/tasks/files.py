"""Files that a task names: beside the task's own file, or below its folder."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationInfo


def source_of(info: ValidationInfo) -> Path:
    """The file that is being read."""
    return Path((info.context or {}).get("source", "task.json"))


def beside(source: Path, name: str) -> Path:
    """The path of a file that a task names.

    Raises:
        ValueError: It lies elsewhere: task files are not trusted with the rest of the disk.
    """
    folder = source.parent.resolve()
    path = (folder / name).resolve()
    if not path.is_relative_to(folder):
        raise ValueError(f"{name!r} lies outside the task's folder; put the file beside the task")
    return path
