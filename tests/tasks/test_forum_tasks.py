"""The task files of the forum and across forum and shop: complete, distinct, and true of what their seed gives."""

from __future__ import annotations

import importlib
import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from confkv_agents import plugins
from confkv_agents.web.sitekit import build_pristine
from confkv_agents.web.tasks import load_tasks

FOLDER = plugins.data_dir("tasks")
ALL = {name: load_tasks(FOLDER / name) for name in ("forum", "cross")}
# Those that no template has made; what templates make is true by the way it is made.
FORUM, CROSS = ({task.key: task for task in ALL[name] if not task.extension.template} for name in ("forum", "cross"))
TASKS = FORUM | CROSS
SEED = 7
# Which tasks need eyes, and which need a fact from early on that stands nowhere later.
PICTURES = {"tide_count", "coloured_cakes", "bird_count", "tent_colour", "fish_forum", "delete_own", "same_colour"}
MEMORY = {"hut_key", "paint_number", "umbrella_bio", "table_sign", "tent_colour", "office_order", "sku_comment"}


@pytest.fixture(scope="module")
def state() -> dict[str, Any]:
    site = plugins.load_module(plugins.find_env("forum"), "envs.forum")
    board = f"{site.__name__}.board"
    schema = (plugins.find_env("forum") / "board" / "schema.sql").read_text("utf-8")
    database = build_pristine(schema, importlib.import_module(f"{board}.seeding").seed_database, SEED)
    database.row_factory = sqlite3.Row
    return dict(importlib.import_module(f"{board}.state").read_state(database, SEED))


@pytest.fixture(scope="module")
def goods() -> dict[str, tuple[str, int]]:
    site = plugins.load_module(plugins.find_env("shop"), "envs.shop")
    shop = importlib.import_module(f"{site.__name__}.store.database").build_pristine(SEED)
    return {row[0]: (row[1], row[2]) for row in shop.execute("SELECT name, sku, stock FROM product")}


def required(key: str, index: int = 0) -> Any:
    return TASKS[key].evaluation.program_html[index].required_contents


def post(state: dict[str, Any], start: str) -> dict[str, Any]:
    (found,) = [each for each in state["posts"] if each["title"].startswith(start)]
    return dict(found)


def facts(state: dict[str, Any], start: str) -> dict[str, Any]:
    return dict(state["facts"][str(post(state, start)["id"])])


def code(each: dict[str, Any]) -> str:
    return re.findall(r"\*\*([A-Z]{2}-\d{3})\*\*", each["body"])[0]


def test_there_are_enough_of_each_kind() -> None:
    assert len(FORUM) >= 12
    assert len(CROSS) >= 3
    assert len(PICTURES & FORUM.keys()) >= 5
    assert len(MEMORY & FORUM.keys()) >= 4
    for tasks in (FORUM, CROSS):
        for field in ("task_id", "intent", "intent_template_id"):
            assert len({getattr(task, field) for task in tasks.values()}) == len(tasks)
    used = {kind for task in TASKS.values() for kind in task.evaluation.eval_types}
    assert used == {"string_match", "url_match", "program_html"}


def test_with_those_from_templates_there_are_enough_for_memory_and_eyes() -> None:
    assert len(ALL["forum"]) >= 27
    assert len(ALL["cross"]) >= 12
    tasks = [*ALL["forum"], *ALL["cross"]]
    assert sum("long-memory" in task.extension.tags for task in tasks) >= 16
    assert sum(task.visual_difficulty != "easy" for task in tasks) >= 12
    assert sum(task.oracle[-1].action == "fail" for task in tasks) >= 2


@pytest.mark.parametrize("key", TASKS)
def test_file_is_complete(key: str) -> None:
    task = TASKS[key]
    raw = json.loads(Path(task.source).read_text("utf-8"))
    assert task.seed == SEED
    assert not task.unsupported
    filled = raw["intent_template"]
    for name, value in raw["instantiation_dict"].items():
        filled = filled.replace("{{" + name + "}}", str(value))
    assert filled == raw["intent"]
    assert (task.storage_state is not None) == task.require_login


@pytest.mark.parametrize("key", TASKS)
def test_scripts_end_and_fit(key: str) -> None:
    task = TASKS[key]
    for script in (task.oracle, task.extension.near_miss):
        assert 3 <= len(script) <= 15
        assert script[-1].action in ("stop", "fail")
        assert all(step.action not in ("stop", "fail") for step in script[:-1])
        assert (task.max_steps or 0) >= len(script) + 5, "room to scroll"
    assert task.oracle != task.extension.near_miss


