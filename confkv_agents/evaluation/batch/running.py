"""A batch from names and numbers to a report: everything is checked first, then what is missing is played."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confkv_agents.engine.named import named_model
from confkv_agents.errors import ConfigError, ConfKVError
from confkv_agents.evaluation import preparing
from confkv_agents.evaluation.agents import Agent, AgentFile, open_agent
from confkv_agents.evaluation.batch.backends import Backend, LocalBackend, Station
from confkv_agents.evaluation.batch.callbacks import BatchCallback, BatchInfo, tell
from confkv_agents.evaluation.batch.identity import identity_of
from confkv_agents.evaluation.batch.options import NO_POLICY, BatchOptions, Unit, batch_tasks
from confkv_agents.evaluation.batch.results import Results
from confkv_agents.evaluation.batch.store import BatchStore
from confkv_agents.evaluation.batch.workers import play_units
from confkv_agents.evaluation.means import load_judges, make_means, surroundings_of
from confkv_agents.evaluation.recording import require_writable
from confkv_agents.evaluation.report import write_episode_report
from confkv_agents.paths import user_path

if TYPE_CHECKING:
    from confkv_agents.cache import CacheConfig
    from confkv_agents.evaluation.batch.progress import BatchConsole
    from confkv_agents.web.evaluators import Means
    from confkv_agents.web.surroundings import Surroundings
    from confkv_agents.web.tasks import Task


@dataclass
class _Batch:
    """A batch that was found to be possible."""

    options: BatchOptions
    agent_file: AgentFile
    tasks: list[Task]
    configs: dict[str, CacheConfig | None]
    left_out: list[str]
    means: Means
    models: dict[str, Any] = field(default_factory=dict)

    def make_models(self) -> None:
        """Make a chat model per policy, all on one engine, and try whether the agent takes them."""
        for label, config in self.configs.items():
            self.models[label] = None if config is None else preparing.make_model(self.options, config)
            self.agent(label)

    def agent(self, label: str) -> Agent:
        """An agent of its own for a worker and a policy."""
        return preparing.make_agent(self.agent_file, self.models[label], self.options)

    @property
    def model(self) -> Any:
        """Any of the models; they differ in their cache only. None for an agent that uses none."""
        return next(iter(self.models.values()))

    def units(self) -> list[Unit]:
        """Every episode asked for; those that are compared lie beside each other."""
        return [
            Unit(task, seed, label)
            for task in self.tasks
            for seed in (self.options.seeds or (task.seed or 0,))
            for label in self.configs
        ]


def run_batch(
    options: BatchOptions, callbacks: Sequence[BatchCallback] = (), console: BatchConsole | None = None
) -> Results:
    """Play every task under every seed and policy, or what is left of it, and write a report.

    Args:
        options: What to run.
        callbacks: Whom to tell.
        console: Where progress is shown; it is told what callbacks are told, and of waiting.

    Returns:
        Everything in the set, what earlier commands played included.

    Raises:
        ConfKVError: The input is wrong, or no browser or model can be started.
        KeyboardInterrupt: As it came, after records and report were closed.
    """
    batch = _check(options)
    options = batch.options
    told = [*([console] if console is not None else []), *callbacks]
    loaded = batch.model is None
    if not loaded and not preparing.profile_known(batch.model):
        _load(batch, console)
        batch.make_models()
        loaded = True
    observation = preparing.observation_config(options, batch.tasks, batch.model, batch.agent_file)
    store = BatchStore(
        user_path(options.out),
        identity=identity_of(options, batch.agent_file, observation),
        policies=batch.configs,
        configure=lambda label: _configuration(batch, observation, label),
        details={
            "remarks": _remarks(batch),
            "headed": options.headed,
            "workers": options.workers,
            "backend": options.backend,
            "left_out": batch.left_out,
        },
        files=preparing.files_of(batch.agent_file, batch.tasks, options),
    )
    units = batch.units()
    with store:
        before = finished_rows(store)
        missing = [unit for unit in units if unit.key not in before]
        info = BatchInfo(
            directory=store.directory,
            policies=list(batch.configs),
            total=len(units),
            rows=[before[unit.key] for unit in units if unit.key in before],
            configuration=store.identity,
            facts=_facts(batch, store, units),
            remarks=[*_remarks(batch), *batch.left_out],
            workers=min(options.workers, max(1, len(missing))),
        )
        return conduct(
            units, missing, store, lambda: _backend(batch, observation, console, loaded), info, told,
            workers=options.workers, attempts=options.attempts,
            limits={"max_steps": options.max_steps, "timeout": options.timeout},
        )  # fmt: skip


def _backend(batch: _Batch, observation: Any, console: BatchConsole | None, loaded: bool) -> Backend:
    """What plays the episodes; where that is this process, the weights are loaded now."""
    options = batch.options
    if options.backend == "ray":
        from confkv_agents.evaluation.batch.ray_backend import RayBackend
        from confkv_agents.evaluation.batch.remote_station import RemoteStation

        sent = RemoteStation.of(options, batch.agent_file, batch.tasks, batch.configs, observation, batch.means)
        waiting: AbstractContextManager[None] = nullcontext() if console is None else console.waiting("reaching Ray")
        with waiting:
            return RayBackend(
                sent,
                workers=options.workers,
                address=options.ray_address,
                cpus=options.ray_cpus,
                gpus=options.ray_gpus,
            )
    if not loaded:
        _load(batch, console)
    load_judges(batch.means, batch.tasks, options)

    def open_station() -> Station:
        from confkv_agents.evaluation.batch.station import BrowserStation

        return BrowserStation(
            preparing.wanted_sites(batch.tasks, options.sites),
            observation,
            batch.agent,
            headless=not options.headed,
            allow_hosts=options.allow_hosts,
            means=batch.means,
        )

    return LocalBackend(open_station)


def conduct(
    units: Sequence[Unit],
    missing: Sequence[Unit],
    store: BatchStore,
    open_backend: Callable[[], Backend],
    info: BatchInfo,
    callbacks: Sequence[BatchCallback],
    **how: Any,
) -> Results:
    """Play what is missing, and write the report whatever ends it.

    Args:
        units: All that is asked for.
        missing: What of it has no verdict yet.
        store: The set, its folder taken.
        open_backend: Makes what plays; called only if something is missing, before anything is told.
        info: What to tell at the beginning.
        callbacks: Whom to tell.
        how: More arguments of `play_units`.
    """
    from confkv_agents.evaluation.batch.report import write_batch_report

    backend = open_backend() if missing else None
    store.plan(units)
    tell(callbacks, "on_start", info)
    try:
        if backend is not None:
            play_units(missing, store, backend, callbacks=[_Pages(), *callbacks], **how)
    except BaseException as error:
        store.finish("failed" if isinstance(error, Exception) else "interrupted")
        tell(callbacks, "on_end", write_batch_report(store.directory))
        raise
    store.finish("finished")
    results = write_batch_report(store.directory)
    tell(callbacks, "on_end", results)
    return results


def finished_rows(store: BatchStore) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Rows with a verdict that the set holds, by the key of their unit; none if there is no set yet."""
    from confkv_agents.evaluation.batch.store import BATCH_FILE, read_set

    if not (store.directory / BATCH_FILE).is_file():
        return {}
    rows = read_set(store.directory)[1]
    return {
        (row["task"], row["task_sha256"], row["seed"], row["policy"]): row for row in rows if row["success"] is not None
    }


