"""Sessions in files: what was read stays read when the process ends.

A file is a ZIP archive without compression: `session.json` holds the plain values, and each cache is a safetensors file
as `cache.persistence` writes it. Nothing in it is executed, and no name in it becomes a path.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from confkv_agents.cache.persistence import load_cache, save_cache
from confkv_agents.engine.conversation import PICTURE_KEYS
from confkv_agents.engine.misses import Asked
from confkv_agents.engine.own_turns import OwnTurn
from confkv_agents.engine.session import Session, SessionInfo, SessionStore, Snapshot
from confkv_agents.errors import CacheStateError, ConfigError, SessionFileError
from confkv_agents.paths import user_path

if TYPE_CHECKING:
    from confkv_agents.cache import CacheConfig, ConfKVCache
    from confkv_agents.engine.encoding import PromptEncoder
    from confkv_agents.engine.loading import LoadedModel

FORMAT = "confkv-session-2"
_HEADER, _CACHE, _LOGITS = "session.json", "cache.safetensors", "logits.safetensors"
_SAMPLED = 64  # values per weight that tell two models of one shape apart
_VOLATILE = {"_name_or_path", "transformers_version", "dtype", "torch_dtype", "_attn_implementation"}


@torch.inference_mode()
def save_session(store: SessionStore, loaded: LoadedModel, encoder: PromptEncoder, name: str, path: str | Path) -> None:
    """Write a session to a file; the session goes on as before. Engine's thread only.

    Args:
        store: The engine's sessions.
        loaded: The model.
        encoder: Its prompt encoder, which holds the model's own turns.
        name: The session; of several of one name the one used last.
        path: Target; written beside it first and then put in its place, so that it is never half there.

    Raises:
        SessionFileError: There is no such session, it is answering, or the file cannot be written.
    """
    target = _path(path)
    if not isinstance(name, str) or not name:
        raise SessionFileError(f"session {name!r} cannot be saved: a name is text, and not empty")
    named = [session for session in store if session.name == name]
    if not named:
        there = ", ".join(sorted({repr(session.name) for session in store})) or "none"
        raise SessionFileError(f"there is no session {name!r} to be saved; there are: {there}")
    session = max(named, key=lambda one: one.last_used)
    if session.busy:
        raise SessionFileError(f"session {name!r} is answering; save it when the answer is there")
    try:
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
            whole = Path(folder, "whole")
            _write(session, _header(session, loaded, encoder), Path(folder), whole)
            whole.replace(target)
    except (OSError, SafetensorError) as error:
        why = (
            isinstance(error, OSError) and error.strerror
        ) or error  # the bare reason: a name in it is the temporary one
        raise SessionFileError(f"session {name!r} cannot be saved to {target}: {why}") from error


@torch.inference_mode()
def load_session(
    store: SessionStore,
    loaded: LoadedModel,
    encoder: PromptEncoder,
    path: str | Path,
    config: CacheConfig,
    name: str | None = None,
    bound: int | None = None,
) -> SessionInfo:
    """Take up a session that `save_session` wrote, in place of an idle one of its name. Engine's thread only.

    Args:
        store: The engine's sessions.
        loaded: The model.
        encoder: Its prompt encoder.
        path: The file.
        config: How the session must spend memory.
        name: Another name for it.
        bound: Most bytes that all sessions may hold.

    Raises:
        SessionFileError: The file is missing, damaged or no session, of another model or configuration, or does not
            fit the bound. Nothing has changed then.
    """
    source = _path(path)
    if name is not None and not (isinstance(name, str) and name):
        raise SessionFileError(f"{source} cannot be taken up as session {name!r}: a name is text, and not empty")
    try:
        session, own = _read(source, loaded, config)
    except (OSError, zipfile.BadZipFile, SafetensorError, CacheStateError) as error:
        raise SessionFileError(f"{source} cannot be read as a saved session: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, NotImplementedError) as error:
        if isinstance(error, SessionFileError):
            raise
        raise SessionFileError(f"{source} is a damaged session: {type(error).__name__}: {error}") from error
    session.name = name or session.name
    size = session.nbytes
    if bound is not None and (size > bound or not store.make_room(size, bound, None)):
        raise SessionFileError(f"{source} holds {size:,} bytes of KV cache, but kv_memory allows {bound:,}")
    store.drop(session.name)
    store.add(session)
    encoder.take_over(own)
    return SessionInfo(session.name, len(session.keys), session.nbytes, False)


def model_identity(loaded: LoadedModel) -> dict[str, str]:
    """What tells a model from every other one for which its keys and values would mean something else.

    Weights are told by a sample of each, so another revision or adapter is another model whatever its name.

    Args:
        loaded: The model.
    """
    config = {key: value for key, value in loaded.model.config.to_dict().items() if key not in _VOLATILE}
    weights = hashlib.blake2b(digest_size=16)
    for name, weight in loaded.model.named_parameters():
        weights.update(f"{name}{tuple(weight.shape)}".encode())
        if weight.device.type != "meta":  # those that lie on disk until they are used
            flat = weight.detach().reshape(-1)
            weights.update(flat[:: max(1, flat.numel() // _SAMPLED)][:_SAMPLED].float().cpu().numpy().tobytes())
    return {
        "name": loaded.name,
        "dtype": str(loaded.dtype),
        "configuration": _digest(config),
        "weights": weights.hexdigest(),
        "tokens": _digest(sorted(loaded.tokenizer.get_vocab().items())),
    }


def _path(path: str | Path) -> Path:
    """A path as a user wrote it.

    Raises:
        SessionFileError: It is none.
    """
    if not isinstance(path, str | Path) or not str(path):
        raise SessionFileError(f"a session's file cannot be {path!r}; give a path")
    try:
        return user_path(path)
    except ConfigError as error:
        raise SessionFileError(f"a session's file cannot be {str(path)!r}: {error}") from error


def _header(session: Session, loaded: LoadedModel, encoder: PromptEncoder) -> dict[str, Any]:
    asked = session.asked
    header = {
        "format": FORMAT,
        "model": model_identity(loaded),
        "config": dataclasses.asdict(session.config),
        "name": session.name,
        "keys": session.keys,
        "turn_start": session.turn_start,
        "snapshots": [snapshot.length for snapshot in session.snapshots],
        "asked": asked and [[one.hex() for one in asked.messages], asked.tools.hex(), asked.others.hex()],
        "own": {
            key.hex(): [list(turn.ids), turn.generation_prompt, turn.reasoning, turn.when and turn.when.isoformat()]
            for key, turn in encoder.own_turns(session.own).items()
        },
    }
    return header | {"sha256": _seal(header)}


def _write(session: Session, header: Mapping[str, Any], folder: Path, whole: Path) -> None:
    logits = {str(at): snapshot.logits.detach().cpu().clone() for at, snapshot in enumerate(session.snapshots)}
    caches = {_CACHE: session.cache} | {_snapshot(at): one.cache for at, one in enumerate(session.snapshots)}
    with whole.open("wb") as file:
        archive = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True)
        try:
            archive.writestr(_HEADER, json.dumps(header))
            for name, cache in caches.items():
                save_cache(cache, folder / name)
                archive.write(folder / name, name)
                (folder / name).unlink()
            save_file(logits, folder / _LOGITS)
            archive.write(folder / _LOGITS, _LOGITS)
            archive.close()
        finally:
            archive.fp = None  # an archive that could not be written would try again when it is collected
        file.flush()
        os.fsync(file.fileno())


def _read(source: Path, loaded: LoadedModel, config: CacheConfig) -> tuple[Session, dict[bytes, OwnTurn]]:
    if len(set((getattr(loaded.model, "hf_device_map", None) or {}).values())) > 1:
        raise SessionFileError(f"model {loaded.name!r} lies on several devices; sessions of such a model stay unsaved")
    with zipfile.ZipFile(source) as archive, tempfile.TemporaryDirectory(prefix="confkv-session-") as folder:
        header = _checked(source, archive, loaded, config)
        keys, lengths = _checked_places(header, loaded)
        names = [_CACHE, _LOGITS, *map(_snapshot, range(len(lengths)))]
        _check_members(source, archive, [_HEADER, *names])
        for name in names:
            with archive.open(name) as packed, Path(folder, name).open("wb") as file:
                shutil.copyfileobj(packed, file)
        logits = load_file(Path(folder, _LOGITS), device=str(loaded.device))
        session = Session(header["name"], config, _cache(Path(folder, _CACHE), loaded, config, len(keys)), keys)
        for at, length in enumerate(lengths):
            cache = _cache(Path(folder, _snapshot(at)), loaded, config, length)
            session.snapshots.append(Snapshot(length, cache, logits[str(at)]))
    session.turn_start = header["turn_start"]
    if header["asked"]:
        messages, tools, others = header["asked"]
        session.asked = Asked(tuple(map(bytes.fromhex, messages)), bytes.fromhex(tools), bytes.fromhex(others))
    own = {bytes.fromhex(key): _own_turn(entry, len(loaded.tokenizer)) for key, entry in header["own"].items()}
    session.own = tuple(own)
    return session, own


def _checked(source: Path, archive: zipfile.ZipFile, loaded: LoadedModel, config: CacheConfig) -> dict[str, Any]:
    """The plain values, if they are of this model and configuration."""
    _check_members(source, archive, [_HEADER], others=True)
    header = json.loads(archive.read(_HEADER))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise SessionFileError(f"{source} is not a saved session ({FORMAT})")
    if header.get("sha256") != _seal({key: value for key, value in header.items() if key != "sha256"}):
        raise SessionFileError(f"{source} was altered: its {_HEADER} does not have the digest that is told there")
    here, there = model_identity(loaded), header["model"]
    for what in ("dtype", "configuration", "tokens", "weights"):
        if here[what] != there[what]:
            values = f" ({there[what]}, here {here[what]})" if what == "dtype" else ""
            raise SessionFileError(
                f"{source} was saved with model {there['name']!r}, whose {what} differs{values} from that of "
                f"{here['name']!r}; load it with the model and revision it was saved with"
            )
    mine = json.loads(json.dumps(dataclasses.asdict(config)))
    other = sorted(key for key in mine.keys() | header["config"].keys() if mine.get(key) != header["config"].get(key))
    if other:
        told = ", ".join(f"{key}={header['config'].get(key)!r}, here {mine.get(key)!r}" for key in other)
        raise SessionFileError(f"{source} was saved with another cache configuration ({told}); use the same one")
    return header


def _check_members(source: Path, archive: zipfile.ZipFile, names: Sequence[str], others: bool = False) -> None:
    """Refuse an archive that is not made as `_write` makes it."""
    there = archive.namelist()
    strange = [name for name in there if name not in names] if not others else []
    missing = [name for name in names if name not in there]
    if missing:
        raise SessionFileError(f"{source} is not a saved session: it holds no {missing[0]}")
    if strange or len(set(there)) != len(there):
        raise SessionFileError(f"{source} holds {(strange or there)[0]!r}, which is no part of a session")
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
        raise SessionFileError(f"{source} is compressed, which no saved session is")


def _checked_places(header: Mapping[str, Any], loaded: LoadedModel) -> tuple[list[int], list[int]]:
    """The keys of a session and the lengths of its snapshots, if they can be what a session holds."""
    keys, lengths, start, name = header["keys"], header["snapshots"], header["turn_start"], header["name"]
    least = PICTURE_KEYS if loaded.takes_pictures else 0
    vocabulary = max(len(loaded.tokenizer), loaded.model.get_input_embeddings().weight.shape[0])
    if not isinstance(keys, list) or not all(type(key) is int and least <= key < vocabulary for key in keys):
        raise ValueError("it holds a key that is no token and no picture")
    if not isinstance(lengths, list) or not all(type(length) is int and 0 < length <= len(keys) for length in lengths):
        raise ValueError(f"it has snapshots at {lengths}, which are no lengths within its {len(keys)} tokens")
    if type(start) is not int or not 0 <= start <= len(keys):
        raise ValueError(f"its last prompt ends at {start!r}, which is not within its {len(keys)} tokens")
    if not isinstance(name, str) or not name:
        raise ValueError(f"its name is {name!r}, which is no text")
    return keys, lengths


def _cache(path: Path, loaded: LoadedModel, config: CacheConfig, length: int) -> ConfKVCache:
    cache = load_cache(path, loaded.model.config, loaded.device)
    if cache.config != config or cache.seen != length:
        raise CacheStateError(f"it holds {cache.seen} tokens where {length} should be, or is of another configuration")
    return cache


def _own_turn(entry: Sequence[Any], vocabulary: int) -> OwnTurn:
    ids, generation_prompt, reasoning, when = entry
    if not all(isinstance(token, int) and 0 <= token < vocabulary for token in ids):
        raise ValueError("a turn holds an id that is no token")
    date = None if when is None else datetime.fromisoformat(when)
    return OwnTurn(tuple(ids), str(generation_prompt), str(reasoning), date)


def _snapshot(at: int) -> str:
    return f"snapshot-{at}.safetensors"


def _seal(header: Mapping[str, Any]) -> str:
    """Digest of the plain values: it tells an altered file, not a forged one."""
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()


def _digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True, default=str).encode(), digest_size=16).hexdigest()
