"""From names as a user gives them to tasks, agents, models and configurations, refusing what does not fit together.

What one run and a batch share. Nothing here starts a browser; a model is loaded by `load_weights` only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from confkv_agents import plugins
from confkv_agents.engine.placement import parse_device_map
from confkv_agents.errors import ConfigError, ConfKVError, ModelError, TaskError
from confkv_agents.evaluation.agents import Agent, AgentFile, load_agent, open_agent
from confkv_agents.evaluation.episode import DEFAULT_MAX_STEPS
from confkv_agents.evaluation.options import EMBEDDED, PlayOptions

if TYPE_CHECKING:
    from confkv_agents.web.surroundings import Surroundings
    from confkv_agents.web.tasks import Task

_Options = TypeVar("_Options", bound=PlayOptions)
_PROMPT_TOKENS = 500
_LEAST_PAGE_TOKENS = 300
EMBEDDED_REMARK = (
    "The embedded model is SmolLM2-135M-Instruct: small, text only, and not trained to use the web. "
    "It rarely succeeds at a task, and nothing helps it along."
)


def read_tasks(path: Path, options: PlayOptions) -> list[Task]:
    """Load the tasks of a file.

    Raises:
        TaskError: The file is wrong, or holds no task.
    """
    from confkv_agents.web.tasks import load_tasks

    tasks = load_tasks(path, options.dialect, sites=options.sites)  # type: ignore[arg-type]
    if not tasks:
        raise TaskError(f"{path}: the file holds no task")
    return tasks


def check_agent(agent_file: AgentFile, tasks: Sequence[Task], options: PlayOptions, surroundings: Surroundings) -> None:
    """Refuse tasks that cannot be scored here or that the agent cannot play, and a trace of no cache.

    Args:
        agent_file: Who plays.
        tasks: What is to be played.
        options: As given.
        surroundings: What there is to run and score tasks with.

    Raises:
        ConfKVError: What the first of them has against it.
    """
    if options.pages_of is not None and agent_file.needs_model:
        raise ConfigError(
            f"--pages-of is for agents that use no model, such as oracle; {agent_file.name!r} has pages of its own"
        )
    if options.trace and not agent_file.needs_model:
        raise ConfigError(f"--trace: agent {agent_file.name!r} uses no model, so there is no cache to trace")
    for task in tasks:
        task.require_supported()
        if unmet := surroundings.unmet(task):
            raise TaskError(f"{task.source}: task {task.task_id} cannot be run: {'; '.join(unmet)}")
        if agent_file.check_task is not None:
            agent_file.check_task(task)


def check_display(headed: bool) -> None:
    """Refuse a window where none can be shown.

    Raises:
        ConfigError: There is no display.
    """
    if headed and sys.platform.startswith("linux"):
        if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            raise ConfigError("--headed needs a display, and this machine has none; leave it out")


def with_sites_of(options: _Options, tasks: Sequence[Task]) -> _Options:
    """The options without addresses of sites that no task names: those are neither reset nor reached."""
    from confkv_agents.web.sites import installed_sites

    aliases = {name: info.names for info in installed_sites().values() for name in info.names}
    named = {each for task in tasks for name in task.site_names for each in aliases.get(name, {name})}
    return replace(options, sites={name: url for name, url in options.sites.items() if name in named})


def wanted_sites(tasks: Sequence[Task], given: Mapping[str, str]) -> dict[str, str | None]:
    """Every site to be had: those given by address, and those that tasks name under any of their names."""
    from confkv_agents.web.sites import installed_sites

    aliases = {name: info.names for info in installed_sites().values() for name in info.names}
    wanted: dict[str, str | None] = dict(given)
    for name in sorted({name for task in tasks for name in task.site_names}):
        if not aliases.get(name, {name}) & set(given):
            wanted[name] = None
    return wanted


def make_model(options: PlayOptions, cache: Any, seed: int | None = None) -> Any:
    """The chat model; its weights are not loaded yet.

    Args:
        options: Which model.
        cache: Its cache's configuration.
        seed: Of sampling.
    """
    from confkv_agents.chat_models import ChatConfKV

    return ChatConfKV(
        model=options.model,
        kv=cache,
        max_tokens=options.max_tokens,
        temperature=0.0,
        seed=seed or 0,
        trace="cache" if options.trace else True,
        device_map=parse_device_map(options.device_map),
        offload_folder=options.offload_folder,
    )


def profile_known(model: Any) -> bool:
    """Whether a model's profile says what it takes; a hub id's configuration is on this disk only once loaded."""
    return "image_inputs" in (model.profile or {})


def make_agent(agent_file: AgentFile, model: Any, options: PlayOptions) -> Agent:
    """The agent, told what a model that sees is shown.

    Raises:
        ConfKVError: It cannot be made with this model.
    """
    extra: dict[str, Any] = {"pictures": options.pictures} if agent_file.needs_model else {}
    return load_agent(agent_file, model=model, **extra)


def load_weights(model: Any, name: str) -> None:
    """Load weights and chat template, so that what is wrong with a model's files is found before anything runs.

    Raises:
        ConfKVError: The model cannot be loaded.
    """
    from langchain_core.messages import HumanMessage

    try:
        model.get_num_tokens_from_messages([HumanMessage("Hello")])
    except (ConfKVError, MemoryError):
        raise
    except Exception as error:  # whatever libraries raise on files that are cut, mixed up or of another format
        raise ModelError(f"model {name!r} cannot be loaded: {type(error).__name__}: {error}") from error


def observation_config(options: PlayOptions, tasks: Sequence[Task], model: Any, agent_file: AgentFile) -> Any:
    """How pages are shown: as the agent wants it, counted in the model's tokens, and fitting its context.

    Where the agent has no wish, a page is so short that every step's page fits.
    """
    from confkv_agents.web.observation import ObservationConfig

    if options.pages_of is not None:
        model, agent_file = _reader(options), open_agent(options.pages_of)
    wanted = dict(agent_file.observation)
    if model is None:
        return ObservationConfig(**wanted | {"marks": False, "pictures": 0})
    profile = model.profile or {}
    sees = bool(profile.get("image_inputs")) and options.pictures != "none"
    limit = ObservationConfig().max_tokens
    if profile.get("max_input_tokens"):
        steps = max(options.max_steps or task.max_steps or DEFAULT_MAX_STEPS for task in tasks)
        share = (profile["max_input_tokens"] - _PROMPT_TOKENS) // steps - options.max_tokens
        limit = min(limit, max(_LEAST_PAGE_TOKENS, share))
    given = {
        "max_tokens": limit,
        "marks": sees,
        "pictures": ObservationConfig().pictures,
        "count_tokens": model.get_num_tokens,
    } | wanted
    if options.page_tokens:
        given["max_tokens"] = options.page_tokens
    if not sees:
        given |= {"marks": False, "pictures": 0}
    return ObservationConfig(**given)


def _reader(options: PlayOptions) -> Any:
    """The model that pages are shown for, while another agent plays."""
    from confkv_agents.cache import CacheConfig

    model = make_model(options, CacheConfig(policy="full"))
    if not profile_known(model):
        load_weights(model, options.model)
        model = make_model(options, CacheConfig(policy="full"))
    return model


def configuration_of(
    options: PlayOptions, agent_file: AgentFile, observation: Any, policy: str | None, budget: int | None
) -> dict[str, Any]:
    """Everything that decides an episode's result besides its task and seed.

    Args:
        options: As given.
        agent_file: Who plays.
        observation: How pages are shown.
        policy: Name of the cache's policy; not used by agents that need no model.
        budget: Slots a layer may hold.
    """
    uses = agent_file.needs_model
    more = {"device_map": parse_device_map(options.device_map)} if uses and options.device_map is not None else {}
    if options.pages_of is not None:
        more |= {"pages_of": open_agent(options.pages_of).name, "pages_for": options.model}
    pages = {field.name: getattr(observation, field.name) for field in fields(observation)}
    del pages["count_tokens"]
    return {
        **more,
        "agent": agent_file.name,
        "model": options.model if uses else None,
        "policy": policy if uses else None,
        "budget": budget if uses else None,
        "max_tokens": options.max_tokens if uses else None,
        "pictures": options.pictures if uses else None,
        "observation": observation.format,
        "page_tokens": observation.max_tokens,
        "pages": pages,
        "max_steps": options.max_steps,
        "timeout": options.timeout,
        "dialect": options.dialect,
        "judge": options.judge,
        "visual_judge": options.visual_judge,
        "allow_hosts": list(options.allow_hosts),
    }


def files_of(agent_file: AgentFile, tasks: Sequence[Task], options: PlayOptions) -> dict[str, Path]:
    """The files that pin a run, by the names its record gives them: agent, tasks, sites."""
    files = {f"agent {agent_file.name}": agent_file.path}
    files |= {f"task file {task.source.name}": task.source for task in tasks}
    names = {name for task in tasks for name in task.site_names} - set(options.sites)
    folders = [folder for folder in map(_site_folder, sorted(names)) if folder is not None]
    return files | {f"site {folder.name}": folder for folder in folders}


def remarks_of(
    options: PlayOptions, agent_file: AgentFile, tasks: Sequence[Task], seeds: Sequence[int] = ()
) -> list[str]:
    """What a reader of the results should know.

    Args:
        options: How tasks are played.
        agent_file: Whose.
        tasks: What is played.
        seeds: Under which seeds, where not under each task's own.
    """
    found = [EMBEDDED_REMARK] if agent_file.needs_model and options.model == EMBEDDED else []
    moved = [task for task in tasks if task.seed is not None and any(seed != task.seed for seed in seeds)]
    if moved:
        found.append(
            f"{len(moved)} of {len(tasks)} tasks were written for one state of their sites ({moved[0].key} for seed "
            f"{moved[0].seed}) and are played in another: what they ask for may not be there. "
            "`confkv-agent tasks make` writes tasks for other seeds."
        )
    return found


def _site_folder(name: str) -> Path | None:
    from confkv_agents.web.sites import installed_sites

    for folder, info in installed_sites().items():
        if name in info.names:
            return plugins.find_env(folder)
    return None