@pytest.mark.parametrize("key", sorted(MEMORY))
def test_what_has_to_be_remembered_is_not_in_the_task(key: str) -> None:
    task = TASKS[key]
    typed = [step.text for step in task.oracle if step.action == "type" and step.name != "Search"]
    searched = [step.text for step in task.oracle if step.action == "type" and step.name == "Search"]
    assert any(text not in task.intent for text in typed or searched)


def test_answers_that_only_pictures_give(state: dict[str, Any]) -> None:
    tide = FORUM["tide_count"].evaluation.reference_answers
    assert tide is not None and tide.must_include is not None
    assert tide.must_include[0].split(" |OR| ")[0] == str(facts(state, "What the tide left us")["count"])
    cakes = facts(state, "For the school fair")
    assert (cakes["kind"], cakes["colour"]) == ("cupcake", "green")
    assert "green cakes" in FORUM["coloured_cakes"].intent
    assert (
        FORUM["coloured_cakes"].evaluation.program_html[0].url.endswith(f"/{post(state, 'For the school fair')['id']}")
    )
    birds = facts(state, "Mixed company")
    wanted = f"{birds['count']} {birds['kind']}s, {birds['others']} {birds['other']}s"
    assert required("bird_count").exact_match == wanted
    assert required("tent_colour", 1).exact_match.lower() == facts(state, "Unboxed")["colour"]
    fish = facts(state, "New arrivals in the tank")
    assert fish["colour"] in FORUM["fish_forum"].intent
    assert required("fish_forum").must_include == [post(state, "New arrivals in the tank")["forum"]]
    assert "pets" not in state["subscriptions"]["wren_hollis"]
    mine = [each for each in state["posts"] if each["author"] == "wren_hollis" and each["kind"] == "picture"]
    dogs = [each["id"] for each in mine if "dog" in state["facts"][str(each["id"])].values()]
    assert required("delete_own").exact_match == ", ".join(map(str, dogs))


def test_answers_that_have_to_be_remembered(state: dict[str, Any]) -> None:
    assert required("hut_key").exact_match == code(post(state, "Hut on the ridge"))
    assert required("paint_number").exact_match == code(post(state, "Painted"))
    assert required("table_sign").exact_match == f"Meet me at {code(post(state, 'Open table'))}"
    (found,) = [
        each["body"] for each in state["messages"] if each["receiver"] == "wren_hollis" and "umbrella" in each["body"]
    ]
    place = re.search(r"library in (\w+), shelf (\d)", found)
    assert place
    assert required("umbrella_bio").exact_match == f"Umbrella: {place[1]}, shelf {place[2]}"


def test_other_answers(state: dict[str, Any]) -> None:
    poll = next(each for each in state["polls"] if each["post_id"] == post(state, "Poll: salt in the water")["id"])
    votes = poll["votes"] | {"Only at the end": poll["votes"]["Only at the end"] + 1}
    assert required("potato_poll").exact_match == ", ".join(f"{label}: {count}" for label, count in votes.items())
    assert ">!the harbour master was the thief" in post(state, "The ending of the harbour game")["body"]
    week = [each for each in state["posts"] if each["forum"] == "bikes" and each["created"] > "2026-06-08T12:00"]
    busiest = max(week, key=lambda each: each["comments"])
    assert sum(each["comments"] == busiest["comments"] for each in week) == 1
    assert f"__REDDIT__{busiest['address']}" in (FORUM["busiest_week"].evaluation.reference_url or "").split(" |OR| ")
    assert not [each for each in state["forums"] if "astronom" in (each["name"] + each["title"]).lower()]


def test_forum_and_shop_agree(state: dict[str, Any], goods: dict[str, tuple[str, int]]) -> None:
    wish = re.search(r"- (\w+): \*\*(.+?)\*\*, (\d) of them", post(state, "Office order")["body"])
    assert wish
    assert wish[1] in CROSS["office_order"].intent
    assert required("office_order").exact_match == f"{wish[2]} x{wish[3]}"
    assert goods[wish[2]][1] >= int(wish[3])
    shown = facts(state, "It came today, and I love the colour")
    assert required("same_colour").exact_match == f"{shown['ware']} x1"
    assert shown["colour"] in shown["ware"].lower()
    assert goods[shown["ware"]][1] > 0
    _, ware = re.findall(r"\*\*(.+?)\*\*", post(state, "What belongs into a first toolbox")["body"])
    assert required("sku_comment").exact_match == goods[ware][0]
