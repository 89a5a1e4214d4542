"""The agent that the pilot model was trained with: few words, compact pages, a plan, and one action a turn.

The first answer begins with a plan; every later one says which part of it is being done now, after a note of what was
read and before the element and the action, so that what is done next hangs on the words just written and not on a plan
thousands of tokens ago. It is the `react` agent with another form of page, another prompt and, where llguidance is
installed, answers held to a grammar. Any chat model can play it; the pilot knows no other form.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from confkv_agents.web.tasks.oracle import NOW, PLAN
from confkv_agents.web.text import quote

from .react import Pictures, ReactAgent, chosen_pictures, picture_block, text_block

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from confkv_agents.web.observation import Observation, Picture

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


def create_agent(model: BaseChatModel, *, pictures: Pictures = "auto", constrained: bool | None = None) -> PilotAgent:
    """Make the agent.

    Args:
        model: Any LangChain chat model.
        pictures: As for `react`; `auto` is the pictures on the `page` for models that see.
        constrained: Hold the first answer to `FIRST_GRAMMAR` and the others to `GRAMMAR`; None does so where the
            model is ours and llguidance is installed.

    Raises:
        ConfigError: There is no such choice of pictures, or some are asked for and the model takes none.
    """
    pictures, sees = chosen_pictures(model, pictures, "page")
    if constrained is None:
        constrained = hasattr(model, "kv") and importlib.util.find_spec("llguidance") is not None
    first, later = ((model.bind(grammar=each) if constrained else model) for each in (FIRST_GRAMMAR, GRAMMAR))
    return PilotAgent(later, first=first, pictures=pictures, sees=sees, repairs=0, system=SYSTEM)


class PilotAgent(ReactAgent):
    """`ReactAgent` with a plan, and pictures where they stand on the page; `create_agent` makes it."""

    def __init__(self, model: Any, *, first: Any, **more: Any) -> None:
        super().__init__(model, **more)
        self._first = first

    def _model_asked(self) -> Any:
        planned = any(message.type == "ai" for message in self.messages)
        return self._model if planned else self._first

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
    element = f"{quote(target[0], 80)} [{target[1]}]" if target and target[0] else ""
    if lines and not lines[-1].startswith((PLAN, NOW)):
        element = ", ".join(part for part in (lines.pop().strip(), element) if part)
    return "\n".join(line for line in (*lines, element, action) if line)
