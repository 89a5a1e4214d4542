"""Oracle episodes as conversations: what the agent would be asked, with slips that are not learned."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import asdict

import pytest

from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.agents import open_agent
from confkv_agents.pilot.data import DataOptions, make_data, read_data
from confkv_agents.pilot.demonstrations import Demonstration, demonstrate
from confkv_agents.web.browser import Browser
from confkv_agents.web.env import WebEnv
from confkv_agents.web.observation import ObservationConfig
from confkv_agents.web.sites import SiteSet
from confkv_agents.web.tasks import Task, load_template

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def env() -> Iterator[WebEnv]:
    shown = ObservationConfig(**dict(open_agent("pilot").observation) | {"pictures": 0, "screenshots": False})
    with Browser() as browser, SiteSet.start(["shop"]) as sites, WebEnv(browser, sites, observation=shown) as env:
        yield env


@pytest.fixture(scope="module")
def task() -> Task:
    return Task.read(load_template("shop/read_fact").make(1000))


def test_a_scripted_episode_becomes_the_agents_conversation(env: WebEnv, task: Task):
    made = demonstrate(env, task, random.Random(0), slip=0.0)
    assert made.success and made.task == "shop/read_fact:1000" and made.steps == len(task.oracle)
    assert [each["role"] for each in made.messages] == ["system", *["user", "assistant"] * made.steps]
    assert made.messages[1]["text"].startswith(f"Task: {task.intent}\n\nbanner: 'Larkspur Market' [1]; ")
    answers = [each for each in made.messages if each["role"] == "assistant"]
    assert all(each["learn"] for each in answers)
    assert answers[0]["text"].startswith("'Search' [2]\ntype [2] [")
    assert answers[-1]["text"].endswith(f"stop [{task.oracle[-1].answer}]")


def test_a_slip_is_shown_and_not_learned_but_the_way_back_is(env: WebEnv, task: Task):
    made = demonstrate(env, task, random.Random(0), slip=1.0)
    assert made.success and made.steps == len(task.oracle) + 2
    answers = [each for each in made.messages if each["role"] == "assistant"]
    slips = [index for index, each in enumerate(answers) if not each["learn"]]
    assert len(slips) == 1
    assert answers[slips[0] + 1] == {"role": "assistant", "text": "wrong page, back\ngo_back", "learn": True}


def test_data_is_kept_line_by_line_and_what_is_there_is_not_played_again(tmp_path):
    template = load_template("shop/read_fact")
    there = Demonstration("shop/read_fact:1001", True, 3, [{"role": "system", "text": "x"}])
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(asdict(there)) + '\n{"task": "shop/re')  # the last line was cut off
    told: list[str] = []
    options = DataOptions([template], [1000, 1001], path, slip=0.0)
    assert make_data(options, lambda text: len(text) // 4, lambda made, *_: told.append(made.task)) == (2, 0)
    assert told == ["shop/read_fact:1000"]
    assert [made.task for made in read_data(path)] == ["shop/read_fact:1001", "shop/read_fact:1000"]


def test_a_line_that_was_cut_off_is_left_out_and_other_nonsense_is_refused(tmp_path):
    good = json.dumps(asdict(Demonstration("a:1000", True)))
    path = tmp_path / "data.jsonl"
    path.write_text(f"{good}\n{good[:20]}")
    assert len(read_data(path)) == 1
    path.write_text(f'{good}\n{{"who": 1}}\n{good}\n')
    with pytest.raises(ConfigError, match=r"data\.jsonl:2 is no demonstration"):
        read_data(path)


def test_held_out_seeds_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="seed 7 is held out"):
        DataOptions([load_template("shop/read_fact")], [1000, 7], tmp_path / "x.jsonl")
