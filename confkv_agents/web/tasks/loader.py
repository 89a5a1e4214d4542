"""Reads task files and refuses bad ones with file and field, before anything starts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from confkv_agents.errors import TaskError
from confkv_agents.paths import user_path
from confkv_agents.web.benchmarks import benchmark_at
from confkv_agents.web.sites import installed_sites
from confkv_agents.web.tasks.dialects import DIALECTS, Dialect
from confkv_agents.web.tasks.models import PLACEHOLDER, PUBLIC_SITES, Task

# JSON's own words, for what pydantic and Python name otherwise.
_KINDS = {str: "a text", int: "a number", float: "a number", bool: "true or false", type(None): "null", list: "a list"}
_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is no known field",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "union_tag_not_found": "must be an object that names its action",
}


def load_tasks(path: str | Path, dialect: Dialect = "vwa", *, sites: Iterable[str] | None = None) -> list[Task]:
    """Read one task, an array of tasks, every `*.json` below a folder, or tasks of a benchmark.

    Placeholders stay in place; `Task.resolved` replaces them once the sites run. What a task needs to be run and
    scored is in `Task.needs`.

    Args:
        path: File or folder, or what `plugins.find_task` gives for a benchmark's tasks.
        dialect: Whose meaning of the fields holds, see `confkv_agents.web.tasks.dialects`.
        sites: Site names beyond the public ones and the installed ones.

    Raises:
        TaskError: The file is missing, is no JSON (line and column are named), or a field is wrong (named
            with what it may be); an unknown site, placeholder, evaluator, locator form or helper counts as
            wrong.
    """
    if dialect not in DIALECTS:
        raise TaskError(f"unknown dialect {dialect!r}: use one of {', '.join(DIALECTS)}")
    path = user_path(path)
    if path.is_dir():
        files = sorted(path.rglob("*.json"), key=_natural)
        if not files:
            raise TaskError(f"{path}: no *.json below this folder")
        return [task for file in files for task in load_tasks(file, dialect, sites=sites)]
    placeholders = dict(PUBLIC_SITES)
    for info in installed_sites().values():
        placeholders |= dict.fromkeys(info.names, info.placeholder)
    placeholders |= {name: f"__{name.upper()}__" for name in sites or () if name not in placeholders}
    if (found := benchmark_at(path)) is not None:
        benchmark, pattern = found
        sha256 = hashlib.sha256(benchmark.path.read_bytes()).hexdigest()
        return list(_read_objects(benchmark.tasks(pattern), benchmark.path, sha256, True, dialect, placeholders))
    return list(_read_file(path, dialect, placeholders))


def _natural(path: Path) -> tuple[str, int, str]:
    return (str(path.parent), int(path.stem) if path.stem.isdigit() else -1, path.stem)


def _read_file(path: Path, dialect: str, placeholders: dict[str, str]) -> Iterator[Task]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TaskError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        content = json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise TaskError(f"{path}: line {error.lineno}, column {error.colno}: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise TaskError(f"{path}: is not UTF-8 (byte {error.start})") from None
    except RecursionError:
        raise TaskError(f"{path}: is nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits
        raise TaskError(f"{path}: {error}") from None
    many = isinstance(content, list)
    objects = content if isinstance(content, list) else [content]
    if not objects:
        raise TaskError(f"{path}: holds no task; an array of tasks needs one at least")
    yield from _read_objects(objects, path, hashlib.sha256(data).hexdigest(), many, dialect, placeholders)


def _read_objects(
    objects: list[Any], path: Path, sha256: str, many: bool, dialect: str, placeholders: dict[str, str]
) -> Iterator[Task]:
    known_sites = frozenset(placeholders)
    for index, raw in enumerate(objects):
        prefix = f"{path}: [{index}]" if many else f"{path}:"
        if not isinstance(raw, dict):
            raise TaskError(f"{prefix} a task is a JSON object, not {_KINDS[type(raw)]}")
        for field, text in _texts(raw):
            for found in PLACEHOLDER.findall(text):
                if found not in placeholders.values():
                    known = ", ".join(sorted(set(placeholders.values())))
                    raise TaskError(f"{prefix} {field}: unknown placeholder {found}; known: {known}")
        try:
            yield Task.read(raw, dialect, path, sha256, many, known_sites)
        except ValidationError as error:
            raise TaskError(f"{prefix} {explain(error)}") from None


def _texts(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a task with its field."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, f"{where}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, f"{where}.{key}" if where else str(key))


def _in_words(problem: Mapping[str, Any]) -> str:
    """One problem in the words of a task file's writer."""
    context = problem.get("ctx", {})
    if problem["type"] == "union_tag_invalid":
        what = context["discriminator"].strip("'")
        return f"unknown {what} {context['tag']!r}; known: {context['expected_tags']}"
    if problem["type"] in ("too_short", "string_too_short") and context["min_length"] == 1:
        return "may not be empty"
    return _WORDS.get(problem["type"], problem["msg"].removeprefix("Value error, "))


def explain(error: ValidationError) -> str:
    """What is wrong with an object, field by field, in one line."""
    lines = []
    for problem in error.errors()[:5]:
        field = ""
        for part in problem["loc"]:
            field += f"[{part}]" if isinstance(part, int) else f".{part}" if field else str(part)
        lines.append(f"{field or 'the object'}: {_in_words(problem)}")
    more = error.error_count() - len(lines)
    return "; ".join(lines) + (f"; and {more} more" if more > 0 else "")