class _Pages(BatchCallback):
    """Writes an episode's page as soon as it ended, in the one thread that draws."""

    def on_episode_end(self, unit: Unit, row: Any, final: bool) -> None:
        write_episode_report(Path(row["directory"]))


def _check(options: BatchOptions) -> _Batch:
    """Refuse what is wrong with the input, before a browser or a model starts."""
    agent_file = open_agent(options.agent)
    means = make_means(options)
    tasks, left_out = _playable(batch_tasks(options), agent_file, options, surroundings_of(options, means))
    options = preparing.with_sites_of(options, tasks)
    if options.workers > 1 and any("://" in place for place in options.sites.values()):
        raise ConfigError(
            f"--site with {options.workers} workers: episodes at the same time would reset each other's site; "
            "pass --workers 1"
        )
    keys = [(task.key, task.sha256) for task in tasks]
    tasks = [task for place, task in enumerate(tasks) if keys.index(keys[place]) == place]
    require_writable(user_path(options.out))
    configs: dict[str, CacheConfig | None] = {NO_POLICY: None}
    if agent_file.needs_model:
        from confkv_agents.evaluation.bench.policies import parse_policies

        configs = dict(parse_policies(options.policies, options.budget))
        named_model(options.model)
    if options.backend == "local":
        preparing.check_display(options.headed)
    batch = _Batch(options, agent_file, tasks, configs, left_out, means)
    batch.make_models()

    if options.backend == "local":
        from confkv_agents.web.chromium import find_chromium

        find_chromium(headless=not options.headed)
    return batch


