"""Writes a run's records as it goes; what they are is told in `records`."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from confkv_agents.errors import RecordError
from confkv_agents.evaluation.files import append_json_line, sha256_of, to_json, write_bytes, write_json
from confkv_agents.evaluation.records import (
    CACHE_TRACE,
    EPISODE_SCHEMA,
    RUN_SCHEMA,
    EpisodeResult,
    Status,
    StepRecord,
    read_record,
    redacted,
    slug,
    versions,
)

if TYPE_CHECKING:
    from confkv_agents.cache import Trace
    from confkv_agents.web.tasks import Task


class RunRecorder:
    """Owns a run's folder.

    Args:
        out: Folder that holds the runs; made if missing.
        configuration: Everything that decides the results besides task and seed; hashed for resuming.
        details: What else is worth keeping (how it was shown, where it ran).
        files: Files or folders whose hashes pin the run, by a name of the caller's.
        name: Appended to the time in the run's id.
        folder: Name of the run's folder, in place of one made of time and name; a run that is there is continued.

    Raises:
        RecordError: The folder cannot be made, or holds a run of another configuration.
    """

    def __init__(
        self,
        out: Path,
        *,
        configuration: Mapping[str, Any],
        details: Mapping[str, Any] | None = None,
        files: Mapping[str, Path] | None = None,
        name: str = "",
        folder: str | None = None,
    ) -> None:
        self.configuration = redacted(dict(configuration))
        self.configuration_hash = hashlib.sha256(to_json(self.configuration).encode()).hexdigest()
        self._lock = threading.Lock()
        before: dict[str, Any] = {}
        if folder is None:
            self.directory = _new_folder(Path(out), slug(f"{time.strftime('%Y%m%d-%H%M%S')}-{name}"))
        else:
            self.directory = Path(out) / folder
            before = self._continued()
        self._content: dict[str, Any] = {
            "schema": RUN_SCHEMA,
            "run": self.directory.name,
            "status": "running",
            "process": os.getpid(),
            "started": before.get("started", _now()),
            "ended": None,
            "configuration": self.configuration,
            "configuration_hash": self.configuration_hash,
            "details": redacted(dict(details or {})),
            "versions": versions(),
            "files": {key: sha256_of(path) for key, path in (files or {}).items()},
            "episodes": before.get("episodes", []),
        }
        self._write()

    def episode(self, task: Task, seed: int, before_finish: Callable[[], None] | None = None) -> EpisodeRecorder:
        """Begin the record of one episode, in a folder of its own.

        Args:
            task: What is played.
            seed: Of the sites.
            before_finish: Called before a result is kept; what it raises keeps it from being so.
        """
        with self._lock:
            directory = _new_folder(self.directory, slug(f"{task.key}-seed{seed}"))
            self._content["episodes"].append(directory.name)
            self._write()
        return EpisodeRecorder(self, directory, task, seed, before_finish)

    def _continued(self) -> dict[str, Any]:
        """Take a folder that may hold a run; its record, and a killed process's episodes marked as interrupted."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordError(f"cannot make the folder {self.directory}: {error.strerror or error}") from error
        if not (self.directory / "run.json").is_file():  # new, or its maker was killed before it wrote anything
            return {}
        before = read_record(self.directory / "run.json", RUN_SCHEMA)
        if before["configuration_hash"] != self.configuration_hash:
            raise RecordError(f"{self.directory} holds a run of another configuration; give another folder")
        for path in self.directory.glob("*/episode.json"):
            record = read_record(path, EPISODE_SCHEMA)
            if record["status"] == "running":
                write_json(path, {**record, "status": "interrupted"})
        return before

    def finish(self, status: Status = "finished") -> None:
        """Close the run's record."""
        self._content.update(status=status, ended=_now())
        self._write()

    def _write(self) -> None:
        write_json(self.directory / "run.json", self._content)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish(_status_of(kind))


