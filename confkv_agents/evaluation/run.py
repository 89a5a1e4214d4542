"""One run: from names and numbers as a user gives them to recorded, reported episodes.

Everything that can be wrong with the input is found before a browser or a model starts: task, sites, agent,
policy and budget first, then the model's weights, then the browser.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confkv_agents import plugins
from confkv_agents.errors import ConfigError, ConfKVError, ModelError, TaskError
from confkv_agents.evaluation.agents import AgentFile, load_agent, open_agent
from confkv_agents.evaluation.episode import DEFAULT_MAX_STEPS, run_episode
from confkv_agents.evaluation.records import EpisodeResult, RunRecorder, require_writable
from confkv_agents.evaluation.report import write_reports
from confkv_agents.paths import user_path

if TYPE_CHECKING:
    from confkv_agents.evaluation.console import RunConsole
    from confkv_agents.web.tasks import Task

EMBEDDED = "embedded"
_PROMPT_TOKENS = 500
_LEAST_PAGE_TOKENS = 300
EMBEDDED_REMARK = (
    "The embedded model is SmolLM2-135M-Instruct: small, text only, and not trained to use the web. "
    "It rarely succeeds at a task, and nothing helps it along."
)


@dataclass(frozen=True)
class RunOptions:
    """What to run.

    Attributes:
        task: Name or path of a task file.
        agent: Name or path of an agent file.
        model: `embedded`, a local path, or a hub id; not used by agents that need no model.
        policy: Cache policy.
        budget: Slots a layer may hold.
        max_steps: Steps per episode; None takes the task's own figure.
        seed: Seed of sites and sampling; None takes the task's own.
        headed: Show the browser's window.
        out: Folder for runs.
        sites: URLs of sites that run elsewhere, by name.
        dialect: Whose meaning of the task's fields holds: `vwa` or `webarena`.
        timeout: Seconds after which no further step is begun.
        max_tokens: Tokens that the model may write per step.
        pictures: What a model that takes pictures is shown; see the agent.
        page_tokens: Tokens that a page's text may have; None shares the model's context among the steps.
        trace: Keep what the cache did at each step, a file per episode.
    """

    task: str
    agent: str = "react"
    model: str = EMBEDDED
    policy: str = "confkv"
    budget: int = 512
    max_steps: int | None = None
    seed: int | None = None
    headed: bool = False
    out: Path = Path("runs")
    sites: Mapping[str, str] = field(default_factory=dict)
    dialect: str = "vwa"
    timeout: float = 900.0
    max_tokens: int = 64
    pictures: str = "auto"
    page_tokens: int | None = None
    trace: bool = False

    def __post_init__(self) -> None:
        """Refuse numbers that cannot be meant."""
        for name in ("budget", "max_steps", "max_tokens", "page_tokens", "timeout"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ConfigError(f"{name} is {value:g}; pass a number above 0")
        if not self.model.strip():
            raise ConfigError("the model's name is empty; give 'embedded', a folder or a hub id")
        for path in (self.model, self.out):
            user_path(path)


@dataclass
class RunOutcome:
    """What a run left: its folder, its results, and the report to open first."""

    directory: Path
    results: list[EpisodeResult]
    report: Path


def run(options: RunOptions, console: RunConsole | None = None) -> RunOutcome:
    """Run every task of a file with one agent, and write records and reports.

    Args:
        options: What to run.
        console: Where progress is shown; None shows nothing.

    Raises:
        ConfKVError: The input is wrong, or no browser or model can be started; nothing was recorded.
        KeyboardInterrupt: As it came, after records and reports were closed and the browser was ended.
    """
    tasks, agent_file = _read(options)
    require_writable(user_path(options.out))
    cache = _cache_config(options) if agent_file.needs_model else None
    _check_display(options.headed)

    from confkv_agents.web.browser import Browser
    from confkv_agents.web.chromium import find_chromium
    from confkv_agents.web.env import WebEnv
    from confkv_agents.web.sites import SiteSet

    find_chromium(headless=not options.headed)
    with (
        SiteSet.start(_wanted_sites(tasks, options.sites)) as sites,
        Browser(headless=not options.headed) as browser,
    ):
        model = _make_model(options, cache) if agent_file.needs_model else None
        extra: dict[str, Any] = {"pictures": options.pictures} if agent_file.needs_model else {}
        agent = load_agent(agent_file, model=model, **extra)
        if model is not None:
            with _waiting(console, "loading the model"):
                _load(model, options.model)
            if "image_inputs" not in (model.profile or {}):  # a hub id: only now its configuration is on this disk
                model = _make_model(options, cache)
                agent = load_agent(agent_file, model=model, **extra)
        with _waiting(console, "starting the browser"):
            version = browser.version()
        observation = _observation_config(options, tasks, model)
        recorder = _recorder(options, agent_file, tasks, observation, version)
        _introduce(options, agent_file, console)
        results: list[EpisodeResult] = []
        try:
            with recorder, WebEnv(browser, sites, observation=observation) as env:
                for task in tasks:
                    results.append(_play(env, agent, task, recorder, options, console))
        except BaseException:
            report = write_reports(recorder.directory)[0]
            if console is not None:
                console.path("ended early; what there is of it:", report)
            raise
        report = write_reports(recorder.directory)[0]
    return RunOutcome(recorder.directory, results, report)


def _read(options: RunOptions) -> tuple[list[Task], AgentFile]:
    """Load what the options name and refuse what does not fit together."""
    from confkv_agents.web.tasks import load_tasks

    path = plugins.find_task(options.task)
    tasks = load_tasks(path, options.dialect, sites=options.sites)  # type: ignore[arg-type]
    if not tasks:
        raise TaskError(f"{options.task}: the file holds no task")
    agent_file = open_agent(options.agent)
    if options.trace and not agent_file.needs_model:
        raise ConfigError(f"--trace: agent {agent_file.name!r} uses no model, so there is no cache to trace")
    for task in tasks:
        task.require_supported()
        if agent_file.check_task is not None:
            agent_file.check_task(task)
    return tasks, agent_file


def _cache_config(options: RunOptions) -> Any:
    """The cache's configuration; refuses an unknown policy or a budget below the floor."""
    from confkv_agents.cache import CacheConfig

    return CacheConfig(policy=options.policy, budget=options.budget)


