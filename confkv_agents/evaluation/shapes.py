"""What must be in the records that are read back, so that whatever reads them finds what it looks for.

Files may be edited or damaged between runs: valid JSON is not yet a record. Fields that newer versions add get their
defaults in older records, and fields that nobody here knows are left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Annotated, Any, NotRequired, Optional, get_type_hints

from pydantic import AfterValidator, Strict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from confkv_agents.errors import RecordError
from confkv_agents.evaluation.records import BATCH_SCHEMA, EPISODE_SCHEMA, RUN_SCHEMA, EpisodeResult, StepRecord


def _all_of(*names: str) -> AfterValidator:
    """An object that is empty or has these fields."""

    def check(value: dict[str, Any]) -> dict[str, Any]:
        missing = [name for name in names if value and name not in value]
        if missing:
            raise ValueError(f"field {missing[0]!r} is missing")
        return value

    return AfterValidator(check)


_Range = Annotated[dict[str, float], _all_of("min", "mean", "max")]
_Text = str | None
_MORE = {  # more narrow than the fields' types in the code
    "budget": _Range | None,
    "confidence": _Range | None,
    "pictures": list[Annotated[dict[str, Any], _all_of("file", "alt", "element")]],
    "target": Annotated[dict[str, Any], _all_of("role", "name")] | None,
}


def _of_dataclass(kind: type, **others: Any) -> Any:
    hints = get_type_hints(kind) | _MORE
    found: dict[str, Any] = {}
    for field in fields(kind):
        required = field.default is MISSING and field.default_factory is MISSING
        found[field.name] = hints[field.name] if required else NotRequired[hints[field.name]]
    return _strict(kind.__name__, found | others)


def _strict(name: str, of: dict[str, Any]) -> Any:
    return with_config(strict=True, extra="allow")(TypedDict(name, of))  # type: ignore[operator]


_STEP = _of_dataclass(StepRecord, seconds=NotRequired[Annotated[dict[str, float], _all_of("model", "environment")]])
_SECONDS = NotRequired[Annotated[dict[str, float], _all_of("total", "model", "environment")]]
_CHECK: Any = _strict("Check", {"ok": bool, "name": _Text})
_CHECKS: Any = list[_CHECK]
_RESULT = _of_dataclass(EpisodeResult, stop_reason=str, seconds=_SECONDS, checks=NotRequired[_CHECKS])
_ROW = _of_dataclass(
    EpisodeResult, stop_reason=str, seconds=_SECONDS, checks=NotRequired[_CHECKS], episode=str, task_sha256=str
)
_TOKEN = list[float | None]
_NAMES = list[str]
_TASK: dict[str, Any] = {
    "key": str,
    "intent": str,
    "sites": _NAMES,
    "start_urls": _NAMES,
    "images": NotRequired[_NAMES],
}
_DETAILS = _strict("Details", {"remarks": NotRequired[_NAMES], "left_out": NotRequired[_NAMES]})
_HEAD = {"status": str, "started": str, "ended": _Text, "configuration": dict[str, Any], "configuration_hash": str}
_SHAPES: dict[str, Any] = {
    RUN_SCHEMA: _strict(
        "Run",
        {
            **_HEAD,
            "run": str,
            "episodes": _NAMES,
            "details": _DETAILS,
            "files": dict[str, Any],
            "versions": dict[str, Any],
        },
    ),
    EPISODE_SCHEMA: _strict(
        "Episode",
        {
            **_HEAD,
            "episode": str,
            "run": str,
            "seed": int,
            "task": _strict("Task", {**_TASK, "source": _Text, "sha256": _Text, "dialect": _Text}),
            "result": Optional[_RESULT],  # noqa: UP045  (a TypedDict that is made here has no `|`)
            "traceback": _Text,
        },
    ),
    BATCH_SCHEMA: _strict(
        "Batch",
        {
            **_HEAD,
            "details": _DETAILS,
            "versions": dict[str, Any],
            "policies": dict[str, _strict("Policy", {"folder": str})],  # type: ignore[misc]
            "tasks": dict[str, _strict("Facts", {"sites": _NAMES, "kinds": _NAMES, "length": str})],  # type: ignore[misc]
            "asked": list[Annotated[tuple[str, int, str], Strict(False)]],
        },
    ),
    "episodes.jsonl": _ROW,
    "steps.jsonl": _STEP,
    "trace.jsonl": _strict("Tokens", {"step": int, "tokens": list[_TOKEN]}),
    "items.jsonl": _strict("Item", {"key": str}),
}
_DEFAULTS = {"episodes.jsonl": EpisodeResult, "steps.jsonl": StepRecord}


def check_shape(value: Any, kind: str, where: str, advice: str) -> dict[str, Any]:
    """Return a record with defaults for the fields that it lacks.

    Args:
        value: As read.
        kind: The schema of a record, or the name of a file of rows.
        where: File and line, for the message.
        advice: What to do about it, for the message.

    Raises:
        RecordError: A field is missing or of another type; the message names it.
    """
    try:
        _adapter(kind).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"] if not str(part).startswith(("nullable", "function-")))
        said = first["msg"].removeprefix("Value error, ")
        raise RecordError(f"{where} is damaged: {f'field {field!r}: ' if field else ''}{said}; {advice}") from None
    known = _defaults(_DEFAULTS[kind]) if kind in _DEFAULTS else {}
    if value.get("result"):
        value = {**value, "result": {**_defaults(EpisodeResult), **value["result"]}}
    return {**known, **value}


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(_SHAPES[kind])


def _defaults(kind: type) -> Mapping[str, Any]:
    made = {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(kind)
    }
    return {name: value for name, value in made.items() if value is not MISSING}