class EpisodeRecorder:
    """Owns an episode's folder; `RunRecorder.episode` makes it."""

    def __init__(
        self,
        run: RunRecorder,
        directory: Path,
        task: Task,
        seed: int,
        before_finish: Callable[[], None] | None = None,
    ) -> None:
        self.run = run
        self.directory = directory
        self._before_finish = before_finish or (lambda: None)
        self._cache_trace: Trace | None = None
        self._content: dict[str, Any] = {
            "schema": EPISODE_SCHEMA,
            "episode": directory.name,
            "run": run.directory.name,
            "status": "running",
            "started": _now(),
            "ended": None,
            "task": {
                "key": task.key,
                "intent": task.intent,
                "sites": list(task.sites),
                "start_urls": redacted(list(task.start_urls)),
                "source": Path(task.source).name if task.source else None,
                "sha256": task.sha256,
                "dialect": task.dialect,
                "images": [self._task_picture(task, number) for number in range(1, len(task.images) + 1)],
            },
            "seed": seed,
            "configuration": run.configuration,
            "configuration_hash": run.configuration_hash,
            "result": None,
            "traceback": None,
        }
        self._write()

    def _task_picture(self, task: Task, number: int) -> str:
        """Keep a picture that belongs to the task's goal; of one that is no file there, an address say, the name."""
        given = task.images[number - 1]
        path = task.beside(given) if "://" not in given else None
        if path is None or not path.is_file():
            return given
        name = f"task-{number}{path.suffix}"
        write_bytes(self.directory / name, path.read_bytes())
        return name

    def asked(self, intent: str) -> None:
        """Keep what the site asks for, in place of what the task file says."""
        self._content["task"]["intent"] = intent
        self._write()

    def picture(self, name: str, png: bytes) -> str:
        """Keep a screenshot; returns the file's name for the step's record."""
        write_bytes(self.directory / name, png)
        return name

    def step(
        self, record: StepRecord, trace: list[Any] | None = None, cache_trace: list[dict[str, Any]] | None = None
    ) -> None:
        """Keep one step.

        Args:
            record: The step.
            trace: What each decoded token had: `[confidence, budget, kv_bytes]`.
            cache_trace: What the cache did: the fields of a `StepTrace` each.
        """
        append_json_line(self.directory / "steps.jsonl", record)
        if trace:
            append_json_line(self.directory / "trace.jsonl", {"step": record.index, "tokens": trace})
        if cache_trace:
            self._add_to_cache_trace(cache_trace)

    def _add_to_cache_trace(self, steps: list[dict[str, Any]]) -> None:
        from confkv_agents.cache import CacheConfig, StepTrace, Trace

        if self._cache_trace is None:
            known = self.run.configuration
            given = {name: known[name] for name in ("policy", "budget") if known.get(name)}
            config = CacheConfig(**given | (known.get("settings") or {}))
            self._cache_trace = Trace(model=known.get("model"), config=config, task=self._content["task"]["key"])
        self._cache_trace.extend(StepTrace(**step) for step in steps)
        self._cache_trace.write(self.directory / CACHE_TRACE)

    def finish(self, result: EpisodeResult, traceback: str | None = None) -> None:
        """Keep the result, in the episode's folder and as a row of the run's."""
        self._before_finish()
        self._content.update(status="finished", ended=_now(), result=asdict(result), traceback=traceback)
        self._write()
        row = {
            "episode": self.directory.name,
            **asdict(result),
            "intent": self._content["task"]["intent"],
            "configuration_hash": self.run.configuration_hash,
            "task_sha256": self._content["task"]["sha256"],
            "dialect": self._content["task"]["dialect"],
            "started": self._content["started"],
            "ended": self._content["ended"],
        }
        append_json_line(self.run.directory / "episodes.jsonl", row)

    def abandon(self, status: Status, traceback: str | None = None) -> None:
        """Close the record of an episode that has no result, such as an interrupted one."""
        self._content.update(status=status, ended=_now(), traceback=traceback)
        self._write()

    def _write(self) -> None:
        write_json(self.directory / "episode.json", self._content)


def require_writable(folder: Path) -> None:
    """Refuse a folder that cannot be written, or made, before anything is spent on what goes into it.

    Raises:
        RecordError: It or what stands in its place is a file, or may not be written.
    """
    try:
        place = folder.absolute()
    except OSError as error:
        raise RecordError(f"cannot make the folder {folder}: the current folder is gone") from error
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise RecordError(f"cannot make the folder {folder}: {place} is not a folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise RecordError(f"cannot make the folder {folder}: {place} cannot be written")


def _new_folder(parent: Path, name: str) -> Path:
    for number in range(1, 1000):
        folder = parent / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            if not folder.is_dir():
                raise RecordError(f"cannot make the folder {folder}: a file is there") from None
            continue
        except OSError as error:
            raise RecordError(f"cannot make the folder {folder}: {error.strerror or error}") from error
        return folder
    raise RecordError(f"cannot make a folder {name} in {parent}: a thousand of them exist")


def _status_of(kind: type[BaseException] | None) -> Status:
    if kind is None:
        return "finished"
    return "failed" if issubclass(kind, Exception) else "interrupted"


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
