"""Files that are whole at every moment: written beside their place, then renamed over it.

A reader, a Ctrl-C or a `kill -9` finds either the file as it was before or as it is after, never a part of
it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from confkv_agents.errors import RecordError

_log = logging.getLogger(__name__)
_LINE_ENDS = "\x85\u2028\u2029"


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a file's content, all of it or nothing.

    Raises:
        RecordError: The folder is missing or cannot be written, or the disk is full.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise RecordError(f"cannot write {path}: {error.strerror or error}") from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Replace a text file's content; lone surrogates of foreign text become question marks."""
    write_bytes(path, text.encode("utf-8", errors="replace"))


def to_json(value: Any, *, indent: int | None = None) -> str:
    """Standard JSON: dataclasses become objects, NaN and infinity null, whatever else its text."""
    text = json.dumps(_plain(value), indent=indent, ensure_ascii=False, allow_nan=False)
    for character in _LINE_ENDS:  # only ever inside a string; many readers would end the line there
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file's content."""
    write_text(path, to_json(value, indent=2) + "\n")


def append_json_line(path: Path, value: Any) -> None:
    """Add one row to a JSON-lines file, by rewriting it under a lock, so that no row is ever cut."""
    line = to_json(value) + "\n"
    with _locked(path.parent):
        before = path.read_bytes() if path.exists() else b""
        write_bytes(path, _without_cut_line(before) + line.encode("utf-8", errors="replace"))


def read_json(path: Path) -> Any:
    """Read a record's JSON file.

    Raises:
        RecordError: The file is missing or is not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecordError(f"{path} is missing: give the folder of a run or of one of its episodes") from None
    except json.JSONDecodeError as error:
        raise RecordError(
            f"{path}, line {error.lineno}, column {error.colno}: {error.msg}; the file is damaged: restore it, or "
            f"remove its folder {path.parent}"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise RecordError(f"{path} cannot be read: {error}") from error


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Read a JSON-lines file; a file that does not exist has no rows.

    Raises:
        RecordError: The file cannot be read, or a line is not JSON; the message names it.
    """
    return [row for _, row in numbered_json_lines(path)]


def numbered_json_lines(path: Path) -> list[tuple[int, Any]]:
    """Read a JSON-lines file, each row with the number of its line.

    A last line that ends within the row is left out with a warning, as if its writer had been stopped before it.

    Raises:
        RecordError: The file cannot be read, or a line is not JSON; the message names it.
    """
    if not path.exists():
        return []
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error}") from error
    rows = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            rows.append((number, json.loads(line.decode("utf-8"))))
        except (ValueError, RecursionError) as error:
            if number == len(lines) and line.lstrip().startswith(b"{"):
                _log.warning("%s: the last line is cut off, as when its writer was stopped; it is left out", path)
                continue
            if not isinstance(error, json.JSONDecodeError):
                raise RecordError(f"{path} cannot be read: line {number}: {error}") from error
            raise RecordError(
                f"{path}, line {number}, column {error.colno}: {error.msg}; the file is damaged: remove the line, or "
                f"the folder {path.parent}"
            ) from error
    return rows


def _without_cut_line(content: bytes) -> bytes:
    """Rows as they are to stand before another one: whole, and the last one ended."""
    before, end, last = content.rpartition(b"\n")
    if not last.lstrip().startswith(b"{"):
        return content
    try:
        json.loads(last.decode("utf-8"))
    except (ValueError, RecursionError):
        return before + end
    return content + b"\n"


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, or of a folder's files with their names, caches left out; hexadecimal."""
    digest = hashlib.sha256()
    if path.is_file():
        digest.update(path.read_bytes())
        return digest.hexdigest()
    for file in sorted(path.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(file.relative_to(path).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Windows: one process writes a run there
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int | bool):
        return value
    if hasattr(value, "item"):  # a number of numpy's or torch's
        return _plain(value.item())
    return str(value)
