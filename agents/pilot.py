"""The agent that the pilot model was trained with: few words, compact pages, a plan, and one action a turn.

The first answer begins with a plan; every later one says which part of it is being done now, after a note of what was
read and before the element and the action, so that what is done next hangs on the words just written and not on a plan
thousands of tokens ago. It is the `react` agent with another form of page, another prompt and, where llguidance is
installed, answers held to a grammar: of what the page admits, and of the model's own plan, part by part. Any chat model
can play it; the pilot knows no other form.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, get_args

from confkv_agents.errors import ConfigError
from confkv_agents.web.actions.possible import TERMINALS, possible
from confkv_agents.web.tasks.oracle import NOW, PLAN, parts_of
from confkv_agents.web.text import quote

from .react import Pictures, ReactAgent, chosen_pictures, picture_block, text_block

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from confkv_agents.evaluation.agents import Decision
    from confkv_agents.web.observation import Element, Observation, Picture
    from confkv_agents.web.tasks import Task

NEEDS_MODEL = True

OBSERVATION: dict[str, Any] = {
    "format": "compact",
    "max_tokens": 1024,
    "max_options": 6,
    "max_name": 160,
    "pictures": 6,
    "min_picture": 96,
    "marks": False,
}
"""How pages are shown, as `ObservationConfig` takes it."""

SYSTEM = (
    "Do the task in the browser. Begin with a plan; then write a short note, the part of the plan that is done now, "
    "and one action."
)

_ID, _TEXT = r"\[[0-9]{1,3}\]", r"\[[^\n\[\]]{1,300}\]"
_ACTIONS = (
    f"(click|hover|clear|tab_focus|drag {_ID}) {_ID}",
    f"type {_ID} {_TEXT}( \\[1\\])?",
    f"(select|upload) {_ID} {_TEXT}",
    f"scroll ({_ID} )?\\[(down|up)\\]",
    f"(press|goto) {_TEXT}",
    r"dialog \[(accept|dismiss)\]",
    r"(stop|fail) \[[^\n\[\]]{0,300}\]",
    "go_back|go_forward|new_tab|close_tab|wait",
)
_NOTE = r"([^\n]{1,240}\n)?"


def _grammar(lines: str) -> str:
    """Lines, then an action: one expression, since rules of their own would be told apart by their beginnings."""
    return f"start: ANSWER\nANSWER: /{lines}({'|'.join(_ACTIONS)})/\n"


FIRST_GRAMMAR = _grammar(f"{PLAN}[^\\n]{{1,400}}\\n{_NOTE}")
"""A plan, a note or none, then one action, in llguidance's Lark dialect."""
GRAMMAR = _grammar(f"{_NOTE}{NOW}[^\\n]{{1,400}}\\n{_NOTE}")
"""A note or none, the plan's part that is being done, the element's line or none, then one action."""

Held = Literal["auto", "page", "form", "none"]
_LINE = r"[^\n]{1,400}\n"
# What is jotted down is no element's line, which ends in a bracket, and no part of the plan.
_JOTTED = r"/([^n\n]|n[^o\n]|no[^w\n]|now[^:\n])[^\n]{0,240}/ /[^\n\]]\n/"


def first_grammar(observation: Observation) -> str:
    """A plan, a note or none, then an action that the page admits, in llguidance's Lark dialect.

    Args:
        observation: The page; an element that is acted on is named in the line before.
    """
    noted = r'(/[^\n]{0,240}[^\n\]]/ (", " | "\n"))?'
    return f'start: ANSWER\nANSWER: "{PLAN}" /{_LINE}/ {noted} {possible(observation, _named)}\n{TERMINALS}'


def later_grammar(observation: Observation, parts: Sequence[str], at: int) -> str:
    """A note or none, the plan's part that is done now, then an action that the page admits.

    Args:
        observation: The page.
        parts: Of the model's own plan, in order.
        at: Which one is being done. This or the next one is done now, and only at the last one the task is done.
            With no parts any is.
    """
    actions = possible(observation, _named, stop=False)
    if not parts:
        now = f'/{_LINE}/ ({actions} | "stop " REASON)'
    else:
        near = [json.dumps(f"{part}\n", ensure_ascii=False) for part in parts[at : at + 2]]
        now = f"({' | '.join(near)}) {actions}"
        if at + 2 >= len(parts):
            now = f'{now} | {near[-1]} "stop " REASON'
    return f'start: ANSWER\nANSWER: ({_JOTTED})? "{NOW}" ({now})\n{TERMINALS}'


