"""Task templates: what a seed decides, what is held out, and that every template of the package keeps its promises."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest

from confkv_agents.errors import ConfigError, PluginError, TaskError
from confkv_agents.evaluation.template_commands import parse_seeds, task_text
from confkv_agents.plugins import data_dir
from confkv_agents.web.tasks import (
    Draft,
    Drawing,
    Task,
    Template,
    Unfit,
    World,
    available_templates,
    find_templates,
    is_held_out,
    load_tasks,
    load_template,
    make_tasks,
    split_of,
)
from confkv_agents.web.tasks.oracle import parts_of
from confkv_agents.web.tasks.templates import NothingToAsk, spell
from tests.notes import unread

SEEDS = (*range(0, 1000, 90), *range(1000, 2000, 90))  # 12 of each split

ANSWER = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "7"}}
STOP = {"action": "stop", "answer": "7"}


def draft(**values: str) -> Draft:
    return Draft(values=values, evaluation=ANSWER, oracle=[STOP], near_miss=[{"action": "stop", "answer": "8"}])


def template(draw=lambda drawing: draft(thing="a mug"), **changes) -> Template:
    given = {
        "sites": ("shopping",),
        "wordings": tuple(f"Buy {{thing}} in way {number}." for number in range(10)),
        "held_out": ("Get {thing}.", "Fetch {thing}."),
        "draw": draw,
        "name": "test/buy",
    }
    return Template(**given | changes)


@cache
def world(seed: int) -> World:
    return World(seed)


def test_alternatives_are_written_out_and_spaces_closed_up():
    assert spell("(Buy|Get) {a}( now|)") == ["Buy {a} now", "Buy {a}", "Get {a} now", "Get {a}"]
    assert spell("Find (|the) {a}.") == ["Find {a}.", "Find the {a}."]
    assert spell("Nothing (at all) to choose") == ["Nothing (at all) to choose"]


def test_the_split_follows_from_the_seed():
    assert [split_of(seed) for seed in (0, 999, 1000, 70_000)] == ["heldout", "heldout", "train", "train"]


def test_which_names_are_held_out_is_the_same_everywhere():
    # The first bytes of their sha256 are 72, 6, 88 and 52; those divisible by three are held out.
    names = ("Brisk Red Toolbox", "Rook Brass Padlock", "Kova Black Apron", "Elba Red Mug")
    assert [is_held_out(name) for name in names] == [True, True, False, False]
    share = sum(is_held_out(f"name {number}") for number in range(3000)) / 3000
    assert 0.28 < share < 0.39


def test_the_same_seed_makes_the_same_task_and_the_split_decides_the_wording():
    made = template().make(7)
    assert made == template().make(7)
    assert made["intent"] in ("Get a mug.", "Fetch a mug.")
    assert made["intent_template"] in ("Get {{thing}}.", "Fetch {{thing}}.")
    assert made["instantiation_dict"] == {"thing": "a mug"}
    assert template().make(1000)["intent"].startswith("Buy a mug in way ")
    assert made["x_confkv"]["seed"] == 7 and made["x_confkv"]["template"] == "test/buy"
    assert Task.read(made).intent == made["intent"]


def test_choosing_keeps_to_the_names_of_the_split():
    names = [f"name {number}" for number in range(40)]
    for seed, held_out in ((3, True), (1003, False)):
        chosen: list[str] = []

        def draw(drawing: Drawing, chosen: list[str] = chosen) -> Draft:
            chosen += drawing.sample(names, 3, str)
            chosen.append(drawing.choose([{"name": name} for name in names])["name"])
            return draft(thing="a mug")

        template(draw).make(seed)
        assert len(chosen) == 4 and all(is_held_out(name) is held_out for name in chosen)
        assert len(set(chosen[:3])) == 3


def test_a_drawing_that_does_not_fit_is_drawn_again_and_a_seed_without_any_is_left_out(caplog):
    tries: list[int] = []

    def draw(drawing: Drawing) -> Draft:
        tries.append(len(tries))
        if len(tries) < 3:
            raise Unfit("sold out")
        return draft(thing="a mug")

    template(draw).make(5)
    assert len(tries) == 3

    def never(drawing: Drawing) -> Draft:
        if drawing.world.seed == 6:
            raise Unfit("sold out")
        return draft(thing="a mug")

    with pytest.raises(NothingToAsk, match=r"'test/buy' finds nothing to ask for in seed 6: sold out"):
        template(never).make(6)
    assert [task["task_id"] for task in make_tasks(template(never), [5, 6, 7])] == [5, 7]
    assert "seed 6: sold out" in caplog.text


def test_what_was_drawn_must_be_a_valid_task():
    with pytest.raises(TaskError, match="no value for thing"):
        template(lambda drawing: draft(other="x")).make(1)
    with pytest.raises(TaskError, match="the plan tells colour, and 'Buy"):
        template(plan="buy {thing}, {colour}").make(1001)
    broken = Draft({"thing": "a mug"}, {"eval_types": ["guess"]}, [STOP], [STOP])
    with pytest.raises(TaskError, match=r"'test/buy', seed 1: eval.eval_types"):
        template(lambda drawing: broken).make(1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ("wordings=('Buy {thing}.',)", "1 wordings; at least 10"),
        ("held_out=('Get {thing}.',)", "1 held-out wordings; at least 2"),
        ("held_out=('Buy {thing} 3.', 'Get {thing}.')", "is one for training too: 'Buy {thing} 3.'"),
    ],
)
def test_a_template_with_too_few_or_shared_wordings_is_refused(tmp_path, changes, message):
    path = tmp_path / "short.py"
    path.write_text(
        "from dataclasses import replace\n"
        "from confkv_agents.web.tasks import Template\n"
        "good = Template(('shopping',), tuple('Buy {thing} %d.' % n for n in range(10)),"
        " ('Get {thing}.', 'Fetch {thing}.'), draw=lambda drawing: None)\n"
        f"TEMPLATE = replace(good, {changes})\n"
    )
    with pytest.raises(PluginError, match=message.replace("{", r"\{")):
        load_template(path)


def test_templates_are_found_by_name_pattern_and_path(tmp_path):
    assert find_templates("shop/coupon_order") == ["shop/coupon_order"]
    assert "shop/coupon_order" in find_templates("shop/*")
    with pytest.raises(PluginError, match=r"no template 'shop/nothing': give a \.py file"):
        find_templates("shop/nothing")
    path = tmp_path / "empty.py"
    path.write_text("")
    assert find_templates(str(path)) == [str(path)]
    with pytest.raises(PluginError, match="has no TEMPLATE"):
        load_template(path)


def test_seeds_are_numbers_and_ranges():
    assert parse_seeds("3") == [3]
    assert parse_seeds("0-2, 1,1000-1001") == [0, 1, 2, 1000, 1001]
    for wrong in ("", "a", "-3", "5-2", "1,,2", "0-9999999"):
        with pytest.raises(ConfigError, match="seeds"):
            parse_seeds(wrong)


@pytest.mark.parametrize("name", available_templates())
def test_a_template_makes_valid_tasks_from_most_seeds(name: str):
    chosen = load_template(name)
    made = []
    for seed in SEEDS:
        try:
            made.append(chosen.make(seed, world(seed)))
        except NothingToAsk:
            continue
    assert len(made) >= 0.8 * len(SEEDS)
    for split in ("train", "heldout"):
        intents = [task["intent"] for task in made if split_of(task["task_id"]) == split]
        assert len(set(intents)) > 0.7 * len(intents), f"{split}: the tasks are too much alike"
    for raw in made:
        task = Task.read(raw)
        assert not set("{}|") & set(task.intent), task.intent
        assert task.oracle and task.oracle[-1].action in ("stop", "fail")
        assert task.extension.near_miss and task.extension.near_miss[-1].action in ("stop", "fail")
        assert task.extension.near_miss != task.oracle
        assert len(task.oracle) <= 20 and not task.unsupported
        spelled = {
            wording.replace("{", "{{").replace("}", "}}") for wording in chosen.spelled(split_of(task.seed or 0))
        }
        assert raw["intent_template"] in spelled
        assert task.extension.plan and not set("{}|") & set(task.extension.plan)
        assert not unread(task.extension.plan, [task.intent], ""), "a plan tells what the task does not"
        _check_parts(task)


def _check_parts(task: Task) -> None:
    """Every part of a plan is begun, in order; a script that finds out that it cannot be done begins the first ones."""
    begun = [step.part for step in task.oracle if step.part]  # with part 0 a script begins anyway
    wanted = list(range(1, len(parts_of(task.extension.plan))))
    assert begun == (wanted[: len(begun)] if task.oracle[-1].action == "fail" else wanted), task.extension.plan


def test_the_tasks_of_the_package_begin_every_part_of_their_plans():
    for task in load_tasks(data_dir("tasks")):
        _check_parts(task)


@pytest.mark.parametrize("name", available_templates())
def test_every_wording_says_as_much_as_the_others(name: str):
    chosen = load_template(name)
    gaps = {wording: set(re.findall(r"\{(\w+)\}", wording)) for wording in (*chosen.wordings, *chosen.held_out)}
    everything = set().union(*gaps.values())
    lacking = {wording: everything - found for wording, found in gaps.items() if found != everything}
    assert not lacking
    assert len(chosen.wordings) >= 4, "alternatives of words are no other sentences"


@pytest.mark.parametrize("name", available_templates())
def test_a_seed_decides_everything(name: str):
    chosen = load_template(name)
    seed = next(seed for seed in SEEDS if _made(chosen, seed))
    assert _made(chosen, seed) == chosen.make(seed)  # in a world of its own


def _made(chosen: Template, seed: int) -> dict | None:
    try:
        return chosen.make(seed, world(seed))
    except NothingToAsk:
        return None


def test_the_tasks_of_the_package_are_what_their_templates_make():
    made = [task for task in load_tasks(data_dir("tasks")) if task.extension.template]
    assert made
    for task in made:
        chosen = load_template(str(task.extension.template))
        assert task.seed is not None and split_of(task.seed) == "heldout"
        fresh = chosen.make(task.seed, world(task.seed))
        assert task.source.read_text("utf-8") == task_text(fresh), f"{task.source}: make it again"
        assert task.source.stem == f"{chosen.name.rpartition('/')[2]}_{task.seed}"
        assert json.loads(task.source.read_text("utf-8"))["task_id"] == task.seed