def _check_display(headed: bool) -> None:
    if headed and sys.platform.startswith("linux"):
        if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            raise ConfigError("--headed needs a display, and this machine has none; leave it out")


def _wanted_sites(tasks: list[Task], given: Mapping[str, str]) -> dict[str, str | None]:
    """Every site to be had: those given by address, and those that tasks name under any of their names."""
    from confkv_agents.web.sites import installed_sites

    aliases = {name: info.names for info in installed_sites().values() for name in info.names}
    wanted: dict[str, str | None] = dict(given)
    for name in sorted({name for task in tasks for name in task.sites}):
        if not aliases.get(name, {name}) & set(given):
            wanted[name] = None
    return wanted


def _make_model(options: RunOptions, cache: Any) -> Any:
    """The chat model; its weights are not loaded yet."""
    from confkv_agents.chat_models import ChatConfKV

    return ChatConfKV(
        model=options.model,
        kv=cache,
        max_tokens=options.max_tokens,
        temperature=0.0,
        seed=options.seed or 0,
        trace="cache" if options.trace else True,
    )


def _load(model: Any, name: str) -> None:
    """Load weights and chat template, so that what is wrong with a model's files is found before anything runs."""
    from langchain_core.messages import HumanMessage

    try:
        model.get_num_tokens_from_messages([HumanMessage("Hello")])
    except (ConfKVError, MemoryError):
        raise
    except Exception as error:  # whatever libraries raise on files that are cut, mixed up or of another format
        raise ModelError(f"model {name!r} cannot be loaded: {type(error).__name__}: {error}") from error


