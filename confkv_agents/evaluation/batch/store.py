"""A batch on disk: a set of runs, one per policy, that the same command continues.

```
<out>/eval-<hash>/batch.json                  configuration and its hash, tasks, policies, what was asked for last
<out>/eval-<hash>/<policy>/                   a run's folder, as `confkv-agent run` writes it
<out>/eval-<hash>/report.html, summary.json, episodes.csv
```

The hash is over everything that an episode's result depends on besides task, seed and policy, so that more of those
continue the set and anything else starts a new one. An episode counts once it has a row in its run's
`episodes.jsonl`, which is replaced whole: whoever is killed loses the episodes that were running.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from confkv_agents.errors import ConfigError, RecordError
from confkv_agents.evaluation.batch.kinds import kinds_of, length_of
from confkv_agents.evaluation.batch.options import NO_POLICY, Unit
from confkv_agents.evaluation.files import to_json, write_json
from confkv_agents.evaluation.recording import EpisodeRecorder, RunRecorder
from confkv_agents.evaluation.records import BATCH_SCHEMA, Status, read_record, read_rows, slug, versions

if TYPE_CHECKING:
    from filelock import BaseFileLock

    from confkv_agents.cache import CacheConfig
    from confkv_agents.web.tasks import Task

BATCH_FILE = "batch.json"
Row = dict[str, Any]


class BatchStore:
    """Owns a set's folder while a command works on it; a context manager.

    Args:
        out: Folder that holds the sets.
        identity: Everything that decides the results besides task, seed and policy; hashed.
        policies: Cache configuration by label; None for an agent that uses no model.
        configure: The configuration that the record of a policy's run holds, by label.
        details: What else is worth keeping.
        files: Files or folders whose hashes pin the runs.

    Raises:
        RecordError: The folder cannot be made or read.
        ConfigError: Another process works on it.
    """

    def __init__(
        self,
        out: Path,
        *,
        identity: Mapping[str, Any],
        policies: Mapping[str, CacheConfig | None],
        configure: Callable[[str], Mapping[str, Any]],
        details: Mapping[str, Any] | None = None,
        files: Mapping[str, Path] | None = None,
    ) -> None:
        self.identity = dict(identity)
        self.hash = hashlib.sha256(to_json({key: identity[key] for key in sorted(identity)}).encode()).hexdigest()
        self.directory = Path(out) / f"eval-{self.hash[:8]}"
        self.policies = dict(policies)
        self._configure, self._details, self._files = configure, dict(details or {}), dict(files or {})
        self._runs: dict[str, RunRecorder] = {}
        self._content: dict[str, Any] = {}
        self._lock: BaseFileLock | None = None

    def __enter__(self) -> Self:
        """Take the folder: make it or continue it."""
        from filelock import FileLock, Timeout

        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.directory / ".lock")
            lock.acquire(timeout=0)
        except Timeout:
            raise ConfigError(
                f"another process works on {self.directory}; wait for it, or give another --out"
            ) from None
        except OSError as error:
            raise RecordError(f"cannot make the folder {self.directory}: {error.strerror or error}") from error
        self._lock = lock
        path = self.directory / BATCH_FILE
        before = read_record(path, BATCH_SCHEMA) if path.is_file() else {}
        named = before.get("policies", {})
        for label, config in self.policies.items():
            named[label] = {"folder": _folder(label), "config": None if config is None else asdict(config)}
        self._content = {
            "schema": BATCH_SCHEMA,
            "status": "running",
            "process": os.getpid(),
            "started": before.get("started", _now()),
            "ended": None,
            "configuration": self.identity,
            "configuration_hash": self.hash,
            "details": self._details,
            "versions": versions(),
            "policies": named,
            "tasks": before.get("tasks", {}),
            "asked": [],
        }
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.release()

    def plan(self, units: Sequence[Unit]) -> None:
        """Record what is asked for, before any of it is played."""
        for unit in units:
            self._content["tasks"][_task_id(unit.key)] = _task_facts(unit.task)
        self._content["asked"] = [[_task_id(unit.key), unit.seed, unit.policy] for unit in units]
        write_json(self.directory / BATCH_FILE, self._content)
        for label in {unit.policy for unit in units}:
            self._runs[label] = RunRecorder(
                self.directory,
                configuration=self._configure(label),
                details=self._details,
                files=self._files,
                folder=_folder(label),
            )

    def episode(self, unit: Unit, before_finish: Callable[[], None]) -> EpisodeRecorder:
        """Begin the record of one episode."""
        return self._runs[unit.policy].episode(unit.task, unit.seed, before_finish)

    def finish(self, status: Status) -> None:
        """Close the records."""
        for run in self._runs.values():
            run.finish(status)
        self._content.update(status=status, ended=_now())
        write_json(self.directory / BATCH_FILE, self._content)


def read_set(folder: Path) -> tuple[dict[str, Any], list[Row]]:
    """Read a set: its record, and a row per episode with what is known of its task.

    An episode that was tried several times has the row of its last try, and `attempts`.

    Raises:
        RecordError: The folder holds no set, or a record is broken.
    """
    content = read_record(folder / BATCH_FILE, BATCH_SCHEMA)
    labels = list(content["policies"])
    found: dict[tuple[Any, ...], Row] = {}
    for label, policy in content["policies"].items():
        for row in read_rows(folder / policy["folder"] / "episodes.jsonl"):
            key = (row["task"], row["task_sha256"], row["seed"], label)
            attempts = found[key]["attempts"] + 1 if key in found else 1
            facts = content["tasks"].get(_task_id(key), {})
            found[key] = {
                "policy": label,
                **row,
                "sites": facts.get("sites", []),
                "kinds": facts.get("kinds", []),
                "length": facts.get("length", "unknown"),
                "attempts": attempts,
                "link": f"{policy['folder']}/{row['episode']}/report.html",
            }
    order = {task: place for place, task in enumerate(content["tasks"])}
    ordered = sorted(
        found.items(),
        key=lambda entry: (order.get(_task_id(entry[0]), len(order)), entry[0][2], labels.index(entry[0][3])),
    )
    return content, [row for _, row in ordered]


def asked_keys(content: Mapping[str, Any]) -> list[tuple[str, int, str]]:
    """What was asked for last: task (as in `tasks` of the record), seed, policy."""
    return [(task, seed, policy) for task, seed, policy in content["asked"]]


def row_key(row: Mapping[str, Any]) -> tuple[str, int, str]:
    """The same of a row."""
    return _task_id((row["task"], row["task_sha256"])), row["seed"], row["policy"]


def _task_id(key: Sequence[Any]) -> str:
    return f"{key[0]}@{key[1][:12]}"


def _task_facts(task: Task) -> dict[str, Any]:
    return {
        "key": task.key,
        "sha256": task.sha256,
        "intent": task.intent,
        "sites": list(task.sites),
        "kinds": kinds_of(task),
        "length": length_of(task),
    }


def _folder(label: str) -> str:
    """A policy's folder; settings may differ in characters that no folder's name should have."""
    if label == NO_POLICY:
        return "episodes"
    return slug(label) if ":" not in label else f"{slug(label)}-{hashlib.sha256(label.encode()).hexdigest()[:4]}"


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
