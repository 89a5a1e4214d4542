"""What decides a batch's results besides task, seed and policy, and so what makes two commands continue one set."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confkv_agents import __version__
from confkv_agents.engine.named import named_model
from confkv_agents.evaluation import preparing
from confkv_agents.evaluation.agents import AgentFile
from confkv_agents.evaluation.batch.options import BatchOptions
from confkv_agents.evaluation.files import sha256_of
from confkv_agents.paths import user_path

if TYPE_CHECKING:
    from confkv_agents.web.tasks import Task

_PACKAGE = Path(preparing.__file__).parents[1]
_SAMPLE = 65536
_DIGITS = 16


def identity_of(options: BatchOptions, agent_file: AgentFile, observation: Any) -> dict[str, Any]:
    """Everything that is hashed into a set's name, versions of the code included.

    Args:
        options: As given.
        agent_file: Who plays.
        observation: How pages are shown.
    """
    found = preparing.configuration_of(options, agent_file, observation, None, options.budget)
    del found["policy"]
    return {**found, "sites": dict(options.sites), **sources_of(options, agent_file, [])}


def sources_of(options: BatchOptions, agent_file: AgentFile, tasks: Sequence[Task]) -> dict[str, Any]:
    """Hashes of the files that take part: code, agent and model, and those of tasks and their sites.

    Two machines that have the same play alike.

    Args:
        options: As given.
        agent_file: Who plays.
        tasks: Tasks whose files and sites are to be in it.
    """
    uses = agent_file.needs_model
    parts = ["web", "evaluation/episode.py", *(["cache", "engine"] if uses else [])]
    files = preparing.files_of(agent_file, tasks, options)
    return {
        "model_files": _model_files(options.model) if uses else None,
        "agent_sha256": {name: sha256_of(path)[:_DIGITS] for name, path in files.items()},
        "version": __version__,
        "sources": {part: sha256_of(_PACKAGE / part)[:_DIGITS] for part in parts},
    }


def _model_files(name: str) -> str | None:
    """Hexadecimal digits that tell models in a folder apart: sizes, and a sample of every file; None of a hub id."""
    folder = named_model(name) or user_path(name)
    if not folder.is_dir():
        return None
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        size = path.stat().st_size
        with path.open("rb") as stream:
            head = stream.read(_SAMPLE)
            stream.seek(max(0, size - _SAMPLE))
            digest.update(f"{path.name} {size}".encode() + head + stream.read(_SAMPLE))
    return digest.hexdigest()[:_DIGITS]
