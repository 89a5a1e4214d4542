"""What an agent is: an object that reads observations and answers with one action string each.

An agent is one file, named by a bare name under `agents/` or by a path, which exposes
`create_agent(model, **options) -> Agent`, `NEEDS_MODEL: bool` and, if some tasks are not for it,
`check_task(task) -> None`, which raises a `ConfKVError` before anything is started. `OBSERVATION`, a dict of
`ObservationConfig`'s fields, says how it wants pages to be shown. `write_reply(thought, action, target) -> str` says
how its model words a decision, where a replay tells it what another agent did: `target` is name and id of the element
acted on, or None.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from confkv_agents.errors import ConfKVError, PluginError

if TYPE_CHECKING:
    from confkv_agents.web.observation import Observation
    from confkv_agents.web.tasks import Task


@dataclass(frozen=True)
class Decision:
    """What an agent wants to do next.

    Attributes:
        action: One action in the environment's bracket grammar, such as `click [4]`.
        thought: The agent's own words on why, for the record only.
        raw: The model's output as it came, repair turns included.
        prompt: The text that was newly given to the model for this decision.
        usage: What the decision cost, as `usage.usage_of_message` and `usage.merge_usage` make it.
    """

    action: str
    thought: str = ""
    raw: str = ""
    prompt: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)


class Agent(Protocol):
    """Plays one episode at a time."""

    def reset(self, task: Task, observation: Observation) -> None:
        """Begin an episode; `observation` is what the first `act` is going to be given."""

    def act(self, observation: Observation) -> Decision:
        """Decide on the next action, given what the environment shows now."""


@dataclass(frozen=True)
class AgentFile:
    """An agent's file, loaded but with no agent made of it yet."""

    name: str
    path: Path
    needs_model: bool
    create: Callable[..., Agent]
    check_task: Callable[[Any], None] | None = None
    observation: Mapping[str, Any] = field(default_factory=dict)
    write_reply: Callable[[str, str, tuple[str, int] | None], str] | None = None

    @property
    def options(self) -> set[str]:
        """Options that `create` takes by name."""
        return set(inspect.signature(self.create).parameters) - {"model"}


def open_agent(name_or_path: str) -> AgentFile:
    """Load an agent's file by name or path.

    Raises:
        PluginError: No such file, it does not load, or it does not expose `create_agent`.
    """
    from confkv_agents.plugins import find_agent, load_module

    path = find_agent(name_or_path)
    module = load_module(path, f"agents.{path.stem}")
    create = getattr(module, "create_agent", None)
    if not callable(create):
        raise PluginError(f"{path}: an agent file must define create_agent(model, **options)")
    return AgentFile(
        name=path.stem,
        path=path,
        needs_model=bool(getattr(module, "NEEDS_MODEL", True)),
        create=create,
        check_task=getattr(module, "check_task", None),
        observation=_observation(getattr(module, "OBSERVATION", {}), path),
        write_reply=getattr(module, "write_reply", None),
    )


def _observation(wanted: Any, path: Path) -> Mapping[str, Any]:
    from confkv_agents.web.observation import ObservationConfig

    try:
        ObservationConfig(**wanted)
    except (TypeError, ConfKVError) as error:
        raise PluginError(f"{path}: OBSERVATION is no set of fields of ObservationConfig: {error}") from error
    return dict(wanted)


def load_agent(name_or_path: str | AgentFile, *, model: Any = None, task: Task | None = None, **options: Any) -> Agent:
    """Make the agent that a file describes.

    Args:
        name_or_path: A name under `agents/`, a path to a file, or what `open_agent` returned.
        model: Any LangChain chat model; may be None for agents that need none.
        task: If given, the agent is asked first whether it can play it.
        **options: Handed to the file's `create_agent`.

    Raises:
        PluginError: The file is missing or invalid, needs a model, does not know an option, or fails.
        ConfKVError: Whatever the agent's `check_task` has against the task.
    """
    agent_file = name_or_path if isinstance(name_or_path, AgentFile) else open_agent(name_or_path)
    if agent_file.needs_model and model is None:
        raise PluginError(f"agent {agent_file.name!r} needs a chat model and was given none; pass model=")
    if task is not None and agent_file.check_task is not None:
        agent_file.check_task(task)
    parameters = inspect.signature(agent_file.create).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        unknown = sorted(set(options) - set(parameters))
        if unknown:
            known = sorted(set(parameters) - {"model"}) or ["none"]
            raise PluginError(f"agent {agent_file.name!r} has no option {unknown[0]!r}; it has: {', '.join(known)}")
    try:
        return agent_file.create(model, **options)
    except ConfKVError:
        raise
    except Exception as error:
        raise PluginError(f"{agent_file.path}: create_agent failed: {type(error).__name__}: {error}") from error
