"""Sessions in files: what comes back is what was saved, whole or not at all."""

from __future__ import annotations

import errno
import gc
import hashlib
import json
import os
import signal
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from confkv_agents.cache import CacheConfig
from confkv_agents.engine import session_files
from confkv_agents.engine.conversation import Picture, Turn
from confkv_agents.engine.engine import Engine
from confkv_agents.engine.request import Request, Result
from confkv_agents.errors import SessionFileError
from tests.engine.tiny import tiny_llama, tiny_smolvlm

FULL = CacheConfig(policy="full")
BOUNDED = CacheConfig(policy="confkv", budget=64, min_budget=48, chunk=32, window=16, sinks=2)
RECALL = CacheConfig(policy="confkv+recall", budget=64, min_budget=48, chunk=32, window=16, sinks=2)
LONG = "the other thing on the line, in the inner one. " * 6
NAME = "work"


def user(*parts: Any) -> Turn:
    return Turn("user", tuple(parts))


def ask(engine: Engine, turns: list[Turn], cache: CacheConfig, **options: Any) -> Result:
    return engine.run(Request(tuple(turns), cache, max_tokens=5, logprobs=True, session=NAME, **options))


def figures(result: Result) -> Any:
    return [(entry.token_id, entry.logprob) for entry in result.logprobs], result.text, result.tokens_reused


def begun(engine: Engine, cache: CacheConfig, *parts: Any) -> list[Turn]:
    """A conversation of two answered questions."""
    turns: list[Turn] = []
    for question in (user(LONG, *parts), user("and then?")):
        turns.append(question)
        turns.append(Turn("assistant", (ask(engine, turns, cache).text,)))
    return turns


@pytest.fixture
def saved(tmp_path: Path) -> Iterator[tuple[Engine, Path]]:
    loaded = tiny_llama()
    with Engine(lambda: loaded, "tiny") as engine:
        begun(engine, FULL)
        engine.save_session(NAME, tmp_path / "work.session")
        yield engine, tmp_path / "work.session"


@pytest.mark.parametrize("cache", [FULL, BOUNDED, RECALL], ids=lambda cache: cache.policy)
def test_a_session_goes_on_in_another_process_as_in_this_one(cache: CacheConfig, tmp_path: Path) -> None:
    path = tmp_path / "work.session"
    with Engine(tiny_llama, "first") as engine:
        turns = begun(engine, cache)
        engine.save_session(NAME, path)
        more = [*turns, user("what was the thing?")]
        expected, retried = ask(engine, more, cache), ask(engine, more, cache)
    assert expected.tokens_reused > expected.tokens_prompt * 0.8
    with Engine(tiny_llama, "second") as engine:  # the same weights, made anew
        info = engine.load_session(path, cache)
        assert (info.name, info.busy) == (NAME, False) and info.nbytes > 0
        assert [one.name for one in engine.sessions()] == [NAME]
        assert figures(ask(engine, more, cache)) == figures(expected)
        assert figures(ask(engine, more, cache)) == figures(retried)
        edited = [user("something else"), *more[1:]]
        miss = ask(engine, edited, cache).miss
    assert miss is not None and (miss.message, miss.reason) == (0, "message 0 was edited")


@pytest.mark.parametrize("cache", [FULL, BOUNDED], ids=lambda cache: cache.policy)
def test_a_session_with_pictures_goes_on_and_tells_them_apart(cache: CacheConfig, tmp_path: Path) -> None:
    path = tmp_path / "work.session"
    red, blue = (Picture.of(Image.new("RGB", (60, 40), color)) for color in ("red", "blue"))
    with Engine(tiny_smolvlm, "first") as engine:
        turns = begun(engine, cache, red)
        engine.save_session(NAME, path)
        more = [*turns, user("and here? ", blue)]
        expected = ask(engine, more, cache)
    with Engine(tiny_smolvlm, "second") as engine:
        engine.load_session(path, cache)
        assert figures(ask(engine, more, cache)) == figures(expected)
        other = ask(engine, [user(LONG, blue), *more[1:]], cache)
    assert other.tokens_reused < expected.tokens_reused and other.miss_at is not None


