"""Recorded episodes as conversations: what an agent would have been shown at each step, and what was done then.

The agent itself builds the conversation, on a model that repeats what was recorded; so a replay puts to every policy
the very prompts that a run would.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from confkv_agents.errors import RecordError
from confkv_agents.evaluation.records import EPISODE_SCHEMA, read_record, read_rows
from confkv_agents.paths import user_path

if TYPE_CHECKING:
    from confkv_agents.engine.conversation import Turn

AGENT = "react"


@dataclass(frozen=True)
class RecordedStep:
    """One step of a recorded episode.

    Attributes:
        index: Its number.
        observation: The page as it was shown.
        thought: What the agent said before its action.
        action: In canonical form.
    """

    index: int
    observation: str
    thought: str
    action: str


@dataclass(frozen=True)
class RecordedEpisode:
    """A recorded episode, as far as its steps held actions.

    Attributes:
        name: For people; unique in the run.
        intent: The task's goal.
        steps: In order; steps without an action are left out.
        sha256: Of goal and steps.
    """

    name: str
    intent: str
    steps: tuple[RecordedStep, ...]
    sha256: str


@dataclass(frozen=True)
class Asked:
    """One step as a question to a model.

    Attributes:
        step: What was recorded.
        turns: The conversation up to the question.
        lead: What the reply says before the action.
    """

    step: RecordedStep
    turns: tuple[Turn, ...]
    lead: str


def read_recorded(folder: Path) -> list[RecordedEpisode]:
    """Read the episodes of a run, a batch or one episode's folder, those without any action left out.

    Episodes that are the same in every step, as an agent without a model records under several policies, come once.

    Raises:
        RecordError: There is none, or a record is broken.
    """
    folder = user_path(folder)
    if not folder.exists():
        raise RecordError(f"{folder} does not exist; give the folder of a run, a batch or an episode")
    paths = sorted(path for depth in ("", "*/", "*/*/") for path in folder.glob(f"{depth}episode.json"))
    found: dict[str, RecordedEpisode] = {}
    for path in paths:
        record = read_record(path, EPISODE_SCHEMA)
        rows = read_rows(path.with_name("steps.jsonl"))
        steps = tuple(
            RecordedStep(row["index"], row["observation"], " ".join(row["thought"].split()), row["action"])
            for row in rows
            if row["parsed"] and row["action"].strip()
        )
        if not steps:
            continue
        intent = record["task"]["intent"]
        digest = hashlib.sha256(repr((intent, steps)).encode()).hexdigest()
        name = path.parent.relative_to(folder).as_posix()
        found.setdefault(digest, RecordedEpisode(path.parent.name if name == "." else name, intent, steps, digest))
    if not found:
        raise RecordError(f"{folder}: no recorded step with an action; give the folder of a run, a batch or an episode")
    return list(found.values())


def conversation_of(episode: RecordedEpisode) -> list[Asked]:
    """Let the agent build each step's conversation, its replies as recorded. Text only: pictures are not shown.

    Raises:
        PluginError: The agent's file does not load.
    """
    from confkv_agents.engine.media import ImageLimits
    from confkv_agents.evaluation.agents import load_agent
    from confkv_agents.evaluation.bench.teacher import Teacher
    from confkv_agents.messages import ImageAccess, to_turns

    teacher = Teacher()
    agent = load_agent(AGENT, model=teacher, pictures="none", repairs=0)
    access = ImageAccess(ImageLimits(), False, False)
    task: Any = SimpleNamespace(intent=episode.intent, images=())
    asked = []
    for place, step in enumerate(episode.steps):
        observation: Any = SimpleNamespace(text=step.observation, marked=None, screenshot=b"", pictures=(), elements=())
        if place == 0:
            agent.reset(task, observation)
        lead = f"{step.thought}\n" if step.thought else ""
        teacher.reply = lead + step.action
        agent.act(observation)
        asked.append(Asked(step, to_turns(teacher.asked, access), lead))
    return asked


def actions_equal(text: str, action: str) -> bool:
    """Whether what a model wrote is the same action, whatever its spelling.

    Args:
        text: As decoded.
        action: In canonical form.
    """
    from confkv_agents.web.actions import ActionParseError, format_action, parse_action

    try:
        return format_action(parse_action(text)) == action
    except ActionParseError:
        return False


def names_of(episodes: Sequence[RecordedEpisode]) -> str:
    """The first names, for a line of facts."""
    return ", ".join(episode.name for episode in episodes[:3]) + (" ..." if len(episodes) > 3 else "")
