"""One run: from names and numbers as a user gives them to recorded, reported episodes.

Everything that can be wrong with the input is found before a browser or a model starts: task, sites, agent,
policy and budget first, then the model's weights, then the browser.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confkv_agents import plugins
from confkv_agents.evaluation import preparing
from confkv_agents.evaluation.agents import AgentFile, open_agent
from confkv_agents.evaluation.episode import run_episode
from confkv_agents.evaluation.means import load_judges, make_means, surroundings_of
from confkv_agents.evaluation.options import PlayOptions, check_seeds
from confkv_agents.evaluation.recording import RunRecorder, require_writable
from confkv_agents.evaluation.records import EpisodeResult
from confkv_agents.evaluation.report import write_reports
from confkv_agents.paths import user_path

if TYPE_CHECKING:
    from confkv_agents.evaluation.console import RunConsole
    from confkv_agents.web.tasks import Task


@dataclass(frozen=True, kw_only=True)
class RunOptions(PlayOptions):
    """What to run.

    Attributes:
        task: Name or path of a task file.
        policy: Cache policy.
        seed: Seed of sites and sampling; None takes the task's own.
    """

    task: str
    policy: str = "confkv"
    seed: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        super().__post_init__()
        check_seeds(() if self.seed is None else (self.seed,))


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
    tasks = preparing.read_tasks(plugins.find_task(options.task), options)
    agent_file = open_agent(options.agent)
    options = preparing.with_sites_of(options, tasks)
    means = make_means(options)
    preparing.check_agent(agent_file, tasks, options, surroundings_of(options, means))
    require_writable(user_path(options.out))
    cache = _cache_config(options) if agent_file.needs_model else None
    preparing.check_display(options.headed)

    from confkv_agents.web.browser import Browser
    from confkv_agents.web.chromium import find_chromium
    from confkv_agents.web.env import WebEnv
    from confkv_agents.web.sites import SiteSet

    find_chromium(headless=not options.headed)
    with (
        SiteSet.start(preparing.wanted_sites(tasks, options.sites)) as sites,
        Browser(headless=not options.headed) as browser,
    ):
        model = preparing.make_model(options, cache, options.seed) if agent_file.needs_model else None
        agent = preparing.make_agent(agent_file, model, options)
        if model is not None:
            with _waiting(console, "loading the model"):
                preparing.load_weights(model, options.model)
            if not preparing.profile_known(model):  # only now the configuration of a hub id is on this disk
                model = preparing.make_model(options, cache, options.seed)
                agent = preparing.make_agent(agent_file, model, options)
        if means.judge or means.visual_judge:
            with _waiting(console, "loading the judges"):
                load_judges(means, tasks, options)
        with _waiting(console, "starting the browser"):
            version = browser.version()
        observation = preparing.observation_config(options, tasks, model, agent_file)
        recorder = _recorder(options, agent_file, tasks, observation, version)
        _introduce(options, agent_file, tasks, console)
        results: list[EpisodeResult] = []
        try:
            with (
                recorder,
                WebEnv(browser, sites, observation=observation, allow_hosts=options.allow_hosts, means=means) as env,
            ):
                for task in tasks:
                    results.append(_play(env, agent, task, recorder, options, console))
        except BaseException:
            report = write_reports(recorder.directory)[0]
            if console is not None:
                console.path("ended early; what there is of it:", report)
            raise
        report = write_reports(recorder.directory)[0]
    return RunOutcome(recorder.directory, results, report)


def _cache_config(options: RunOptions) -> Any:
    """The cache's configuration; refuses an unknown policy or a budget below the floor."""
    from confkv_agents.cache import CacheConfig

    return CacheConfig(policy=options.policy, budget=options.budget)


def _recorder(
    options: RunOptions, agent_file: AgentFile, tasks: list[Task], observation: Any, browser: str
) -> RunRecorder:
    configuration = preparing.configuration_of(options, agent_file, observation, options.policy, options.budget)
    return RunRecorder(
        user_path(options.out),
        configuration=configuration,
        details={
            "remarks": _remarks(options, agent_file, tasks),
            "browser": browser,
            "headed": options.headed,
            "sites": dict(options.sites),
        },
        files=preparing.files_of(agent_file, tasks, options),
        name="-".join(filter(None, (agent_file.name, configuration["policy"]))),
    )


def _play(
    env: Any, agent: Any, task: Task, recorder: RunRecorder, options: RunOptions, console: RunConsole | None
) -> EpisodeResult:
    seed = options.seed if options.seed is not None else (task.seed or 0)
    episode = recorder.episode(task, seed)
    if console is None:
        return run_episode(env, agent, task, episode, max_steps=options.max_steps, seed=seed, timeout=options.timeout)

    def begin(goal: str) -> None:
        console.task(task.key, goal, seed)

    if not task.extension.from_site:
        begin(task.intent)
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
            on_asked=begin,
        )
    console.result(result, episode.directory / "report.html")
    return result


def _remarks(options: RunOptions, agent_file: AgentFile, tasks: list[Task]) -> list[str]:
    return preparing.remarks_of(options, agent_file, tasks, () if options.seed is None else (options.seed,))


def _introduce(options: RunOptions, agent_file: AgentFile, tasks: list[Task], console: RunConsole | None) -> None:
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
    for remark in _remarks(options, agent_file, tasks):
        console.remark(remark)


def _waiting(console: RunConsole | None, text: str) -> AbstractContextManager[None]:
    return nullcontext() if console is None else console.waiting(text)