def test_a_loaded_session_takes_the_place_of_its_name_and_keeps_within_the_bound(saved: tuple[Engine, Path]) -> None:
    engine, path = saved
    info = engine.load_session(path, FULL)
    assert [one.name for one in engine.sessions()] == [NAME]
    engine.load_session(path, FULL, "copy")
    assert sorted(one.name for one in engine.sessions()) == ["copy", NAME]
    engine.load_session(path, FULL, "third", kv_memory=2 * info.nbytes)
    assert sorted(one.name for one in engine.sessions()) == ["copy", "third"]
    with pytest.raises(SessionFileError, match="kv_memory"):
        engine.load_session(path, FULL, kv_memory=info.nbytes - 1)
    assert sorted(one.name for one in engine.sessions()) == ["copy", "third"]


def test_what_cannot_be_saved_is_refused(saved: tuple[Engine, Path], tmp_path: Path) -> None:
    engine, _ = saved
    with pytest.raises(SessionFileError, match=r"no session 'other'.*'work'"):
        engine.save_session("other", tmp_path / "other")
    with pytest.raises(SessionFileError, match="cannot be saved"):
        engine.save_session(NAME, tmp_path / "nowhere" / "work.session")
    running = engine.submit(Request((user("Hm"),), FULL, max_tokens=3000, session="running"))
    next(iter(running))
    with pytest.raises(SessionFileError, match="is answering"):
        engine.save_session("running", tmp_path / "running")
    running.close()


STEPS: list[tuple[Any, str]] = [
    (session_files, "save_cache"),
    (session_files, "save_file"),
    (zipfile.ZipFile, "writestr"),
    (zipfile.ZipFile, "write"),
    (zipfile.ZipFile, "close"),
    (os, "fsync"),
    (Path, "replace"),
]


