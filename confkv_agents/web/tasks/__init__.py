"""Task files: VisualWebArena's and WebArena's, unchanged, and our own in the same format.

`load_tasks` reads and checks everything before a browser starts. Own additions lie under one key, `x_confkv`.
"""

from confkv_agents.web.tasks.evaluation import Evaluation, HtmlTarget, ImageQuery, ReferenceAnswers
from confkv_agents.web.tasks.loader import Dialect, load_tasks
from confkv_agents.web.tasks.models import Extension, Task, Viewport
from confkv_agents.web.tasks.oracle import OracleAction, begin
from confkv_agents.web.tasks.splits import HELD_OUT_SEEDS, Split, is_held_out, split_of
from confkv_agents.web.tasks.templates import (
    Draft,
    Drawing,
    Template,
    Unfit,
    available_templates,
    find_templates,
    load_template,
    make_tasks,
)
from confkv_agents.web.tasks.worlds import World

__all__ = [
    "HELD_OUT_SEEDS",
    "Dialect",
    "Draft",
    "Drawing",
    "Evaluation",
    "Extension",
    "HtmlTarget",
    "ImageQuery",
    "OracleAction",
    "ReferenceAnswers",
    "Split",
    "Task",
    "Template",
    "Unfit",
    "Viewport",
    "World",
    "available_templates",
    "begin",
    "find_templates",
    "is_held_out",
    "load_tasks",
    "load_template",
    "make_tasks",
    "split_of",
]
