"""What a batch is told: as arguments, or as a suite file whose values arguments override."""

from __future__ import annotations

import contextlib
import importlib.util
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confkv_agents import plugins
from confkv_agents.errors import ConfigError, ExtraMissingError, PluginError, TaskError
from confkv_agents.evaluation import preparing
from confkv_agents.evaluation.options import PlayOptions, check_seeds
from confkv_agents.paths import user_path

if TYPE_CHECKING:
    from confkv_agents.web.tasks import Task

NO_POLICY = "-"
"""Label of the one column of an agent that uses no model."""
POLICIES = "full,window,h2o,snapkv,confkv,confkv+recall"
BACKENDS = ("local", "ray")
_PATTERN = set("*?[")


@dataclass(frozen=True, kw_only=True)
class BatchOptions(PlayOptions):
    """What to run.

    Attributes:
        tasks: Files, folders, patterns such as `tasks/**/*.json`, or names such as `shop/read_sku`.
        policies: Cache policies with commas, settings after colons; not used by agents that need no model.
        seeds: Seeds of sites and sampling; None takes each task's own.
        workers: Episodes at the same time, each with a browser and sites of its own.
        attempts: How often an episode that the environment failed is tried, by one command.
        skip_unsupported: Leave out tasks that cannot be scored here or that the agent cannot play.
        backend: Where workers are: `local`, threads of this process, or `ray`, processes of a Ray cluster.
        ray_address: Of a Ray cluster that runs already, `host:port` or `auto`; None starts one on this machine.
        ray_cpus: Processors that a worker takes of the cluster.
        ray_gpus: GPUs that a worker takes of the cluster; a share such as 0.5 puts two workers on one.
    """

    tasks: tuple[str, ...]
    policies: str = POLICIES
    seeds: tuple[int, ...] | None = None
    workers: int = 1
    attempts: int = 3
    skip_unsupported: bool = False
    backend: str = "local"
    ray_address: str | None = None
    ray_cpus: float = 1.0
    ray_gpus: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        super().__post_init__()
        if not self.tasks:
            raise ConfigError("no task is given; pass --tasks 'tasks/**/*.json' or a suite file")
        for name in ("workers", "attempts"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; pass 1 or more")
        if self.seeds is not None and (not self.seeds or len(set(self.seeds)) != len(self.seeds)):
            raise ConfigError("seeds names none, or one twice; pass for example 0,1")
        check_seeds(self.seeds or ())
        self._check_backend()

    def _check_backend(self) -> None:
        if self.backend not in BACKENDS:
            raise ConfigError(f"there is no backend {self.backend!r}; there are: {', '.join(BACKENDS)}")
        if not 0 < self.ray_cpus < math.inf or not 0 <= self.ray_gpus < math.inf:
            raise ConfigError("ray_cpus must be above 0, and ray_gpus 0 or more")
        if self.backend == "local":
            if (self.ray_address, self.ray_cpus, self.ray_gpus) != (None, 1.0, 0.0):
                raise ConfigError("ray_address, ray_cpus and ray_gpus are of the backend ray; pass --backend ray")
            return
        if self.pages_of is not None:
            raise ConfigError("--pages-of works on this machine; leave it out with --backend ray")
        if self.headed:
            raise ConfigError("--headed shows windows of this machine; leave it out with --backend ray")
        if (self.ray_address or "").startswith("ray://"):
            raise ConfigError(
                f"the address {self.ray_address} is of a Ray client; run the command on a machine of the cluster with "
                "--ray-address auto, or give host:port"
            )
        if importlib.util.find_spec("ray") is None:
            raise ExtraMissingError("--backend ray needs Ray, which is not installed: pip install 'confkv-agents[ray]'")


@dataclass(frozen=True)
class Unit:
    """One episode to play.

    Attributes:
        task: The task.
        seed: Of its sites.
        policy: Label of the policy, or "-" for an agent that uses no model.
    """

    task: Task
    seed: int
    policy: str

    @property
    def key(self) -> tuple[str, str, int, str]:
        """What makes it the same episode in another process: task, its file's hash, seed, policy."""
        return self.task.key, self.task.sha256, self.seed, self.policy

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.task.key} seed {self.seed}" + ("" if self.policy == NO_POLICY else f" {self.policy}")


