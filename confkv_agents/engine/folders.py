"""Model folders that this package writes: each holds a manifest of its files, so that a damaged one is noticed."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from confkv_agents.wheels import sha256_of

_MANIFEST = "manifest.json"


def made_folder(folder: Path, build: Callable[[Path], Mapping[str, Any]], *, check_hashes: bool = False) -> Path:
    """Make a folder unless it is there whole; safe to call from many processes, and never half there.

    Args:
        folder: Where it is to be.
        build: Fills the empty folder `model` below the path it is given, beside which it may leave other files, and
            returns what is to stand in the manifest before the files' sizes and hashes.
        check_hashes: Look at the content of a folder that is there, too.

    Returns:
        The folder.
    """
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(folder.name + ".lock")):
        if is_complete(folder, check_hashes=check_hashes):
            return folder
        prefix = f".{folder.name}-"
        for left in folder.parent.glob(prefix + "*"):  # of a process that was killed; the lock is ours
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=folder.parent) as temporary:
            work = Path(temporary)
            model = work / "model"
            model.mkdir()
            about = build(work)
            files = {
                path.name: {"bytes": path.stat().st_size, "sha256": sha256_of(path)} for path in sorted(model.iterdir())
            }
            (model / _MANIFEST).write_text(json.dumps({**about, "files": files}, indent=2) + "\n")
            if folder.exists():
                folder.rename(work / "damaged")
            model.replace(folder)
    return folder


def is_complete(folder: Path, *, check_hashes: bool = False) -> bool:
    """Tell whether every file of the manifest is there in its full size (and, if asked, with its hash)."""
    try:
        manifest: dict[str, Any] = json.loads((folder / _MANIFEST).read_text())
        return bool(manifest["files"]) and all(
            (folder / name).stat().st_size == entry["bytes"]
            and (not check_hashes or sha256_of(folder / name) == entry["sha256"])
            for name, entry in manifest["files"].items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
