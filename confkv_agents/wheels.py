"""Files that come out of a package index without being dependencies: one wheel, one version, one hash.

They go through pip, so the user's mirror, proxy and certificates apply; nothing of the wheel is installed or run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from confkv_agents.errors import ConfKVError, WheelError
from confkv_agents.paths import cache_home

_logger = logging.getLogger(__name__)
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Wheel:
    """What to fetch.

    Attributes:
        requirement: Package and version, such as `miniwob==1.1.0`.
        sha256: Of the wheel.
        what: What it holds, in words for messages, such as "the weights".
        command: What a user types to fetch it.
        error: Raised when it cannot be had.
    """

    requirement: str
    sha256: str
    what: str
    command: str
    error: type[ConfKVError] = WheelError

    @property
    def manual(self) -> str:
        """How to install the package by hand, which some interpreters need."""
        return f"pip install --no-deps {self.requirement}"

    @property
    def path(self) -> Path:
        """Where `fetch_wheel` keeps it; it may not exist yet."""
        return cache_home() / "wheels" / f"{self.requirement.replace('==', '-')}-{self.sha256[:8]}.whl"


def download_wheel(wheel: Wheel, work: Path) -> Path:
    """Download a wheel with pip, which refuses any file of another hash.

    Args:
        wheel: What to download.
        work: An existing folder that may be written to.

    Returns:
        The file, somewhere below `work`.

    Raises:
        ConfKVError: Of the wheel's own kind: pip is missing or could not download it; the message holds what it said.
    """
    if importlib.util.find_spec("pip") is None:
        raise wheel.error(
            f"cannot fetch {wheel.what}: {sys.executable} has no pip. Run `uv {wheel.manual}` and then "
            f"`{wheel.command}` again"
        )
    requirements = work / "requirements.txt"
    requirements.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n")
    wheels = work / "wheels"
    options = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]
    command = [sys.executable, "-m", "pip", "download", *options, "--require-hashes"]
    done = subprocess.run(
        [*command, "-r", str(requirements), "-d", str(wheels)],
        cwd=work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    found = sorted(wheels.glob("*.whl"))
    if done.returncode or len(found) != 1:
        said = (done.stderr or done.stdout).strip()[-1500:] or f"exit code {done.returncode}"
        raise wheel.error(
            f"pip could not download {wheel.requirement}: {said}\nCheck the network, proxy or package index and "
            f"run `{wheel.command}` again, or run `{wheel.manual}`"
        )
    return found[0]


def fetch_wheel(wheel: Wheel, progress: Progress | None = None) -> Path:
    """Fetch a wheel into the cache folder unless it is there whole; safe to call from many processes.

    Args:
        wheel: What to fetch.
        progress: Called with a short sentence before the download.

    Returns:
        `wheel.path`.

    Raises:
        ConfKVError: Of the wheel's own kind, as `download_wheel` raises it.
    """
    from filelock import FileLock

    kept = wheel.path
    kept.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(kept.with_name(kept.name + ".lock")):
        if is_whole(wheel):
            return kept
        prefix = f".{kept.name}-"
        for left in kept.parent.glob(prefix + "*"):  # of a fetch that was killed; the lock is ours
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=kept.parent) as temporary:
            (progress or _logger.info)(f"downloading {wheel.what}")
            downloaded = download_wheel(wheel, Path(temporary))
            if (found := sha256_of(downloaded)) != wheel.sha256:
                raise wheel.error(f"{downloaded.name} has sha256 {found}, expected {wheel.sha256}")
            downloaded.replace(kept)
    return kept


def is_whole(wheel: Wheel) -> bool:
    """Whether the cache folder holds the wheel with the expected hash."""
    return wheel.path.is_file() and sha256_of(wheel.path) == wheel.sha256


def sha256_of(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
