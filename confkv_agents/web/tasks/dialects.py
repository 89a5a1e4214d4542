"""The named dialects: whose meaning of a task file's fields holds, and how an episode is judged.

Scores of two dialects are not comparable; a file never says which one it means, so it is always given by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Dialect = Literal["vwa", "webarena", "browsergym", "browsergym-webarena"]
Rules = Literal["vwa", "webarena"]


@dataclass(frozen=True)
class Manner:
    """How a dialect has it.

    Attributes:
        rules: Whose evaluators: VisualWebArena's or WebArena's.
        every_step: The episode is judged after every step: it ends as soon as every check holds, and fails as soon as
            a tab shows an address of no site.
        first_tab: Of several start pages the first is the active one; else the last.
        no_answer: What is judged as the answer of an agent that gave none.
    """

    rules: Rules
    every_step: bool = False
    first_tab: bool = True
    no_answer: str = ""


DIALECTS: dict[str, Manner] = {
    "vwa": Manner("vwa"),
    "webarena": Manner("webarena"),
    "browsergym": Manner("vwa", every_step=True, first_tab=False, no_answer="whatever"),
    "browsergym-webarena": Manner("webarena", every_step=True, first_tab=False, no_answer="whatever"),
}
"""Name of a dialect -> how it has it."""


def rules_of(dialect: str) -> Rules:
    """Whose evaluators a dialect has."""
    return DIALECTS[dialect].rules
