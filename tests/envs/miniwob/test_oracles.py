"""The action layer on pages of others: what rules can solve from observations alone is solved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from confkv_agents import plugins
from confkv_agents.errors import AgentError
from confkv_agents.evaluation.agents import load_agent
from confkv_agents.evaluation.episode import run_episode
from confkv_agents.web.browser import Browser
from confkv_agents.web.env import WebEnv
from confkv_agents.web.observation import ObservationConfig
from confkv_agents.web.sites import SiteSet
from confkv_agents.web.tasks import Task, load_tasks

pytestmark = pytest.mark.browser

MINIWOB = plugins.load_module(plugins.find_env("miniwob"), "envs.miniwob")
SEEDS = (2,)
# Of the tasks that miniwob_oracle has rules for, those that take a few steps: one or two of every kind of widget.
PLAYED = """
ascending-numbers buy-ticket choose-date-easy choose-list click-button click-button-sequence click-checkboxes
click-collapsible click-collapsible-2 click-dialog click-dialog-2 click-link click-menu click-option click-tab
click-tab-2-hard click-test-2 click-widget copy-paste email-inbox-delete email-inbox-forward email-inbox-reply
enter-date enter-password enter-text enter-text-2 enter-time find-greatest find-word focus-text focus-text-2
form-sequence-2 grid-coordinate login-user multi-orderings navigate-tree phone-book read-table-2 simple-algebra
simple-arithmetic text-transform use-spinner
""".split()  # noqa: SIM905


@pytest.fixture(scope="module")
def env() -> Iterator[WebEnv]:
    MINIWOB.fetch()
    config = ObservationConfig(marks=False, pictures=0, screenshots=False)
    with Browser() as browser, SiteSet.start(["miniwob"]) as sites, WebEnv(browser, sites, observation=config) as env:
        yield env


def task_of(name: str) -> Task:
    (task,) = load_tasks(plugins.find_task(f"miniwob/{name}"))
    return task


def test_more_than_forty_tasks_are_played() -> None:
    assert len(set(PLAYED)) >= 42 and set(PLAYED) <= set(MINIWOB.NAMES)


@pytest.mark.parametrize("name", PLAYED)
def test_rules_solve_the_task_from_observations_alone(env: WebEnv, name: str) -> None:
    for seed in SEEDS:
        steps: list[Any] = []
        result = run_episode(env, load_agent("miniwob_oracle"), task_of(name), seed=seed, on_step=steps.append)
        story = [(step.action, step.outcome) for step in steps]
        assert result.success is True, f"seed {seed}: {result.stop_reason} {result.error}\n{story}\n{result.checks}"
        assert result.stop_reason == "stop"


def test_a_wrong_click_ends_the_task_with_no_reward_and_the_reason_is_told(env: WebEnv) -> None:
    seen = env.reset(task_of("click-test-2"), seed=2)
    assert seen.goal == "Click button ONE." and env.task is not None and env.task.intent == seen.goal
    (before,) = env.evaluate()
    assert (before.ok, before.got) == (False, "none yet") and "not judged" in before.why
    wrong = next(element.id for element in seen.elements if element.name == "TWO")
    result = env.step(f"click [{wrong}]")
    assert (result.done, result.stop_reason, result.answer) == (True, "stop", None)
    assert "the page ended the task" in result.observation.outcome
    (check,) = env.evaluate()
    assert (check.name, check.expected, check.got, check.ok) == ("site_reward", "a reward of 1 or more", "-1", False)


def test_a_part_of_the_reward_is_no_success(env: WebEnv) -> None:
    """find-greatest gives 0.1 for a wrong card."""
    seen = env.reset(task_of("find-greatest"), seed=2)
    cards = [element for element in seen.elements if element.role == "clickable"]
    least = min(cards, key=lambda element: int(element.name))
    seen = env.step(f"click [{least.id}]").observation
    env.step(f"click [{next(element.id for element in seen.elements if element.name == 'Submit')}]")
    (check,) = env.evaluate()
    assert (check.got, check.ok, check.why) == ("0.1", False, "the page gave a part of the reward")


def test_time_does_not_pass_while_the_agent_thinks(env: WebEnv) -> None:
    """The original ends an episode after ten seconds; here a page's clock moves a second a step and ends nothing."""
    env.reset(task_of("stock-market"), seed=2, max_steps=40)
    prices = [env.observation.text if env.observation else ""]
    for _ in range(3):
        prices.append(env.step("wait").observation.text.partition("\n")[2])
    again = [env.reset(task_of("stock-market"), seed=2, max_steps=40).text]
    for _ in range(3):
        again.append(env.step("wait").observation.text.partition("\n")[2])
    assert again == prices and len(set(prices)) >= 3
    env.reset(task_of("click-test"), seed=2)
    assert not env.step("wait [10]").done and not env.step("wait [10]").done


def test_the_agent_refuses_what_it_has_no_rule_for() -> None:
    agent = plugins.load_module(plugins.find_agent("miniwob_oracle"), "agents.miniwob_oracle")
    assert set(agent.SOLVERS) <= set(MINIWOB.NAMES) and len(agent.SOLVERS) >= 70
    with pytest.raises(AgentError, match="no rule for this task"):
        agent.check_task(task_of("click-pie"))
