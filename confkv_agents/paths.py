"""Where the package keeps files between runs."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

from confkv_agents.errors import ConfigError

_ABSENT = {errno.ENOENT, errno.ENOTDIR}


def user_path(text: str | Path) -> Path:
    """Return a path as a user wrote it, with `~` replaced; there may be nothing at it.

    Raises:
        ConfigError: Nobody could use it: it is empty, names an unknown user, is too long, or may not be looked at.
    """
    if text == "":
        raise ConfigError("a path is empty; write . for the current folder")
    shown = str(text) if len(str(text)) <= 80 else f"{str(text)[:77]}..."
    try:
        path = Path(text).expanduser()
        path.stat()
    except OSError as error:
        if error.errno not in _ABSENT:
            raise ConfigError(f"the path {shown!r} cannot be used: {error.strerror or error}") from error
    except (RuntimeError, ValueError) as error:  # no home folder; a NUL byte
        raise ConfigError(f"the path {shown!r} cannot be used: {error}") from error
    return path


def cache_home() -> Path:
    """Return the folder for fetched and converted files; it may not exist yet.

    `CONFKV_HOME` names it; else it is `confkv-agents` in the platform's cache folder (`XDG_CACHE_HOME` or
    `~/.cache`, `~/Library/Caches` on macOS, `LOCALAPPDATA` on Windows).

    Raises:
        ConfigError: `CONFKV_HOME` cannot be a folder.
    """
    own = os.environ.get("CONFKV_HOME")
    if own:
        path = user_path(own).resolve()
        if path.exists() and not path.is_dir():
            raise ConfigError(f"CONFKV_HOME names a file, {path}: set it to a folder")
        return path
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "confkv-agents"
