"""Task files: VisualWebArena's and WebArena's, unchanged, and our own in the same format.

`load_tasks` reads and checks everything before a browser starts. Own additions lie under one key, `x_confkv`.
"""

from confkv_agents.web.tasks.evaluation import Evaluation, HtmlTarget, ImageQuery, ReferenceAnswers
from confkv_agents.web.tasks.loader import Dialect, load_tasks
from confkv_agents.web.tasks.models import Extension, Task, Viewport
from confkv_agents.web.tasks.oracle import OracleAction

__all__ = [
    "Dialect",
    "Evaluation",
    "Extension",
    "HtmlTarget",
    "ImageQuery",
    "OracleAction",
    "ReferenceAnswers",
    "Task",
    "Viewport",
    "load_tasks",
]
