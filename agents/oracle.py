"""Plays a task's scripted solution through the same observations and actions as any agent.

The script names elements by role and name, as a person would. This agent looks for them among the elements
that the observation shows, scrolls when they are not in view, and writes the ordinary action string with
the number shown. There is no back door into the page: what the oracle can do, a model could do.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from confkv_agents.errors import AgentError
from confkv_agents.evaluation.agents import Decision
from confkv_agents.web.actions import Action, format_action
from confkv_agents.web.tasks.oracle import NOW, PLAN, parts_of

if TYPE_CHECKING:
    from confkv_agents.web.observation import Element, Observation
    from confkv_agents.web.tasks import OracleAction, Task

NEEDS_MODEL = False

_ID = re.compile(r"(?<!\\)\[(\d+)\]")
_TEXT_KEYS = ("option", "file", "keys", "url", "answer", "reason")


def create_agent(model: Any = None, *, script: Literal["oracle", "near_miss"] = "oracle") -> OracleAgent:
    """Make the agent; it needs no model.

    Args:
        model: Ignored.
        script: `oracle` plays the solution; `near_miss` plays the script that almost solves the task and must fail.
    """
    return OracleAgent(script)


def check_task(task: Task) -> None:
    """Refuse a task without a scripted solution.

    Raises:
        AgentError: There is none.
    """
    if not task.oracle:
        raise AgentError(f"{task.source}: the task has no x_confkv.oracle, so the oracle agent cannot play it")


class OracleAgent:
    """Plays one script; `create_agent` makes it."""

    def __init__(self, script: Literal["oracle", "near_miss"] = "oracle") -> None:
        self._which = script
        self._script: list[OracleAction] = []
        self._length = 0
        self._plan = ""
        self._parts: list[str] = []
        self._part = 0
        self._task: Task | None = None
        self._search = _Search()

    def reset(self, task: Task, observation: Observation) -> None:
        """Begin a script."""
        self._task = task
        self._script = list(getattr(task.extension, self._which))
        if not self._script:
            raise AgentError(f"{task.source}: the task has no x_confkv.{self._which}")
        self._length = len(self._script)
        self._plan = task.extension.plan
        self._parts = parts_of(self._plan)
        self._part = 0
        self._search = _Search()

    def act(self, observation: Observation) -> Decision:
        """Play the next action, or scroll towards the element it names.

        Raises:
            AgentError: The script is at its end, or the element is nowhere on the page.
        """
        if not self._script:
            raise AgentError(f"{self._where()}: the script is at its end and the episode goes on; end it with stop")
        step = self._script[0]
        if step.part is not None:
            self._part = step.part
        ids: list[int] = []
        for target in _targets(step):
            element = find_element(observation, target)
            if element is None:
                direction = self._search.next_direction(observation)
                if direction is None:
                    raise AgentError(f"{self._where()}: {_missing(target, observation)}")
                return self._decide(f"scroll [{direction}]", f"looking for {_in_words(target)}")
            ids.append(element.id)
        self._search = _Search()
        self._script.pop(0)
        return self._decide(action_text(step, ids), step.note)

    @property
    def now(self) -> str:
        """The line that says which part of the plan is being done, or nothing if there is no plan."""
        return f"{NOW}{self._parts[self._part]}" if self._parts else ""

    def _decide(self, action: str, thought: str) -> Decision:
        """A decision; the first one begins with the plan, the others end with the part of it that is being done."""
        plan, self._plan = self._plan, ""
        lines = (f"{PLAN}{plan}", thought) if plan else (thought, self.now)
        return Decision(action, thought="\n".join(line for line in lines if line))

    def _where(self) -> str:
        source = self._task.source if self._task is not None else "no task"
        return f"{source}: oracle action {self._length - len(self._script) + 1}"


class _Search:
    """Scrolls down to the page's end, then up to its start, and then gives up."""

    def __init__(self) -> None:
        self._directions = ["down", "up"]
        self._seen: object = None

    def next_direction(self, observation: Observation) -> str | None:
        scroll = observation.scroll
        view = (observation.url, scroll, tuple((each.ref, each.box) for each in observation.elements))
        more = {"down": scroll.below > 1 or observation.left_out > 0, "up": scroll.above > 1}
        if self._directions and view == self._seen:
            self._directions.pop(0)
        while self._directions and not more[self._directions[0]]:
            self._directions.pop(0)
        self._seen = view
        return self._directions[0] if self._directions else None


def find_element(observation: Observation, target: Any) -> Element | None:
    """The element in view that a script means: by role and name, the `nth` of several.

    With `near`, only elements count that the observation's text lists at or after the first line with those
    words.
    """
    matches = [
        element
        for element in observation.elements
        if element.role == target.role and element.name == " ".join(target.name.split())
    ]
    near = getattr(target, "near", None)
    if near is not None:
        first = _first_id_after(observation.text, near)
        matches = [] if first is None else [element for element in matches if element.id >= first]
    return matches[target.nth] if target.nth < len(matches) else None


def _first_id_after(text: str, words: str) -> int | None:
    """The first id at or after the line with `words`; names cannot forge one, their brackets are escaped."""
    found = False
    for line in text.splitlines():
        found = found or words in line.replace("\\", "")
        identity = _ID.search(line)
        if found and identity:
            return int(identity[1])
    return None


def action_text(step: OracleAction, ids: list[int]) -> str:
    """The action string for a script's action, given the ids of the elements that it names."""
    values = step.model_dump()
    element = ids[0] if ids else None
    match step.action:
        case "drag":
            action = Action("drag", element=element, target=ids[1])
        case "tab_focus":
            action = Action("tab_focus", target=step.index)
        case "dialog":
            action = Action("dialog", accept=step.accept, text=step.text)
        case "type":
            action = Action("type", element=element, text=step.text, enter=step.enter)
        case "scroll":
            action = Action("scroll", element=element, direction=step.direction)
        case _:
            words = next((values[key] for key in _TEXT_KEYS if key in values), "")
            action = Action(step.action, element=element, text=words)
    return format_action(action)


def _targets(step: Any) -> list[Any]:
    """The elements that an oracle action names."""
    targets = [step] if getattr(step, "role", None) is not None else []
    return [*targets, step.to] if step.action == "drag" else targets


def _in_words(target: Any) -> str:
    place = f", number {target.nth + 1}" if target.nth else ""
    near = f", after {target.near!r}" if getattr(target, "near", None) else ""
    return f"{target.role} {target.name!r}{place}{near}"


def _missing(target: Any, observation: Observation) -> str:
    names = [repr(element.name) for element in observation.elements if element.role == target.role]
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return (
        f"no {_in_words(target)} on {observation.url} (searched by scrolling to both ends); "
        f"elements of role {target.role!r} in view: {shown or 'none'}"
    )