def _observation_config(options: RunOptions, tasks: list[Task], model: Any) -> Any:
    """How pages are shown: counted in the model's tokens, so short that every step's page fits its context."""
    from confkv_agents.web.observation import ObservationConfig

    if model is None:
        return ObservationConfig(marks=False, pictures=0)
    profile = model.profile or {}
    sees = bool(profile.get("image_inputs")) and options.pictures != "none"
    limit = ObservationConfig().max_tokens
    if profile.get("max_input_tokens"):
        steps = max(options.max_steps or task.max_steps or DEFAULT_MAX_STEPS for task in tasks)
        share = (profile["max_input_tokens"] - _PROMPT_TOKENS) // steps - options.max_tokens
        limit = min(limit, max(_LEAST_PAGE_TOKENS, share))
    return ObservationConfig(
        max_tokens=options.page_tokens or limit,
        count_tokens=model.get_num_tokens,
        marks=sees,
        pictures=ObservationConfig().pictures if sees else 0,
    )


def _recorder(
    options: RunOptions, agent_file: AgentFile, tasks: list[Task], observation: Any, browser: str
) -> RunRecorder:
    configuration: dict[str, Any] = {
        "agent": agent_file.name,
        "model": options.model if agent_file.needs_model else None,
        "policy": options.policy if agent_file.needs_model else None,
        "budget": options.budget if agent_file.needs_model else None,
        "max_tokens": options.max_tokens if agent_file.needs_model else None,
        "pictures": options.pictures if agent_file.needs_model else None,
        "observation": observation.format,
        "page_tokens": observation.max_tokens,
        "max_steps": options.max_steps,
        "timeout": options.timeout,
        "dialect": options.dialect,
    }
    files = {f"agent {agent_file.name}": agent_file.path}
    files |= {f"task file {task.source.name}": task.source for task in tasks}
    names = {name for task in tasks for name in task.sites} - set(options.sites)
    folders = [folder for folder in map(_site_folder, sorted(names)) if folder is not None]
    files |= {f"site {folder.name}": folder for folder in folders}
    remarks = [EMBEDDED_REMARK] if agent_file.needs_model and options.model == EMBEDDED else []
    return RunRecorder(
        user_path(options.out),
        configuration=configuration,
        details={
            "remarks": remarks,
            "browser": browser,
            "headed": options.headed,
            "sites": dict(options.sites),
        },
        files=files,
        name="-".join(filter(None, (agent_file.name, configuration["policy"]))),
    )


def _site_folder(name: str) -> Path | None:
    from confkv_agents.web.sites import installed_sites

    for folder, info in installed_sites().items():
        if name in info.names:
            return plugins.find_env(folder)
    return None


def _play(
    env: Any, agent: Any, task: Task, recorder: RunRecorder, options: RunOptions, console: RunConsole | None
) -> EpisodeResult:
    seed = options.seed if options.seed is not None else (task.seed or 0)
    episode = recorder.episode(task, seed)
    if console is None:
        return run_episode(env, agent, task, episode, max_steps=options.max_steps, seed=seed, timeout=options.timeout)
    console.task(task.key, task.intent, seed)
    with console.waiting("resetting the site"):
        result = run_episode(
            env,
            agent,
            task,
            episode,
            max_steps=options.max_steps,
            seed=seed,
            timeout=options.timeout,
            on_step=console.step,
            on_phase=console.phase,
        )
    console.result(result, episode.directory / "report.html")
    return result


def _introduce(options: RunOptions, agent_file: AgentFile, console: RunConsole | None) -> None:
    if console is None:
        return
    rows = [("agent", agent_file.name)]
    if agent_file.needs_model:
        rows += [
            ("model", options.model),
            ("cache", f"policy {options.policy}, budget {options.budget} slots"),
        ]
    console.facts(rows)
    console.uses_model = agent_file.needs_model
    if agent_file.needs_model and options.model == EMBEDDED:
        console.remark(EMBEDDED_REMARK)


def _waiting(console: RunConsole | None, text: str) -> AbstractContextManager[None]:
    return nullcontext() if console is None else console.waiting(text)