def _playable(
    tasks: list[Task], agent_file: AgentFile, options: BatchOptions, surroundings: Surroundings
) -> tuple[list[Task], list[str]]:
    if not options.skip_unsupported:
        try:
            preparing.check_agent(agent_file, tasks, options, surroundings)
        except ConfKVError as error:
            if len(tasks) == 1:
                raise
            raise ConfigError(f"{error}; --skip-unsupported leaves such tasks out") from error
        return tasks, []
    kept, left_out = [], []
    for task in tasks:
        try:
            preparing.check_agent(agent_file, [task], options, surroundings)
            kept.append(task)
        except ConfKVError as error:
            left_out.append(f"left out: {error}")
    if not kept:
        raise ConfigError(f"every task is left out; the first: {left_out[0].removeprefix('left out: ')}")
    return kept, left_out


def _load(batch: _Batch, console: BatchConsole | None) -> None:
    waiting: AbstractContextManager[None] = nullcontext() if console is None else console.waiting("loading the model")
    with waiting:
        preparing.load_weights(batch.model, batch.options.model)


def _configuration(batch: _Batch, observation: Any, label: str) -> dict[str, Any]:
    """What the record of a policy's run says, like that of a single run, and the settings in its label."""
    config = batch.configs[label]
    policy, budget = (None, None) if config is None else (config.policy, config.budget)
    found = preparing.configuration_of(batch.options, batch.agent_file, observation, policy, budget)
    if config is not None and ":" in label:
        names = [pair.partition("=")[0] for pair in label.split(":")[1:]]
        found["settings"] = {name: getattr(config, name) for name in names}
    return found


def _remarks(batch: _Batch) -> list[str]:
    """What a reader should know; that an agent without a model is played once, whatever policies were named, too."""
    agent_file = batch.agent_file
    found = preparing.remarks_of(batch.options, agent_file, batch.tasks, batch.options.seeds or ())
    if not agent_file.needs_model:
        found.append(
            f"The agent {agent_file.name} uses no model, so cache policies, budget and model change nothing: "
            "each task is played once per seed."
        )
    return found


def _facts(batch: _Batch, store: BatchStore, units: Sequence[Unit]) -> list[tuple[str, str]]:
    options = batch.options
    rows = [("agent", batch.agent_file.name)]
    if batch.agent_file.needs_model:
        rows += [
            ("model", options.model),
            ("policies", ", ".join(batch.configs)),
            ("budget", f"{options.budget} slots a layer"),
        ]
    seeds = sorted({unit.seed for unit in units})
    return [
        *rows,
        ("tasks", str(len(batch.tasks))),
        ("seeds", ", ".join(map(str, seeds))),
        ("results", str(store.directory)),
    ]
