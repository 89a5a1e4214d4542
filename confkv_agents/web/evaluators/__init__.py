"""Checks that decide whether an episode succeeded: a list of explained findings, never a bare number.

An evaluator is a file here with a function `(task, input) -> list[Check]` and an entry in `EVALUATORS`.
"""

from confkv_agents.web.evaluators.base import Check, EvaluationInput, EvaluatorPage, succeeded
from confkv_agents.web.evaluators.judging import Finding, Judged, settle
from confkv_agents.web.evaluators.means import Judge, Means, ShopAccess, Verdict, VisualJudge
from confkv_agents.web.evaluators.run import EVALUATORS, collect, evaluate

__all__ = [
    "EVALUATORS",
    "Check",
    "EvaluationInput",
    "EvaluatorPage",
    "Finding",
    "Judge",
    "Judged",
    "Means",
    "ShopAccess",
    "Verdict",
    "VisualJudge",
    "collect",
    "evaluate",
    "settle",
    "succeeded",
]
