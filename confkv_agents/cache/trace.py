"""What a cache did at each step: records, and the JSON-lines file that holds them.

>>> cache.trace = Trace(config=cache.config, model="SmolLM2-135M-Instruct")
>>> model.generate(**inputs, cache=cache, logits_processor=cache.logits_processors())
>>> cache.trace.write("trace.jsonl")

The first line of a file says what was traced: `{"schema": "confkv-trace/1", "model", "policy", "config", "versions"}`;
every further line is one `StepTrace`. `confkv-agent trace FILE` summarises and draws such a file. A run too long to
keep in memory writes each step as it comes, with `TraceFile` in the place of `Trace`.
"""

from __future__ import annotations

import json
import math
import os
import platform
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from confkv_agents._version import __version__
from confkv_agents.errors import TraceError

if TYPE_CHECKING:
    from confkv_agents.cache.config import CacheConfig

SCHEMA = "confkv-trace/1"
StepKind = Literal["read", "probe", "decode"]


@dataclass(frozen=True, kw_only=True)
class StepTrace:
    """One forward through the model.

    Attributes:
        position: Tokens fed before the step.
        tokens: Tokens fed by it; a probe's tokens are taken out again.
        kind: "read" (part of a prompt), "probe" (the end of the prompt looks ahead) or "decode" (one token).
        confidence: The step's raw confidence, 0 to 1; None where nothing observed its logits.
        smoothed: The smoothed confidence that set the next budget.
        budget: Mean budget per layer in slots, full-precision equivalents.
        full: Mean tokens stored in full precision per layer and KV head, reading buffer included.
        int8: Mean tokens stored as int8 codes per layer and KV head.
        cold: Mean tokens in the cold tier per layer and KV head.
        evicted: Tokens that left the hot tiers, summed over layers and heads.
        demoted: Tokens that went from full precision to int8, summed alike.
        promoted: Tokens that came back from the cold tier, summed alike.
        recalled: Whether the step attended to the cold tier.
        kv_bytes: Bytes held by the hot tiers after the step.
        cold_bytes: Bytes held in host memory after the step.
        evicted_by_segment: `evicted` by kind of segment; empty if the session named none.
        demoted_by_segment: `demoted` by kind of segment.
    """

    position: int
    tokens: int
    kind: StepKind
    confidence: float | None = None
    smoothed: float | None = None
    budget: float = 0.0
    full: float = 0.0
    int8: float = 0.0
    cold: float = 0.0
    evicted: int = 0
    demoted: int = 0
    promoted: int = 0
    recalled: bool = False
    kv_bytes: int = 0
    cold_bytes: int = 0
    evicted_by_segment: Mapping[str, int] = field(default_factory=dict)
    demoted_by_segment: Mapping[str, int] = field(default_factory=dict)


class TraceSink(Protocol):
    """What a cache reports its steps to."""

    def add(self, record: StepTrace) -> None:
        """Take the record of a step that has just ended."""

    def amend(self, record: StepTrace) -> None:
        """Take this record in the place of the last one: more is known of that step now."""


class Trace:
    """Records in memory.

    Args:
        model: Name of the model, for the file's first line.
        config: The cache's configuration, likewise.
        facts: More to be said there, such as a task or a seed; plain JSON values.

    Attributes:
        records: The steps, in order.
        facts: What the first line says beside the schema.
        cut: The file this was read from ends within a line, as when its writer was killed; that line is left out.
    """

    def __init__(self, *, model: str | None = None, config: CacheConfig | None = None, **facts: Any) -> None:
        self.records: list[StepTrace] = []
        self.facts = trace_facts(model, config, **facts)
        self.cut = False

    def add(self, record: StepTrace) -> None:
        """Keep the record of a step."""
        self.records.append(record)

    def amend(self, record: StepTrace) -> None:
        """Keep this record in the place of the last one."""
        self.records[-1:] = [record]

    def extend(self, records: Iterable[StepTrace]) -> None:
        """Keep several."""
        self.records.extend(records)

    def write(self, path: str | Path) -> Path:
        """Write all records to a file, whole or not at all.

        Raises:
            TraceError: The file cannot be written.
        """
        path = Path(path)
        lines = [_header(self.facts), *map(_line, self.records)]
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        try:
            with part.open("x", encoding="utf-8") as stream:
                stream.writelines(lines)
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise TraceError(f"cannot write {path}: {error.strerror or error}") from error
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        return path

    def __len__(self) -> int:
        return len(self.records)

    def __deepcopy__(self, memo: dict[int, Any]) -> None:
        """Give the copy of a cache no trace: it is a cache of its own, and copying thousands of records takes time."""
        return


class TraceFile:
    """Records that go to a file one by one, each as soon as the next one comes; a context manager.

    The last record is held back until `close`, since more may become known of that step.

    Args:
        path: The file; one that exists is replaced.
        model: As for `Trace`.
        config: As for `Trace`.
        facts: As for `Trace`.

    Raises:
        TraceError: The file cannot be written, now or at a later `add`.
    """

    def __init__(
        self, path: str | Path, *, model: str | None = None, config: CacheConfig | None = None, **facts: Any
    ) -> None:
        self.path = Path(path)
        header = _header(trace_facts(model, config, **facts))
        try:
            self._stream = self.path.open("w", encoding="utf-8", buffering=1)
        except OSError as error:
            raise TraceError(f"cannot write {self.path}: {error.strerror or error}") from error
        self._last: StepTrace | None = None
        self._put(header)

    def add(self, record: StepTrace) -> None:
        """Append the record of a step."""
        self._flush()
        self._hold(record)

    def amend(self, record: StepTrace) -> None:
        """Hold this record in the place of the last one."""
        self._hold(record)

    def close(self) -> None:
        """Write the last record and close the file; more than once is no error."""
        try:
            self._flush()
        finally:
            self._stream.close()

    def _flush(self) -> None:
        if self._last is not None:
            record, self._last = self._last, None
            self._put(_line(record))

    def _hold(self, record: StepTrace) -> None:
        if self._stream.closed:
            raise TraceError(f"{self.path} was closed; open another TraceFile to go on tracing")
        self._last = record

    def _put(self, line: str) -> None:
        try:
            self._stream.write(line)
        except OSError as error:
            raise TraceError(f"cannot write {self.path}: {error.strerror or error}") from error

    def __enter__(self) -> TraceFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> None:
        """As for `Trace`."""
        return