def create_agent(model: BaseChatModel, *, pictures: Pictures = "auto", constrained: Held = "auto") -> PilotAgent:
    """Make the agent.

    Args:
        model: Any LangChain chat model.
        pictures: As for `react`; `auto` is the pictures on the `page` for models that see.
        constrained: What answers are held to: the elements, options and tabs of the `page` and the parts of the
            model's own plan in their order; their `form` alone; or nothing (`none`). `auto` is the `page` where the
            model is ours and llguidance is installed, else nothing.

    Raises:
        ConfigError: There is no such choice, or pictures are asked for and the model takes none.
    """
    pictures, sees = chosen_pictures(model, pictures, "page")
    if constrained not in get_args(Held):
        raise ConfigError(f"constrained is {constrained!r}; choose one of {', '.join(get_args(Held))}")
    if constrained == "auto":
        ours = hasattr(model, "kv") and importlib.util.find_spec("llguidance") is not None
        constrained = "page" if ours else "none"
    return PilotAgent(model, constrained=constrained, pictures=pictures, sees=sees, repairs=0, system=SYSTEM)


class PilotAgent(ReactAgent):
    """`ReactAgent` with a plan, and pictures where they stand on the page; `create_agent` makes it."""

    def __init__(self, model: Any, *, constrained: Held, **more: Any) -> None:
        super().__init__(model, **more)
        self._constrained = constrained
        self._parts: list[str] = []
        self._part = 0

    def reset(self, task: Task, observation: Observation) -> None:
        """Begin a new conversation about a task."""
        super().reset(task, observation)
        self._parts, self._part = [], 0

    def act(self, observation: Observation) -> Decision:
        """Show the page and ask for the next action; follow the plan."""
        first = self._is_first()
        decision = super().act(observation)
        for line in decision.thought.splitlines():
            if first and line.startswith(PLAN) and not self._parts:
                # A part that comes twice in a row could not be left.
                self._parts = [part for part, _ in groupby(parts_of(line.removeprefix(PLAN))) if part.strip()]
            elif line.startswith(NOW) and line.removeprefix(NOW) in self._parts[self._part + 1 : self._part + 2]:
                self._part += 1
        return decision

    def _is_first(self) -> bool:
        """Whether the next answer is the first one, which has the plan."""
        return not any(message.type == "ai" for message in self.messages)

    def _model_asked(self, observation: Observation) -> Any:
        first = self._is_first()
        match self._constrained:
            case "page":
                held = first_grammar(observation) if first else later_grammar(observation, self._parts, self._part)
            case "form":
                held = FIRST_GRAMMAR if first else GRAMMAR
            case _:
                return self._model
        return self._model.bind(grammar=held)

    def _show(self, observation: Observation) -> list[dict[str, Any]]:
        pictures = self._on_page(observation)
        if self._pictures not in ("page", "blank") or not pictures:
            return super()._show(observation)
        lines = observation.text.split("\n")
        after: dict[int, list[bytes]] = {}
        for picture in pictures:
            after.setdefault(_line_of(picture, lines), []).append(picture.png)
        blocks, start = [], 0
        for end in sorted({*(line + 1 for line in after), len(lines)}):
            if start < end:
                blocks.append(text_block(("\n" if start else "") + "\n".join(lines[start:end])))
            blocks += map(picture_block, after.get(end - 1, []))
            start = end
        return blocks


def _line_of(picture: Picture, lines: list[str]) -> int:
    """Number of the line that a picture belongs to: its element's, or that of its own text; else the last."""
    if picture.element_id is not None:
        ends = f"[{picture.element_id}]"
    else:
        ends = f"picture {quote(picture.alt, OBSERVATION['max_name'])}"
    found = (number for number, line in enumerate(lines) if line.endswith(ends) or f"{ends}; " in line)
    return next(found, len(lines) - 1)


def write_reply(thought: str, action: str, target: tuple[str, int] | None) -> str:
    """Word a decision as the pilot does: what the script jots down and the element acted on, then the action.

    A plan, which only the first decision has, stands on a line of its own before these; the plan's part that is being
    done, which the others have, on one between what is jotted down and the element.

    Args:
        thought: What is jotted down, or nothing.
        action: In canonical form.
        target: Name and id of the element acted on, or None.
    """
    lines = [line for line in thought.splitlines() if line.strip()]
    element = _element(*target) if target else ""
    if lines and not lines[-1].startswith((PLAN, NOW)):
        element = ", ".join(part for part in (lines.pop().strip(), element) if part)
    return "\n".join(line for line in (*lines, element, action) if line)


def _element(name: str, number: int) -> str:
    return f"{quote(name, 80)} [{number}]" if name else ""


def _named(element: Element) -> str:
    """The line before an action on an element."""
    return f"{line}\n" if (line := _element(element.name, element.id)) else ""
