"""Every task can be solved in a real browser with nothing but observations and actions, and almost is not enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from confkv_agents.evaluation.agents import Decision, load_agent
from confkv_agents.evaluation.batch.kinds import kinds_of
from confkv_agents.evaluation.episode import run_episode
from confkv_agents.pilot.demonstrations import target_of
from confkv_agents.plugins import data_dir, find_agent, load_module
from confkv_agents.web.browser import Browser
from confkv_agents.web.env import WebEnv
from confkv_agents.web.observation import Observation, ObservationConfig
from confkv_agents.web.settle import SettleLimits
from confkv_agents.web.sites import SiteSet
from confkv_agents.web.tasks import Task, load_tasks
from confkv_agents.web.tasks.oracle import NOW, PLAN, parts_of
from tests.grammars import accepts
from tests.notes import unread

pytestmark = pytest.mark.browser

PILOT = load_module(find_agent("pilot"), "agents.pilot")
TASKS = load_tasks(data_dir("tasks"))
NEAR_MISSES = [task for task in TASKS if task.extension.near_miss]


@pytest.fixture(scope="module")
def env() -> Iterator[WebEnv]:
    sites = sorted({name for task in TASKS for name in task.sites})
    config = ObservationConfig(marks=False, pictures=0, screenshots=False)
    limits = SettleLimits(pictures=False)
    with (
        Browser(images=False) as browser,
        SiteSet.start(sites) as running,
        WebEnv(browser, running, observation=config, limits=limits) as env,
    ):
        yield env


class Watched:
    """An actor, and which of its answers, in the pilot's words, the pilot could not have given."""

    def __init__(self, agent: Any):
        self._agent = agent
        self._parts: list[str] = []
        self._at = 0
        self.refused: list[str] = []

    def reset(self, task: Task, observation: Observation) -> None:
        self._agent.reset(task, observation)
        self._parts, self._at = [], 0

    def act(self, observation: Observation) -> Decision:
        decision = self._agent.act(observation)
        answer = PILOT.write_reply(decision.thought, decision.action, target_of(decision.action, observation))
        first = not self._parts
        grammar = (
            PILOT.later_grammar(observation, self._parts, self._at) if not first else PILOT.first_grammar(observation)
        )
        if not accepts(answer, grammar):
            self.refused.append(answer)
        if first:
            self._parts = parts_of(answer.split("\n")[0].removeprefix(PLAN))
        elif (now := [line for line in answer.split("\n") if line.startswith(NOW)]) != [NOW + self._parts[self._at]]:
            self._at += 1
            assert now == [NOW + self._parts[self._at]]
        return decision


def play(env: WebEnv, task: Task, script: str, agent: Any = None):
    agent = agent or load_agent("oracle", script=script)
    steps = []
    result = run_episode(env, agent, task, on_step=steps.append)
    failed = [check for check in result.checks if not check["ok"]]
    told = [(step.action, step.error) for step in steps]
    return result, steps, f"{result.stop_reason}: {result.error}\nsteps: {told}\nfailed checks: {failed}"


def test_there_are_tasks_of_every_kind_of_three_to_fifteen_steps():
    assert len(TASKS) >= 90
    assert all(3 <= len(task.oracle) <= 15 for task in TASKS)
    of_site = Counter(task.sites[0] for task in TASKS if len(task.sites) == 1)
    assert all(of_site[site] >= 25 for site in ("shopping", "classifieds", "reddit")), of_site
    kinds = Counter(kind for task in TASKS for kind in kinds_of(task))
    assert kinds["cross-site"] >= 10 and kinds["visual"] >= 40 and kinds["long-memory"] >= 40, kinds
    assert sum(task.oracle[-1].action == "fail" for task in TASKS) >= 5


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.key)
def test_the_scripted_solution_succeeds_and_notes_only_what_it_has_read(env: WebEnv, task: Task):
    actor = Watched(load_agent("oracle"))
    result, steps, story = play(env, task, "oracle", actor)
    assert result.success is True, story
    assert not actor.refused
    assert result.stop_reason == "stop", story
    assert result.steps <= (task.max_steps or 30), story
    notes = {step.note for step in task.oracle if step.note}
    read, pictures = [task.intent], task.visual_difficulty in ("medium", "hard")
    told = set()
    for step in steps:
        read.append(step.observation)
        for note in notes.intersection(step.thought.split("\n")):
            told.add(note)
            missing = unread(note, read, step.observation, pictures)
            assert not missing, f"{step.thought!r} before {step.action}: {missing} could not be read yet"
    assert told == notes


@pytest.mark.parametrize("task", NEAR_MISSES, ids=lambda task: task.key)
def test_a_near_miss_runs_to_its_end_and_fails(env: WebEnv, task: Task):
    result, _, story = play(env, task, "near_miss")
    assert result.stop_reason == "stop", story
    assert result.success is False, story
