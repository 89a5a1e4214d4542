"""Demonstrations made ready to be learned from, kept beside their file: a training that goes on starts at once.

Encoding a demonstration and looking at its pictures takes a third of a second. Both depend on the file's lines, on the
tokenizer with its template, and on the eyes; what is kept is used as long as these are the same.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from confkv_agents.engine.loading import LoadedModel
from confkv_agents.pilot.data import pictures_of, read_data
from confkv_agents.pilot.demonstrations import Demonstration
from confkv_agents.pilot.encoding import Encoded, encode
from confkv_agents.pilot.looking import look_at, open_picture

_OPEN = 4096  # pictures that are held, since neighbouring episodes show the same
_EVERY = 50  # episodes between two words on how far it is
_Looks = dict[str, torch.Tensor]


def prepared(
    path: Path, loaded: LoadedModel, say: Callable[[str], None] = lambda _: None
) -> tuple[list[Encoded], _Looks]:
    """Return a file's successful demonstrations as the model reads them, and what its eyes make of their pictures.

    Args:
        path: What `pilot data` or `pilot chat` wrote.
        loaded: The pilot.
        say: Told how far it is, now and then.

    Returns:
        Conversations in the file's order, and `[tokens, D]` by a picture's name.

    Raises:
        ConfigError: The file, or a picture, cannot be read.
        ModelError: A conversation cannot be encoded.
    """
    made = {_digest(each): each for each in read_data(path)}
    kept, mark = path.with_suffix(".prepared.safetensors"), _mark(loaded)
    encoded, looks = _read(kept, mark)
    missing = [key for key in made if key not in encoded]
    open_one = functools.lru_cache(_OPEN)(functools.partial(open_picture, pictures_of(path)))
    for number, key in enumerate(missing, start=1):
        encoded[key] = encode(made[key], loaded, open_one)
        if number % _EVERY == 0:
            say(f"{path.name}: encoded {number} of {len(missing)} demonstrations")
    found = {key: encoded[key] for key in made}
    unseen = {name for each in found.values() for name, _ in each.pictures} - looks.keys()
    looks |= look_at(loaded, pictures_of(path), unseen, lambda line: say(f"{path.name}: {line}"))
    if missing or unseen:
        _write(kept, mark, found, looks)
    return list(found.values()), looks


def _digest(made: Demonstration) -> str:
    return hashlib.sha256(made.to_line().encode()).hexdigest()[:32]


def _mark(loaded: LoadedModel) -> str:
    """What the result depends on beside the demonstrations: tokenizer, template, and all of the model but its text."""
    digest = hashlib.sha256(loaded.tokenizer.backend_tokenizer.to_str().encode())
    digest.update(str(loaded.tokenizer.chat_template).encode())
    for name, value in sorted(loaded.model.state_dict().items()):
        if "language_model" not in name and "lm_head" not in name:
            digest.update(name.encode() + value.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _read(path: Path, mark: str) -> tuple[dict[str, Encoded], _Looks]:
    """What was kept, or nothing where it was made otherwise or is no such file."""
    if not path.is_file():
        return {}, {}
    try:
        with safe_open(path, "pt") as file:
            about: dict[str, Any] = json.loads((file.metadata() or {})["about"])
            if about["mark"] != mark:
                return {}, {}
            lengths = [each["length"] for each in about["episodes"].values()]
            ids = file.get_tensor("ids").long().split(lengths)
            learned = file.get_tensor("learned").bool().split(lengths)
            looks = file.get_tensor("looks").split(about["tokens"]) if about["tokens"] else ()
    except (SafetensorError, ValueError, KeyError):
        return {}, {}
    encoded = {
        key: Encoded(ids[at], learned[at], tuple((name, tuple(places)) for name, places in each["pictures"]))
        for at, (key, each) in enumerate(about["episodes"].items())
    }
    return encoded, dict(zip(about["names"], looks, strict=True))


def _write(path: Path, mark: str, encoded: dict[str, Encoded], looks: _Looks) -> None:
    about = {
        "mark": mark,
        "episodes": {key: {"length": len(each.ids), "pictures": each.pictures} for key, each in encoded.items()},
        "names": list(looks),
        "tokens": [len(each) for each in looks.values()],
    }
    tensors = {
        "ids": _joined((each.ids for each in encoded.values()), torch.int32),
        "learned": _joined((each.learned for each in encoded.values()), torch.uint8),
        "looks": torch.cat(list(looks.values())) if looks else torch.zeros(0),
    }
    temporary = path.with_name(f".{path.name}")
    save_file(tensors, temporary, metadata={"about": json.dumps(about)})
    temporary.replace(path)


def _joined(rows: Iterable[torch.Tensor], kind: torch.dtype) -> torch.Tensor:
    found = list(rows)
    return torch.cat(found).to(kind) if found else torch.zeros(0, dtype=kind)
