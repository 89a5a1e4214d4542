"""The agent that the pilot model was trained with: few words, compact pages, one note and one action a turn.

It is the `react` agent with another form of page, another prompt and, where llguidance is installed, answers held to
the grammar of actions. Any chat model can play it; the pilot knows no other form.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from confkv_agents.web.tasks.oracle import PLAN
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

SYSTEM = "Do the task in the browser. Answer with a short note and one action."

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
# One expression, since rules of their own would be told apart by their beginnings, and a note may begin like an action.
_LINES = f"({PLAN}[^\\n]{{1,400}}\\n)?([^\\n]{{1,240}}\\n)?"
GRAMMAR = f"start: ANSWER\nANSWER: /{_LINES}({'|'.join(_ACTIONS)})/\n"
"""A plan and a note, both optional, then one action, in llguidance's Lark dialect."""


def create_agent(model: BaseChatModel, *, pictures: Pictures = "auto", constrained: bool | None = None) -> PilotAgent:
    """Make the agent.

    Args:
        model: Any LangChain chat model.
        pictures: As for `react`; `auto` is the pictures on the `page` for models that see.
        constrained: Hold answers to `GRAMMAR`; None does so where the model is ours and llguidance is installed.

    Raises:
        ConfigError: There is no such choice of pictures, or some are asked for and the model takes none.
    """
    pictures, sees = chosen_pictures(model, pictures, "page")
    if constrained is None:
        constrained = hasattr(model, "kv") and importlib.util.find_spec("llguidance") is not None
    bound: Any = model.bind(grammar=GRAMMAR) if constrained else model
    return PilotAgent(bound, pictures=pictures, sees=sees, repairs=0, system=SYSTEM)


class PilotAgent(ReactAgent):
    """`ReactAgent` with the pilot's prompt, and pictures where they stand on the page; `create_agent` makes it."""

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

    A plan, which only the first decision has, stands on a line of its own before these.

    Args:
        thought: What is jotted down, or nothing.
        action: In canonical form.
        target: Name and id of the element acted on, or None.
    """
    plan, _, rest = thought.partition("\n") if thought.startswith(PLAN) else ("", "", thought)
    element = f"{quote(target[0], 80)} [{target[1]}]" if target and target[0] else ""
    note = ", ".join(part for part in (rest.strip(), element) if part)
    return "\n".join(line for line in (plan, note, action) if line)