def trace_facts(model: str | None = None, config: CacheConfig | None = None, **facts: Any) -> dict[str, Any]:
    """Return what a trace's first line says beside its schema: model, policy, configuration, versions and more."""
    import torch
    import transformers

    return {
        "model": model,
        "policy": None if config is None else config.policy,
        "config": None if config is None else asdict(config),
        "versions": {
            "confkv-agents": __version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "python": platform.python_version(),
        },
        **facts,
    }


def read_trace(path: str | Path) -> Trace:
    """Read a trace file, every line checked.

    Raises:
        TraceError: The file is missing, cannot be read, is of another schema, or a line is wrong; the message names
            file, line and field.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TraceError(f"{path} does not exist; give a file that a Trace wrote") from None
    except IsADirectoryError:
        raise TraceError(f"{path} is a folder; give a trace file in it") from None
    except UnicodeDecodeError as error:
        raise TraceError(f"{path} is not a trace: it is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror or error}") from error
    *whole, rest = text.split("\n")
    if not whole:
        raise TraceError(f"{path} is empty or ends within its first line; a trace starts with its schema")
    trace = Trace.__new__(Trace)
    trace.facts = _read_header(path, whole[0])
    trace.cut = bool(rest.strip())
    trace.records = list(_read_records(path, whole[1:]))
    return trace


def _header(facts: Mapping[str, Any]) -> str:
    return json.dumps({"schema": SCHEMA, **facts}, ensure_ascii=False, allow_nan=False) + "\n"


def _line(record: StepTrace) -> str:
    values = {name: getattr(record, name) for name in _FIELDS}  # asdict copies dictionaries deeply, which is slow
    for name, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            values[name] = None
    for name in ("evicted_by_segment", "demoted_by_segment"):
        values[name] = dict(values[name])
    return json.dumps(values, ensure_ascii=False, allow_nan=False) + "\n"


_FIELDS = tuple(each.name for each in fields(StepTrace))
_KINDS = get_args(StepKind)
_SHARES = ("confidence", "smoothed")
_COUNTS = ("position", "tokens", "evicted", "demoted", "promoted", "kv_bytes", "cold_bytes")
_MEANS = ("budget", "full", "int8", "cold")
_SEGMENTS = ("evicted_by_segment", "demoted_by_segment")


def _read_header(path: Path, line: str) -> dict[str, Any]:
    value = _parse(path, 1, line)
    schema = value.pop("schema", None)
    if schema != SCHEMA:
        found = f"its schema is {schema!r}" if schema is not None else "its first line names no schema"
        raise TraceError(f"{path}, line 1: not a trace this version reads: {found}, expected {SCHEMA!r}")
    return value


def _read_records(path: Path, lines: Iterable[str]) -> Iterator[StepTrace]:
    for number, line in enumerate(lines, start=2):
        if not line.strip():
            continue
        value = _parse(path, number, line)
        problem = _wrong_fields(value) or next(filter(None, (_problem(name, value[name]) for name in _FIELDS)), None)
        if problem is not None:
            raise TraceError(f"{path}, line {number}: {problem}")
        yield StepTrace(**value)


def _parse(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise TraceError(f"{path}, line {number}, column {error.colno}: {error.msg}") from error
    except RecursionError:
        raise TraceError(f"{path}, line {number}: nested too deeply") from None
    if not isinstance(value, dict):
        raise TraceError(f"{path}, line {number}: a JSON object was expected, got {type(value).__name__}")
    return value


def _wrong_fields(value: Mapping[str, Any]) -> str | None:
    """Which field is unknown or missing, or None."""
    unknown = sorted(set(value) - set(_FIELDS))
    if unknown:
        return f"unknown field {unknown[0]!r}"
    missing = [name for name in _FIELDS if name not in value]
    return f"field {missing[0]!r} is missing" if missing else None


def _problem(name: str, value: Any) -> str | None:
    """What is wrong with a field's value, or None."""
    shown = repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."
    if name == "kind":
        return None if value in _KINDS else f"kind is {shown}, not one of {', '.join(_KINDS)}"
    if name == "recalled":
        return None if isinstance(value, bool) else f"recalled is {shown}, not true or false"
    if name in _SHARES:
        ok = value is None or (_number(value) and 0 <= value <= 1)
        return None if ok else f"{name} is {shown}, not a number from 0 to 1 or null"
    if name in _SEGMENTS:
        ok = isinstance(value, dict) and all(map(_count, value.values()))
        return None if ok else f"{name} is {shown}, not an object of counts by segment"
    if name in _MEANS:
        return None if _number(value) and value >= 0 else f"{name} is {shown}, not a number of at least 0"
    return None if _count(value) else f"{name} is {shown}, not an integer of at least 0"


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