def read_suite(path: Path) -> dict[str, Any]:
    """Read a suite file: fields of `BatchOptions` in TOML; paths of tasks are looked for beside it first.

    Raises:
        ConfigError: It cannot be read, is no TOML, or has a key or a value that is none.
    """
    path = user_path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the suite file {path} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"the suite file {path} is no TOML: {error}") from error
    known = {field.name for field in fields(BatchOptions)}
    for key, value in content.items():
        if key not in known:
            raise ConfigError(f"{path}: unknown key {key!r}; known: {', '.join(sorted(known))}")
        content[key] = _suite_value(path, key, value)
    return content


def _suite_value(path: Path, key: str, value: Any) -> Any:
    """Check a value's type against the field's, so that a mistake names the file and the key."""
    if key == "tasks":
        entries = [value] if isinstance(value, str) else value
        if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
            raise ConfigError(f"{path}: tasks must be a list of texts")
        return tuple(_beside(path.parent, entry) for entry in entries)
    if key == "policies":
        return ",".join(value) if isinstance(value, list) and all(isinstance(each, str) for each in value) else value
    if key == "seeds":
        if not isinstance(value, list) or not all(type(each) is int for each in value):
            raise ConfigError(f"{path}: seeds must be a list of whole numbers")
        return tuple(value)
    if key == "allow_hosts":
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise ConfigError(f"{path}: allow_hosts must be a list of texts")
        return tuple(value)
    if key == "out":
        return Path(str(value))
    kinds: dict[str, tuple[type, ...]] = {
        **dict.fromkeys(("agent", "model", "dialect", "pictures", "judge", "visual_judge", "shop_token"), (str,)),
        **dict.fromkeys(("backend", "ray_address", "offload_folder", "pages_of"), (str,)),
        "device_map": (str, dict),
        **dict.fromkeys(("headed", "trace", "skip_unsupported"), (bool,)),
        **dict.fromkeys(("budget", "max_steps", "max_tokens", "page_tokens", "workers", "attempts"), (int,)),
        **dict.fromkeys(("timeout", "ray_cpus", "ray_gpus"), (int, float)),
        "sites": (dict,),
    }
    wanted = kinds[key]
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        raise ConfigError(f"{path}: {key} is {value!r}; give {' or '.join(kind.__name__ for kind in wanted)}")
    return value


def _beside(folder: Path, entry: str) -> str:
    path = folder / entry
    return str(path) if path.exists() or (_PATTERN & set(entry) and _glob(path)) else entry


def batch_tasks(options: BatchOptions) -> list[Task]:
    """Load every task that the options name, each once, in the order given.

    Raises:
        ConfKVError: A name or pattern fits nothing, or a file is wrong.
    """
    files: dict[Path, None] = {}
    for entry in options.tasks:
        files |= dict.fromkeys(task_files(entry))
    return [task for path in files for task in preparing.read_tasks(path, options)]


def task_files(entry: str) -> list[Path]:
    """The task files that an entry means: a pattern's, a folder's, or one.

    Raises:
        ConfKVError: It means none.
    """
    installed = plugins.data_dir("tasks")
    if _PATTERN & set(entry):
        inside = entry.removeprefix("tasks/")
        found = _glob(user_path(entry)) or ([] if Path(entry).is_absolute() else _glob(installed / inside))
        if not found:
            with contextlib.suppress(PluginError):  # a pattern of a benchmark's names
                return [plugins.find_task(entry)]
            raise TaskError(f"--tasks {entry!r} fits no file; quote the pattern, or name tasks: see `tasks list`")
        return found
    for folder in (user_path(entry), installed / entry):
        if entry and folder.is_dir():
            found = sorted(folder.rglob("*.json"))
            if not found:
                raise TaskError(f"{folder}: no *.json below this folder")
            return found
    return [plugins.find_task(entry)]


def _glob(pattern: Path) -> list[Path]:
    parts = pattern.parts
    first = next((place for place, part in enumerate(parts) if _PATTERN & set(part)), len(parts) - 1)
    root = Path(*parts[:first]) if first else Path()
    return sorted(path.resolve() for path in root.glob(str(Path(*parts[first:]))) if path.is_file())


def merged(suite: Mapping[str, Any], given: Mapping[str, Any]) -> BatchOptions:
    """Options of a suite file with those given on top; None is not given.

    Raises:
        ConfigError: A value cannot be meant, or no task is named.
    """
    values = {**suite, **{key: value for key, value in given.items() if value is not None}}
    return BatchOptions(**{"tasks": (), **values})
