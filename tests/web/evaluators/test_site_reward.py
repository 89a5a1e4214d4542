"""site_reward: the full reward is a success, a part of it is none, and what the page says is told."""

from __future__ import annotations

from typing import Any

import pytest

from confkv_agents.errors import InfraError
from confkv_agents.web.evaluators import EvaluationInput, evaluate
from confkv_agents.web.tasks import Task

TASK = Task.read(
    {"sites": ["game"], "intent": "Play.", "start_url": "http://game.test", "eval": {"eval_types": ["site_reward"]}}
)


class Sites:
    def __init__(self, **state: Any) -> None:
        self._state = state

    def state(self, name: str) -> dict[str, Any]:
        assert name == "game"
        return self._state


@pytest.mark.parametrize(
    ("state", "ok", "got", "why"),
    [
        ({"over": True, "reward": 1.0, "reason": None}, True, "1", "the page gave the full reward"),
        ({"over": True, "reward": 1.5}, True, "1.5", "the page gave the full reward"),
        ({"over": True, "reward": 0.999}, False, "0.999", "the page gave a part of the reward"),
        ({"over": True, "reward": 0, "reason": "timed\nout"}, False, "0", "the page gave no reward: timed out"),
        ({"over": True, "reward": -1}, False, "-1", "the page gave no reward"),
        ({"over": False, "reward": 1.0}, False, "none yet", "the page has not judged"),
        ({}, False, "none yet", "the page has not judged"),
    ],
)
def test_only_a_full_reward_of_a_page_that_has_judged_counts(
    state: dict[str, Any], ok: bool, got: str, why: str
) -> None:
    (check,) = evaluate(TASK, EvaluationInput(sites=Sites(**state)))  # type: ignore[arg-type]
    assert (check.name, check.expected, check.got, check.ok) == ("site_reward", "a reward of 1 or more", got, ok)
    assert check.why.startswith(why)


def test_without_sites_nothing_is_known() -> None:
    with pytest.raises(InfraError, match="needs the running sites"):
        evaluate(TASK, EvaluationInput())