@pytest.mark.parametrize(("owner", "step"), STEPS, ids=[step for _, step in STEPS])
def test_a_step_that_fails_leaves_the_old_file_and_nothing_else(
    owner: Any, step: str, saved: tuple[Engine, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, path = saved
    lost: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    before, times = path.read_bytes(), []

    def fail(*args: Any, **kwargs: Any) -> None:
        times.append(1)
        if len(times) == 1:
            raise OSError(errno.ENOSPC, "no space left", str(tmp_path / "temporary"))

    with monkeypatch.context() as broken:
        broken.setattr(owner, step, fail)
        with pytest.raises(SessionFileError, match=r"work\.session: no space left$"):
            engine.save_session(NAME, path)
    gc.collect()
    assert not lost
    assert times and path.read_bytes() == before and [one.name for one in path.parent.iterdir()] == [path.name]
    engine.load_session(path, FULL)


def test_a_path_or_a_name_that_is_none_is_refused(saved: tuple[Engine, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    engine, path = saved
    monkeypatch.setenv("HOME", str(path.parent))
    for wrong in (None, 5, b"x", "", "a\0b"):
        with pytest.raises(SessionFileError, match="file cannot be"):
            engine.save_session(NAME, wrong)  # type: ignore[arg-type]
        with pytest.raises(SessionFileError, match="file cannot be"):
            engine.load_session(wrong, FULL)  # type: ignore[arg-type]
    for name in (5, ""):
        with pytest.raises(SessionFileError, match="a name is text"):
            engine.load_session(path, FULL, name)  # type: ignore[arg-type]
        with pytest.raises(SessionFileError, match="a name is text"):
            engine.save_session(name, path)  # type: ignore[arg-type]
    engine.save_session(NAME, "~/home.session")
    assert engine.load_session("~/home.session", FULL).name == NAME
    assert sorted(one.name for one in path.parent.iterdir()) == ["home.session", "work.session"]


@pytest.mark.parametrize("moment", ["write", "fsync", "replace"])
def test_a_killed_process_leaves_no_half_written_file(moment: str, saved: tuple[Engine, Path]) -> None:
    """A child process dies in the middle of saving; it owns a copy of everything, the engine's thread left out."""
    engine, path = saved
    before = path.read_bytes()
    store, encoder, loaded = engine._store, engine._encoder, engine.load()
    assert encoder is not None
    owner: Any = {"write": zipfile.ZipFile, "fsync": os, "replace": Path}[moment]
    child = os.fork()
    if child == 0:
        setattr(owner, moment, lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGKILL))
        session_files.save_session(store, loaded, encoder, NAME, path)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert path.read_bytes() == before
    engine.load_session(path, FULL)


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def rewritten(change: Callable[[dict[str, bytes]], None]) -> Callable[[Path], None]:
    """Damage an archive by its members."""

    def damage(path: Path) -> None:
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        change(members)
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)

    return damage


def header(**changes: Any) -> Callable[[Path], None]:
    """Change the plain values by hand."""

    def change(members: dict[str, bytes]) -> None:
        told = json.loads(members["session.json"])
        made = {key: change(told) if callable(change) else change for key, change in changes.items()}
        members["session.json"] = json.dumps(told | made).encode()

    return rewritten(change)


def sealed(**changes: Any) -> Callable[[Path], None]:
    """Change the plain values and their digest too."""
    return header(**changes, sha256=lambda told: seal(told, changes))


def seal(told: dict[str, Any], changes: dict[str, Any]) -> str:
    made = {key: change(told) if callable(change) else change for key, change in changes.items()}
    values = {key: value for key, value in (told | made).items() if key != "sha256"}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def compressed(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "missing": lambda path: path.unlink(),
    "truncated": truncated,
    "flipped": flipped,
    "empty": lambda path: path.write_bytes(b""),
    "foreign": lambda path: path.write_bytes(b"GIF89a and more"),
    "foreign archive": rewritten(lambda members: members.clear()),
    "compressed": compressed,
    "no cache": rewritten(lambda members: members.pop("cache.safetensors")),
    "a path outside": rewritten(lambda members: members.update({"../outside": b"x"})),
    "an absolute path": rewritten(lambda members: members.update({"/tmp/outside": b"x"})),
    "a cache that is none": rewritten(lambda members: members.update({"cache.safetensors": b"x" * 64})),
    "no object": rewritten(lambda members: members.update({"session.json": b"[1]"})),
    "no JSON": rewritten(lambda members: members.update({"session.json": b"{"})),
    "another format": header(format="confkv-session-0"),
    "fewer tokens": header(keys=[1, 2]),
    "no tokens": header(keys="none"),
    "strange turns": header(own={"00": [[10**9], "", "", None]}),
    "more snapshots": header(snapshots=[1, 2, 3]),
    "no model": sealed(model=None),
    "keys in another order": header(keys=lambda told: told["keys"][::-1]),
    "no digest": header(sha256=None),
    "keys of pictures": sealed(keys=lambda told: [-1] * len(told["keys"])),
    "keys of no token": sealed(keys=lambda told: [10**9] * len(told["keys"])),
    "keys that are no numbers": sealed(keys=lambda told: [float(key) for key in told["keys"]]),
    "a prompt that ends outside": sealed(turn_start=10**6),
    "a prompt that ends before": sealed(turn_start=-1),
    "a prompt that ends nowhere": sealed(turn_start=None),
    "snapshots outside": sealed(snapshots=[10**6]),
    "no name": sealed(name=None),
    "a name that is no text": sealed(name=5),
    "an empty name": sealed(name=""),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_file_that_is_no_whole_session_is_refused_and_nothing_changes(
    damage: Callable[[Path], Any], saved: tuple[Engine, Path]
) -> None:
    engine, path = saved
    damage(path)
    before = engine.sessions()
    with pytest.raises(SessionFileError, match=r"work\.session"):
        engine.load_session(path, FULL)
    assert engine.sessions() == before
    assert {one.name for one in path.parent.iterdir()} <= {path.name}


def test_a_session_of_another_model_or_configuration_is_refused(saved: tuple[Engine, Path]) -> None:
    engine, path = saved
    with pytest.raises(SessionFileError, match=r"budget=512, here 128.*use the same one"):
        engine.load_session(path, replace(FULL, budget=128))
    others = {
        "weights": lambda: tiny_llama(seed=1),  # another revision under the same name
        "configuration": lambda: tiny_llama(positions=2048),
    }
    for what, make in others.items():
        with Engine(make, "other") as other, pytest.raises(SessionFileError, match=f"whose {what} differs"):
            other.load_session(path, FULL)
    half = tiny_llama()
    half.model.to(torch.bfloat16)
    with (
        Engine(lambda: half, "other") as other,
        pytest.raises(SessionFileError, match=r"float32, here torch\.bfloat16"),
    ):
        other.load_session(path, FULL)
    words = tiny_llama()
    words.tokenizer.add_tokens(["zzz"])
    with Engine(lambda: words, "other") as other, pytest.raises(SessionFileError, match="whose tokens differs"):
        other.load_session(path, FULL)
