"""Benchmarks of others: files `envs/<name>.py` that bring their own tasks with their own pages.

Such a file has `create_app(database, seed)` as every site does, `TITLE`, and `tasks()`: one object a task, as a task
file holds them. What does not come with the package is fetched by its `fetch(progress)`; until then `missing()` says
what to do. `miniwob/click-button` names one of the tasks, `miniwob/click-*` several, `miniwob` all of them.
"""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from confkv_agents import plugins
from confkv_agents.errors import PluginError, TaskError

_ALL = "*"


@dataclass(frozen=True)
class Benchmark:
    """One benchmark.

    Attributes:
        path: Its file.
    """

    path: Path

    @property
    def name(self) -> str:
        """The first part of its tasks' names."""
        return self.path.stem

    @property
    def title(self) -> str:
        """For people."""
        return str(getattr(self._module, "TITLE", self.name))

    def tasks(self, pattern: str = _ALL) -> list[dict[str, Any]]:
        """The task objects whose `task_id` fits.

        Args:
            pattern: An id, or a pattern such as `click-*`.

        Raises:
            TaskError: None fits; the message names ids like it.
            PluginError: The file gives no tasks.
        """
        objects: list[dict[str, Any]] = self._function("tasks")()
        found = [each for each in objects if fnmatch.fnmatchcase(str(each["task_id"]), pattern)]
        if not found:
            ids = [str(each["task_id"]) for each in objects]
            like = difflib.get_close_matches(pattern, ids, 3, 0.5)
            remedy = f"such as {', '.join(like)}; " if like else ""
            raise TaskError(
                f"no task {self.name}/{pattern}: give one of the {len(ids)} names, {remedy}"
                f"`confkv-agent tasks list {self.name}` shows them"
            )
        return found

    def missing(self) -> str:
        """What has to be done before its tasks can run, in words; empty when all is there."""
        return str(self._function("missing")()) if hasattr(self._module, "missing") else ""

    def fetch(self, progress: Callable[[str], None] | None = None) -> Path | None:
        """Get what does not come with the package.

        Args:
            progress: Called with a short sentence before each stage that takes time.

        Returns:
            Where it lies; None for a benchmark that needs nothing.

        Raises:
            WheelError: It cannot be had.
        """
        found: Path | None = self._function("fetch")(progress) if hasattr(self._module, "fetch") else None
        return found

    @property
    def _module(self) -> ModuleType:
        return plugins.load_module(self.path, f"envs.{self.name}")

    def _function(self, name: str) -> Callable[..., Any]:
        function = getattr(self._module, name, None)
        if not callable(function):
            raise PluginError(f"{self.path} has no function {name}, as a benchmark has")
        return function


def benchmarks() -> list[Benchmark]:
    """The benchmarks under `envs/`, by name."""
    found = (plugins.find_env(name) for name in plugins.available("envs"))
    return [Benchmark(path) for path in found if path.is_file()]


def find_benchmark(name: str) -> Benchmark:
    """The benchmark of a name.

    Raises:
        PluginError: There is none; the message lists those that exist.
    """
    have = {each.name: each for each in benchmarks()}
    if name not in have:
        raise PluginError(f"no benchmark {name!r}: give one of these names: {', '.join(have) or 'none'}")
    return have[name]


def benchmark_at(path: Path) -> tuple[Benchmark, str] | None:
    """What `plugins.find_task` gives for a benchmark's tasks: the benchmark and the pattern of their ids.

    Args:
        path: A benchmark's file for all its tasks, or the file with an id or a pattern behind it.

    Returns:
        None for a path of anything else.
    """
    for file, pattern in ((path, _ALL), (path.parent, path.name)):
        if file.suffix == ".py" and file.is_file():
            return Benchmark(file), pattern
    return None
