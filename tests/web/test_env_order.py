"""An environment that is used in the wrong order, or with the wrong values, says so; no browser is started."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from confkv_agents.errors import ActionError, ConfigError, TaskError
from confkv_agents.web.actions import ActionParseError
from confkv_agents.web.env import WebEnv
from confkv_agents.web.observation import Observation
from confkv_agents.web_tools import browser_tools
from tests.web.conftest import task_on

USES: dict[str, Callable[[WebEnv], object]] = {
    "step": lambda env: env.step("wait"),
    "stop": lambda env: env.step("stop [x]"),
    "refuse": lambda env: env.refuse(ActionParseError("no action found")),
    "evaluate": lambda env: env.evaluate(),
    "tool": lambda env: browser_tools(env)[0].invoke({"id": 1}),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_nothing_can_be_done_before_the_first_reset(use: Callable[[WebEnv], object]) -> None:
    with WebEnv() as env, pytest.raises(ActionError, match=r"call reset\(task\) first"):
        use(env)
    assert (env.observation, env.task, env.stop_reason, env.answer) == (None, None, None, None)


@pytest.mark.parametrize("use", [*USES.values(), lambda env: env.reset(task_on())], ids=[*USES, "reset"])
def test_nothing_can_be_done_after_close(use: Callable[[WebEnv], object]) -> None:
    env = WebEnv()
    env._task, env._observation = task_on(), Observation("a page", screenshot=b"")  # as in the midst of an episode
    for _ in range(2):
        env.close()
        with pytest.raises(ActionError, match="this environment was closed"):
            use(env)
    assert env.observation is not None and env.observation.text == "a page"


@pytest.mark.parametrize("bound", [0, -1, True, 2.5, "3"])
def test_a_bound_of_steps_is_a_whole_number_from_one(bound: Any) -> None:
    with pytest.raises(ConfigError, match=r"max_steps is .*whole number from 1"):
        WebEnv(max_steps=bound)
    with WebEnv() as env, pytest.raises(ConfigError, match=r"max_steps is .*whole number from 1"):
        env.reset(task_on(), max_steps=bound)


@pytest.mark.parametrize("nothing", [None, "shop/buy_backpack"])
def test_what_is_no_task_is_refused_at_once(nothing: Any) -> None:
    with WebEnv() as env, pytest.raises(TaskError, match="takes a task from load_tasks, not "):
        env.reset(cast(Any, nothing))
