"""Oracle episodes as conversations: what the agent would be asked, with slips that are not learned."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest

from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.agents import open_agent
from confkv_agents.pilot.data import DataOptions, make_data, pictures_of, read_data
from confkv_agents.pilot.demonstrations import Demonstration, demonstrate
from confkv_agents.web.browser import Browser
from confkv_agents.web.env import WebEnv
from confkv_agents.web.observation import ObservationConfig
from confkv_agents.web.sites import SiteSet
from confkv_agents.web.tasks import Task, load_template
from confkv_agents.web.tasks.oracle import parts_of

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def env() -> Iterator[WebEnv]:
    shown = ObservationConfig(**open_agent("pilot").observation)
    with Browser() as browser, SiteSet.start(["shop"]) as sites, WebEnv(browser, sites, observation=shown) as env:
        yield env


@pytest.fixture(scope="module")
def task() -> Task:
    return Task.read(load_template("shop/read_fact").make(1000))


def test_a_scripted_episode_becomes_the_agents_conversation(env: WebEnv, task: Task):
    made = demonstrate(env, task, random.Random(0), slip=0.0)
    assert made.success and made.task == "shop/read_fact:1000" and made.steps == len(task.oracle)
    assert [each["role"] for each in made.messages] == ["system", *["user", "assistant"] * made.steps]
    first = made.messages[1]["content"]
    assert first[0]["text"].startswith(f"Task: {task.intent}\n\nbanner: 'Larkspur Market' [1]; ")
    answers = [each for each in made.messages if each["role"] == "assistant"]
    assert all(each["learn"] for each in answers)
    assert task.extension.plan.startswith("open '") and task.extension.plan in answers[0]["content"][0]["text"]
    assert answers[0]["content"][0]["text"].startswith(f"plan: {task.extension.plan}\n'Search' [2]\ntype [2] [")
    first_part, last_part = parts_of(task.extension.plan)
    assert answers[1]["content"][0]["text"].startswith(f"now: {first_part}\n'")
    assert answers[-1]["content"][0]["text"].endswith(f"\nnow: {last_part}\nstop [{task.oracle[-1].answer}]")


def test_pictures_are_kept_where_they_stand(env: WebEnv, task: Task):
    made = demonstrate(env, task, random.Random(0), slip=0.0)
    home = made.messages[1]["content"]
    assert [*home[0]] == ["text"] and home[0]["text"].endswith("]")
    names = [part["picture"] for message in made.messages for part in message["content"] if "picture" in part]
    assert names and set(names) == set(made.pictures)
    assert all(png.startswith(b"\x89PNG") for png in made.pictures.values())
    assert "pictures" not in json.loads(made.to_line())


def test_a_slip_is_shown_and_not_learned_but_the_way_back_is(env: WebEnv, task: Task):
    made = demonstrate(env, task, random.Random(0), slip=1.0)
    assert made.success and made.steps == len(task.oracle) + 2
    answers = [each for each in made.messages if each["role"] == "assistant"]
    slips = [index for index, each in enumerate(answers) if not each["learn"]]
    assert len(slips) == 1
    assert answers[slips[0] + 1] == {
        "role": "assistant",
        "content": [{"text": f"wrong page, back\nnow: {parts_of(task.extension.plan)[0]}\ngo_back"}],
        "learn": True,
    }


def test_data_is_kept_line_by_line_and_what_is_there_is_not_played_again(tmp_path):
    template = load_template("shop/read_fact")
    there = Demonstration("shop/read_fact:1001", True, 3, [{"role": "system", "content": [{"text": "x"}]}])
    path = tmp_path / "data.jsonl"
    path.write_text(there.to_line() + '\n{"task": "shop/re')  # the last line was cut off
    told: list[str] = []
    options = DataOptions([template], [1000, 1001], path, slip=0.0)
    assert make_data(options, lambda text: len(text) // 4, lambda made, *_: told.append(made.task)) == (2, 0)
    assert told == ["shop/read_fact:1000"]
    names = {
        part["picture"]
        for made in read_data(path)
        for each in made.messages
        for part in each["content"]
        if "picture" in part
    }
    assert names == {file.stem for file in pictures_of(path).iterdir()}
    assert [made.task for made in read_data(path)] == ["shop/read_fact:1001", "shop/read_fact:1000"]


def test_a_line_that_was_cut_off_is_left_out_and_other_nonsense_is_refused(tmp_path):
    good = Demonstration("a:1000", True).to_line()
    path = tmp_path / "data.jsonl"
    path.write_text(f"{good}\n{good[:20]}")
    assert len(read_data(path)) == 1
    path.write_text(f'{good}\n{{"who": 1}}\n{good}\n')
    with pytest.raises(ConfigError, match=r"data\.jsonl:2 is no demonstration"):
        read_data(path)


def test_held_out_seeds_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="seed 7 is held out"):
        DataOptions([load_template("shop/read_fact")], [1000, 7], tmp_path / "x.jsonl")
