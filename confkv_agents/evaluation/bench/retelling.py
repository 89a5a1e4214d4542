"""Recorded episodes as conversations with an agent's model: what it was asked at each step, or would have been.

The agent itself builds the conversation, on a model that repeats what was recorded, so a replay puts to every policy
the very requests that a run would, pictures included. What the agent's own model said is repeated as it came, failed
and repaired answers too. What another agent did, a script's solution say, is told in the agent's form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

from confkv_agents.errors import RecordError
from confkv_agents.evaluation.agents import AgentFile, load_agent
from confkv_agents.evaluation.bench.recorded import RecordedEpisode, RecordedStep
from confkv_agents.evaluation.bench.teacher import Teacher
from confkv_agents.messages import to_turns

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from confkv_agents.engine.conversation import Turn

Scored = Literal["action", "reply"]
_BREAK = "\n---\n"  # between the answers of one step, as agents record them


@dataclass(frozen=True)
class Asked:
    """One step as a question to a model.

    Attributes:
        step: What was recorded.
        messages: The conversation up to the question.
        lead: What the reply says before what is scored.
        scored: The rest of the reply, with the action in it.
    """

    step: RecordedStep
    messages: tuple[BaseMessage, ...]
    lead: str
    scored: str

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The conversation as the engine takes it."""
        return to_turns(self.messages)


def retell(
    episode: RecordedEpisode,
    agent_file: AgentFile,
    *,
    sees: bool = False,
    pictures: str | None = None,
    scored: Scored | None = None,
) -> list[Asked]:
    """Let an agent build each step's conversation.

    Args:
        episode: What was recorded.
        agent_file: The agent whose model is asked.
        sees: Whether the model takes pictures.
        pictures: What it is shown of them, see the agent; None is as in the run if the agent played it, else `auto`.
        scored: What of a reply is scored: the `action` alone, or the whole `reply`. None takes the whole reply of an
            agent that says of itself how it words one, and else the action.

    Returns:
        The questions whose answers held an action; the others are part of the conversation.

    Raises:
        RecordError: The pages were not shown as the agent and the model would have them, or the record does not fit
            the agent.
        PluginError: The agent cannot be made.
    """
    own = episode.agent == agent_file.name and all(step.raw for step in episode.steps)
    if pictures is None:
        pictures = (episode.configuration.get("pictures") if own else None) or "auto"
    if not sees:
        pictures = "none"
    _check_pages(episode, agent_file.observation, pictures != "none")
    scored = scored or ("reply" if agent_file.write_reply else "action")
    teacher = Teacher(profile={"image_inputs": sees})
    agent = load_agent(agent_file, model=teacher, pictures=pictures, **({} if own else _without_repairs(agent_file)))
    asked = []
    first = True
    for step in episode.steps:
        if not (own or step.parsed):
            continue
        observation: Any = _Shown(step)
        if first:
            agent.reset(_task(episode), observation)
            first = False
        teacher.replies = _replies(step, episode) if own else [_in_the_agents_words(step, agent_file)]
        reply = teacher.replies[-1]
        agent.act(observation)
        if teacher.replies:
            raise RecordError(f"{episode.name}, step {step.index}: the agent asks its model less often than in the run")
        if step.parsed:
            lead = "" if scored == "reply" else _lead(reply, step)
            asked.append(Asked(step, tuple(teacher.asked), lead, reply[len(lead) :]))
    return asked


def actions_equal(text: str, action: str) -> bool:
    """Whether what a model wrote is the same action, whatever its spelling.

    Args:
        text: As decoded.
        action: In canonical form.
    """
    return action_in(text) == action


def action_in(text: str) -> str | None:
    """The action in a text in canonical form, or None if there is none."""
    from confkv_agents.web.actions import ActionParseError, format_action, parse_action

    try:
        return format_action(parse_action(text))
    except ActionParseError:
        return None


class _Shown:
    """What of an observation is recorded; files are read when they are asked for."""

    elements: tuple[Any, ...] = ()

    def __init__(self, step: RecordedStep) -> None:
        self._step = step
        self.text = step.observation

    @property
    def screenshot(self) -> bytes:
        return _read(self._step.screenshot) or b""

    @property
    def marked(self) -> bytes | None:
        return _read(self._step.marked)

    @property
    def pictures(self) -> tuple[Any, ...]:
        return tuple(
            SimpleNamespace(png=_read(path), alt=alt, element_id=number) for path, alt, number in self._step.pictures
        )


def _read(path: Path | None) -> bytes | None:
    try:
        return None if path is None else path.read_bytes()
    except OSError as error:
        raise RecordError(f"the recorded picture {path} cannot be read: {error.strerror or error}") from error


def _task(episode: RecordedEpisode) -> Any:
    return SimpleNamespace(
        intent=episode.intent, images=episode.images, beside=lambda path: path, source=Path(episode.name)
    )


def _check_pages(episode: RecordedEpisode, wanted: Mapping[str, Any], sees: bool) -> None:
    """Refuse pages that the agent would not have been shown."""
    found = episode.pages
    advice = "record again, with --pages-of and --model as in the replay"
    for name in ("format", "max_tokens", "max_name", "max_options", "min_picture", "max_picture"):
        if name in wanted and found.get(name) != wanted[name]:
            raise RecordError(
                f"{episode.name}: the agent's pages have {name} = {wanted[name]}, and recorded were pages with "
                f"{found.get(name, 'none known')}; {advice}"
            )
    if sees and not (found.get("pictures") or found.get("marks")):
        raise RecordError(
            f"{episode.name}: the model takes pictures, and none were recorded; {advice}, or pass --pictures none"
        )


def _without_repairs(agent_file: AgentFile) -> dict[str, Any]:
    return {"repairs": 0} if "repairs" in agent_file.options else {}


def _replies(step: RecordedStep, episode: RecordedEpisode) -> list[str]:
    if step.calls in (None, 1):
        return [step.raw]
    found = step.raw.split(_BREAK)
    if len(found) != step.calls:
        raise RecordError(f"{episode.name}, step {step.index}: the model's {step.calls} answers cannot be told apart")
    return found


def _in_the_agents_words(step: RecordedStep, agent_file: AgentFile) -> str:
    if agent_file.write_reply is not None:
        return agent_file.write_reply(step.thought, step.action, step.target)
    return f"{step.thought}\n{step.action}" if step.thought else step.action


def _lead(reply: str, step: RecordedStep) -> str:
    """What a reply says before the lines that hold the action."""
    lines = reply.splitlines(keepends=True)
    for start in range(len(lines) - 1, -1, -1):
        if actions_equal("".join(lines[start:]), step.action):
            return "".join(lines[:start])
    return ""
