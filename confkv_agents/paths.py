"""Where the package keeps files between runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_home() -> Path:
    """Return the folder for fetched and converted files; it may not exist yet.

    `CONFKV_HOME` names it; else it is `confkv-agents` in the platform's cache folder (`XDG_CACHE_HOME` or
    `~/.cache`, `~/Library/Caches` on macOS, `LOCALAPPDATA` on Windows).
    """
    own = os.environ.get("CONFKV_HOME")
    if own:
        return Path(own).expanduser().resolve()
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "confkv-agents"
