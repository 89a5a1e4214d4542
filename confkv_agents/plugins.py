"""Finds and loads agents, sites and tasks: the files a user adds without touching the package.

They lie in `agents/`, `envs/` and `tasks/` of the checkout, or in the wheel under `confkv_agents/_data/`.
Code is loaded by path under a private module name; `sys.path` is never changed, so no top-level `agents` or
`envs` exists.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import re
import sys
import threading
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Literal, get_args

from confkv_agents.errors import PluginError
from confkv_agents.paths import user_path

Kind = Literal["agents", "envs", "tasks"]

_PACKAGE = Path(__file__).resolve().parent
_PREFIX = "confkv_agents._plugins"
_SITE_FILE = "site.py"
_ARTICLE = {"agent": "an", "site": "a", "task": "a"}
_MANY = 8  # names that a message may list
_LOCK = threading.RLock()


def data_dir(kind: Kind) -> Path:
    """Return the folder of the agents, sites or tasks that come with the package.

    Args:
        kind: `"agents"`, `"envs"` or `"tasks"`.

    Returns:
        The wheel's data folder where there is one, else the checkout's folder.

    Raises:
        PluginError: The kind is unknown, or the installation carries no such folder.
    """
    if kind not in get_args(Kind):
        raise PluginError(f"unknown kind of plugin {kind!r}: use one of {', '.join(get_args(Kind))}")
    for folder in (_PACKAGE / "_data" / kind, _PACKAGE.parent / kind):
        if folder.is_dir():
            return folder
    raise PluginError(f"this installation of confkv-agents carries no {kind}: install it again")


def available(kind: Kind) -> list[str]:
    """Return the names that `find_agent`, `find_env` or `find_task` resolve without a path, sorted."""
    root = data_dir(kind)
    if kind == "tasks":
        return sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.json"))
    names = {path.stem for path in root.glob("*.py") if not path.stem.startswith("_")}
    if kind == "envs":
        names |= {path.parent.name for path in root.glob(f"*/{_SITE_FILE}")}
    return sorted(names)


def find_agent(name_or_path: str | Path) -> Path:
    """Return the file of an agent, given its path or its name (`react`).

    Raises:
        PluginError: There is no such agent; the message lists those that exist.
    """
    return _find("agents", name_or_path)


def find_env(name_or_path: str | Path) -> Path:
    """Return a website's folder (it holds `site.py`) or a benchmark's file, given its path or name.

    Raises:
        PluginError: There is no such site; the message lists those that exist.
    """
    return _find("envs", name_or_path)


def find_task(name_or_path: str | Path) -> Path:
    """Return a task file, given its path or its name (`shop/buy`, `shop/buy.json`, `tasks/shop/buy.json`).

    A task of a benchmark (`miniwob/click-button`) has no file of its own: what is returned is the benchmark's file
    with the task's name behind it, which `load_tasks` reads.

    Raises:
        PluginError: There is no such task; the message lists those that exist, or of many those most like it.
    """
    return _find("tasks", name_or_path)


def load_module(path: Path, name: str) -> ModuleType:
    """Load a Python file as a module under a private name.

    The file may import its neighbours relatively (`from .database import ...` finds `database.py` in the same
    folder). A file that is already loaded is returned as it is.

    Args:
        path: The file, or a folder that holds `site.py`.
        name: Dotted name below `confkv_agents._plugins`, such as `envs.shop`; odd characters become `_`.

    Raises:
        PluginError: The file does not exist, or running it failed (the cause is chained).
    """
    path = Path(path).resolve()
    if path.is_dir():
        path = path / _SITE_FILE
    if not path.is_file():
        raise PluginError(f"cannot load {path}: no such file")
    full_name = ".".join([_PREFIX, *(re.sub(r"\W", "_", part) or "_" for part in name.split("."))])
    with _LOCK:
        loaded = sys.modules.get(full_name)
        if loaded is not None and not _is_file_of(loaded, path):
            full_name += "_" + hashlib.sha256(str(path).encode()).hexdigest()[:8]
            loaded = sys.modules.get(full_name)
        return loaded if loaded is not None else _execute(path, full_name)


def _is_file_of(module: ModuleType, path: Path) -> bool:
    return module.__file__ is not None and Path(module.__file__) == path


def _execute(path: Path, full_name: str) -> ModuleType:
    # The module is its own package whose search path is the file's folder: that makes relative imports of
    # neighbours work and keeps those neighbours private to this plugin.
    spec = importlib.util.spec_from_file_location(full_name, path, submodule_search_locations=[str(path.parent)])
    if spec is None or spec.loader is None:
        raise PluginError(f"cannot load {path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[full_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        for loaded in [key for key in sys.modules if key == full_name or key.startswith(full_name + ".")]:
            del sys.modules[loaded]
        if isinstance(error, Exception | SystemExit):
            raise PluginError(f"cannot load {path}: {type(error).__name__}: {error}") from error
        raise
    return module


def _find(kind: Kind, name_or_path: str | Path) -> Path:
    text = str(name_or_path)
    given = user_path(text or ".")
    root = data_dir(kind).resolve()
    if kind != "tasks" and text and text == given.name and not given.suffix:
        # A bare name means what is installed: code that happens to lie in the working folder must not take its place.
        found = _below(kind, root, (text,))
        if found is not None:
            return found
    if text and _fits(kind, given):
        return given.resolve()
    if text and not given.is_absolute():
        parts = PurePosixPath(given.as_posix()).parts
        for name in (parts, parts[1:]) if parts[:1] == (kind,) else (parts,):
            found = _below(kind, root, name)
            if found is not None:
                return found
    if kind == "tasks" and (found := _in_benchmark(given)) is not None:
        return found
    what = {"agents": "agent", "envs": "site", "tasks": "task"}[kind]
    remedy = f"give a path that exists or {_names_like(kind, given)}"
    if text and given.exists():
        suffix = ".json" if kind == "tasks" else ".py"
        wanted = f"a folder that holds {_SITE_FILE}" if kind == "envs" else f"a file that ends in {suffix}"
        raise PluginError(f"{text!r} is not {wanted}, as {_ARTICLE[what]} {what} is: {remedy}")
    raise PluginError(f"no {what} {text!r}: {remedy}")


def _names_like(kind: Kind, given: Path) -> str:
    """What to say of the names there are: all if they are few, else those most like the one given."""
    names = available(kind)
    if kind != "tasks" or len(names) <= _MANY:
        return f"one of these names: {', '.join(names) or 'none'}"
    wanted = given.with_suffix("") if given.name else given
    likeness = {}
    for name in names:
        pairs = ((wanted.as_posix().removeprefix("tasks/"), name), (wanted.name, name.rpartition("/")[2]))
        likeness[name] = max(difflib.SequenceMatcher(None, *pair).ratio() for pair in pairs)
    close = [name for name in sorted(names, key=lambda name: -likeness[name])[:3] if likeness[name] >= 0.6]
    every = f"`confkv-agent tasks list` shows all {len(names)} names"
    return f"a name such as {', '.join(close)} ({every})" if close else f"a name; {every}"


def _below(kind: Kind, root: Path, parts: tuple[str, ...]) -> Path | None:
    if not parts:
        return None
    path = root.joinpath(*parts)
    suffix = ".json" if kind == "tasks" else ".py"
    for candidate in (path, path.with_name(path.name + suffix)):
        if _fits(kind, candidate) and candidate.resolve().is_relative_to(root):
            return candidate.resolve()
    return None


def _in_benchmark(given: Path) -> Path | None:
    """`miniwob/click-button` where `envs/miniwob.py` is a benchmark: its file with the task's name behind it."""
    parts = PurePosixPath(given.as_posix()).parts
    parts = parts[1:] if parts[:1] == ("tasks",) else parts
    if given.is_absolute() or not 1 <= len(parts) <= 2:
        return None
    file = data_dir("envs").resolve() / f"{parts[0]}.py"
    return file.joinpath(*parts[1:]) if _fits("envs", file) and not parts[0].startswith("_") else None


def _fits(kind: Kind, path: Path) -> bool:
    if kind == "envs" and path.is_dir():
        return (path / _SITE_FILE).is_file()
    return path.is_file() and path.suffix == (".json" if kind == "tasks" else ".py")
