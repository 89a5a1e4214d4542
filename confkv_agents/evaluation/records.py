"""What a run leaves on disk: one folder per run, one per episode, JSON and PNG only.

```
<out>/<run-id>/run.json                  configuration and its hash, versions, file hashes, status
<out>/<run-id>/episodes.jsonl            one row per finished episode
<out>/<run-id>/<episode>/episode.json    task, status and, once known, the result
<out>/<run-id>/<episode>/steps.jsonl     one row per step
<out>/<run-id>/<episode>/step-001.png    what the agent saw before step 1; final.png what it left
<out>/<run-id>/<episode>/step-001-marked.png, step-001-picture-1.png   what else it might show a model
<out>/<run-id>/<episode>/task-1.png      the task's own pictures
<out>/<run-id>/<episode>/trace.jsonl     [confidence, budget, kv_bytes] of each decoded token, a row per step
<out>/<run-id>/<episode>/cache-trace.jsonl  what the cache did at each of its steps, if asked for
```

Every file is replaced whole, so a killed run leaves valid records whose status still reads "running". An
episode that was interrupted has no row in `episodes.jsonl`: it is to be run again.
"""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from confkv_agents import __version__
from confkv_agents.errors import RecordError
from confkv_agents.evaluation.files import (
    numbered_json_lines,
    read_json,
)

if TYPE_CHECKING:
    pass

StopReason = Literal["stop", "max_steps", "parse_failures", "repeated_action", "timeout", "agent_error", "infra_error"]
Status = Literal["running", "finished", "interrupted", "failed"]

RUN_SCHEMA = "confkv-run/1"
EPISODE_SCHEMA = "confkv-episode/1"
BATCH_SCHEMA = "confkv-batch/1"
CACHE_TRACE = "cache-trace.jsonl"
_PACKAGES = ("torch", "transformers", "langchain-core", "playwright", "gymnasium", "pillow")


@dataclass(frozen=True)
class StepRecord:
    """One step: what was seen, what was decided, what came of it and what it cost.

    `screenshot`, `marked` (with the elements' numbers) and `pictures` are files beside the record; a picture of the
    page has its `file`, `alt` text and the id of the `element` it belongs to, or None.
    `target` is the element acted on (id, role, name, box in pixels of the screenshot); `refs` are the browser's
    handles of it, which outlive the ids of one observation. Token counts, byte counts, `budget` (slots) and
    `confidence` are None where no model was asked or the model does not say. `seconds` holds `model` and
    `environment`; `memory` holds `process_bytes` and `browser_bytes`.
    """

    index: int
    url: str
    action: str
    thought: str = ""
    raw: str = ""
    prompt: str = ""
    observation: str = ""
    target: dict[str, Any] | None = None
    refs: list[str] = field(default_factory=list)
    outcome: str = ""
    error: str | None = None
    parsed: bool = True
    screenshot: str | None = None
    marked: str | None = None
    pictures: list[dict[str, Any]] = field(default_factory=list)
    model_calls: int | None = None
    tokens_read: int | None = None
    tokens_reused: int | None = None
    tokens_generated: int | None = None
    kv_bytes: int | None = None
    peak_kv_bytes: int | None = None
    full_kv_bytes: int | None = None
    budget: dict[str, float] | None = None
    confidence: dict[str, float] | None = None
    finish_reason: str | None = None
    miss_at: int | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class EpisodeResult:
    """How an episode ended, and its sums and peaks over the steps.

    `success` is None when the environment failed (`stop_reason == "infra_error"`): that says nothing about
    the agent. `checks` are the evaluators' checks as plain objects.
    """

    task: str
    seed: int
    success: bool | None
    stop_reason: StopReason
    checks: list[dict[str, Any]] = field(default_factory=list)
    answer: str | None = None
    error: str | None = None
    steps: int = 0
    parse_failures: int = 0
    model_calls: int | None = None
    tokens_read: int | None = None
    tokens_reused: int | None = None
    tokens_generated: int | None = None
    peak_kv_bytes: int | None = None
    full_kv_bytes: int | None = None
    budget: dict[str, float] | None = None
    confidence: dict[str, float] | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    peak_memory: dict[str, int] = field(default_factory=dict)


def read_record(path: Path, schema: str) -> dict[str, Any]:
    """Read `run.json`, `episode.json` or `batch.json`.

    Raises:
        RecordError: It is missing, broken, of another schema, or lacks what a record of its schema has.
    """
    from confkv_agents.evaluation.shapes import check_shape

    record = read_json(path)
    found = record.get("schema") if isinstance(record, dict) else None
    if found != schema:
        raise RecordError(f"{path} has schema {found!r}, not {schema!r}: it is no record of this version")
    return check_shape(record, schema, str(path), f"restore it, or remove its folder {path.parent}")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read a file of rows that is named as runs, batches and benchmarks name theirs.

    Raises:
        RecordError: A line is damaged; the message names it.
    """
    from confkv_agents.evaluation.shapes import check_shape

    advice = f"remove the line, or the folder {path.parent}"
    return [check_shape(row, path.name, f"{path}, line {number},", advice) for number, row in numbered_json_lines(path)]


def versions() -> dict[str, str | None]:
    """Versions of what takes part, read without importing any of it."""
    found: dict[str, str | None] = {
        "confkv-agents": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processors": str(os.cpu_count()),
    }
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found


def redacted(value: Any) -> Any:
    """The same value without what URLs may carry of secrets: user names, passwords, tokens."""
    if isinstance(value, dict):
        return {key: redacted(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(entry) for entry in value]
    if isinstance(value, str) and "://" in value:
        value = re.sub(r"(\w+://)[^/@\s]*@", r"\1", value)
        return re.sub(r"(?i)([?&](?:\w*token|\w*key|password|secret)=)[^&#\s]+", r"\1***", value)
    return value


def slug(text: str) -> str:
    """A name that is safe as a folder's on any file system."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:100] or "unnamed"
