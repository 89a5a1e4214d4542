"""Demonstrations: oracle episodes as the conversation that the pilot's agent would have held.

The agent itself plays (`agents/pilot.py`), with the oracle's decisions put into its mouth, so that what the model is
trained on is, message for message, what it is asked later. A note goes before each action: what the script jots down,
and the element acted on with its number, as the page writes it. In some episodes a wrong link is followed first and
then left again by `go_back`; the slip is not learned, the way back is.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from confkv_agents.errors import AgentError
from confkv_agents.evaluation.agents import load_agent, open_agent
from confkv_agents.web.actions import parse_action
from confkv_agents.web.env import WebEnv
from confkv_agents.web.observation import Observation
from confkv_agents.web.tasks import Task

_NEVER_BY_MISTAKE = ("log out", "sign out", "delete", "remove")


@dataclass
class Demonstration:
    """One played episode.

    Attributes:
        task: The task's template and seed, `shop/coupon_order:1003`.
        messages: The conversation: `{"role": ..., "content": [...]}`, an assistant's with `"learn": bool`, and with
            `"open": true` where it is the beginning of an answer only. A part of a content is `{"text": ...}` or
            `{"picture": ...}`, the picture's name.
        success: What the task's checks said.
        steps: Actions.
        pictures: PNG by name.
    """

    task: str
    success: bool = False
    steps: int = 0
    messages: list[dict[str, Any]] = field(default_factory=list)
    pictures: dict[str, bytes] = field(default_factory=dict, repr=False)

    def to_line(self) -> str:
        """Return it as one line of JSON, without the pictures themselves."""
        kept = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "pictures"}
        return json.dumps(kept, ensure_ascii=False)


class _Prompted:
    """Stands in for the chat model: says what it was told to say next."""

    def __init__(self) -> None:
        self.profile: dict[str, Any] = {"image_inputs": True}
        self.next = ""

    def invoke(self, messages: list[BaseMessage], config: Any = None) -> AIMessage:
        """Say it."""
        return AIMessage(self.next)


def demonstrate(env: WebEnv, task: Task, rng: random.Random, slip: float = 0.1) -> Demonstration:
    """Play a task's script as a conversation.

    Args:
        env: An environment whose observations are those of the pilot's agent.
        task: With `x_confkv.oracle`.
        rng: Decides on slips.
        slip: Share of episodes with a wrong link in them.

    Raises:
        AgentError: The script does not fit the pages.
        InfraError: Browser or site failed.
    """
    mouth = _Prompted()
    agent: Any = load_agent("pilot", model=mouth, constrained="none")
    write_reply = open_agent("pilot").write_reply
    assert write_reply is not None
    oracle: Any = load_agent("oracle")
    observation = env.reset(task)
    agent.reset(task, observation)
    oracle.reset(task, observation)
    made = Demonstration(f"{task.extension.template or task.key}:{task.seed}")
    learned: list[bool] = []
    slip_at = rng.randrange(1, max(2, len(task.oracle) - 1)) if rng.random() < slip else -1
    done = False

    def say(text: str, learn: bool) -> tuple[Observation, bool]:
        mouth.next = text
        decision = agent.act(observation)
        learned.append(learn)
        result = env.step(decision.action)
        if result.error is not None:
            raise AgentError(f"{made.task}: {decision.action}: {result.error}")
        made.steps += 1
        return result.observation, result.done

    while not done:
        if made.steps == slip_at:
            wrong = _wrong_link(observation, rng)
            if wrong is not None:
                before = [(element.role, element.name) for element in observation.elements]
                now = oracle.now
                followed = write_reply(now, f"click [{wrong[1]}]", wrong)
                observation, done = say(followed, learn=False)
                observation, done = say(write_reply(f"wrong page, back\n{now}", "go_back", None), learn=True)
                if [(element.role, element.name) for element in observation.elements] != before:
                    raise AgentError(f"{made.task}: the way back does not lead back")
        decision = oracle.act(observation)
        target = target_of(decision.action, observation)
        observation, done = say(write_reply(decision.thought, decision.action, target), learn=True)
    made.success = all(check.ok for check in env.evaluate())
    made.messages = [_plain(message, made.pictures) for message in agent.messages]
    answers = [message for message in made.messages if message["role"] == "assistant"]
    for answer, learn in zip(answers, learned, strict=True):
        answer["learn"] = learn
    return made


def demonstrations(env: WebEnv, tasks: Iterable[Task], seed: int, slip: float = 0.1) -> Iterator[Demonstration]:
    """Play many tasks; what does not end in success is told by `success`, what does not fit is left out.

    Raises:
        InfraError: Browser or site failed.
    """
    for task in tasks:
        rng = random.Random(f"{seed}:{task.extension.template}:{task.seed}")
        try:
            yield demonstrate(env, task, rng, slip)
        except AgentError:
            yield Demonstration(f"{task.extension.template or task.key}:{task.seed}")


def target_of(action: str, observation: Observation) -> tuple[str, int] | None:
    """Name and number of the element that an action is about."""
    parsed = parse_action(action)
    element = observation.element(parsed.element) if parsed.element is not None else None
    return (element.name, element.id) if element is not None else None


def _wrong_link(observation: Observation, rng: random.Random) -> tuple[str, int] | None:
    """Name and number of a link that leads elsewhere and changes nothing."""
    links = [
        element
        for element in observation.elements
        if element.role == "link" and element.name and not element.name.casefold().startswith(_NEVER_BY_MISTAKE)
    ]
    if not links:
        return None
    chosen = rng.choice(links)
    return chosen.name, chosen.id


def keep_picture(png: bytes, pictures: dict[str, bytes]) -> str:
    """Add a picture to others by name, and return the name: the same picture has the same one."""
    name = hashlib.sha256(png).hexdigest()[:20]
    pictures[name] = png
    return name


_ROLES = {"system": "system", "human": "user", "ai": "assistant"}


def _plain(message: BaseMessage, pictures: dict[str, bytes]) -> dict[str, Any]:
    """A message as data; its pictures are added to `pictures` by name."""
    parts: list[dict[str, str]] = []
    for block in [{"type": "text", "text": message.content}] if isinstance(message.content, str) else message.content:
        assert isinstance(block, dict)
        if block["type"] == "text":
            parts.append({"text": block["text"]})
        else:
            png = base64.b64decode(block["base64"])
            parts.append({"picture": keep_picture(png, pictures)})
    return {"role": _ROLES[message.type], "content": parts}
