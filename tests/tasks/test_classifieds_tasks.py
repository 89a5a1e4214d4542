"""The classifieds' task files: complete, distinct, and true of the data that their seed gives."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from confkv_agents import plugins
from confkv_agents.web.tasks import load_tasks
from tests.tasks.test_shop_tasks import KEYS

FOLDER = plugins.data_dir("tasks") / "classifieds"
ALL = {task.key: task for task in load_tasks(FOLDER)}
TASKS = {key: task for key, task in ALL.items() if not task.extension.template}
"""Those written by hand; tests/web/tasks/test_templates.py says of the others that their templates make them."""


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    site = plugins.load_module(plugins.find_env("classifieds"), "envs.classifieds")
    app = site.create_app(tmp_path_factory.mktemp("site") / "classifieds.sqlite", 7)
    yield TestClient(app).get("/__state__").json()
    app.state.database.close()


@pytest.fixture(scope="module")
def listing(state):
    return {item["title"]: item for item in state["listings"]}


def kind(state, name):
    return [item for item in state["listings"] if item["facts"]["kind"] == name]


def required(key, index=0):
    return TASKS[key].evaluation.program_html[index].required_contents


def answers(key):
    return TASKS[key].evaluation.reference_answers


def typed(key, name, script="oracle"):
    steps = getattr(TASKS[key].extension, script)
    return next(step.text for step in steps if step.action == "type" and step.name == name)


def clicked(key):
    return [step.name for step in TASKS[key].oracle if step.action == "click"]


def test_ids_and_intents_are_distinct():
    assert len(TASKS) >= 12
    for field in ("task_id", "intent", "intent_template_id"):
        assert len({getattr(task, field) for task in TASKS.values()}) == len(TASKS)


def test_with_those_from_templates_there_are_enough_for_memory_and_eyes():
    assert len(ALL) >= 28
    assert sum("long-memory" in task.extension.tags for task in ALL.values()) >= 12
    assert sum(task.visual_difficulty in ("medium", "hard") for task in ALL.values()) >= 14
    assert sum(task.oracle[-1].action == "fail" for task in ALL.values()) == 2


@pytest.mark.parametrize("key", TASKS)
def test_file_is_complete(key):
    task = TASKS[key]
    raw = json.loads(Path(task.source).read_text("utf-8"))
    assert raw.keys() >= KEYS
    assert task.sites == ("classifieds",)
    assert task.seed == 7
    assert not task.unsupported
    filled = raw["intent_template"]
    for name, value in raw["instantiation_dict"].items():
        filled = filled.replace("{{" + name + "}}", str(value))
    assert filled == raw["intent"]
    assert (task.storage_state is not None) == task.require_login
    for script in (task.oracle, task.extension.near_miss):
        assert 3 <= len(script) <= 15
        assert script[-1].action in ("stop", "fail")
        assert task.max_steps >= len(script) + 5, "room to scroll"
    assert task.oracle != task.extension.near_miss
    assert all((FOLDER / image).is_file() for image in task.images)


def test_the_kinds_of_check_are_all_used_and_one_task_cannot_be_done():
    used = {name for task in TASKS.values() for name in task.evaluation.eval_types}
    assert used == {"string_match", "url_match", "program_html"}
    assert [key for key, task in TASKS.items() if task.oracle[-1].action == "fail"] == ["grand_piano"]


def test_seller_email(listing):
    seller = listing["Halder green bicycle, with basket"]["seller"]
    assert answers("seller_email").exact_match == seller


def test_guitar_colour(state):
    cheapest = min(kind(state, "guitar"), key=lambda item: item["price"])
    assert answers("guitar_colour").must_include == [cheapest["facts"]["colour"]]
    assert cheapest["facts"]["colour_hidden"], "only the photo tells"


def test_yellow_sofa(state):
    (sofa,) = (item for item in kind(state, "sofa") if item["facts"]["colour"] == "yellow")
    assert sofa["facts"]["colour_hidden"]
    assert TASKS["yellow_sofa"].evaluation.reference_url == f"__CLASSIFIEDS__{sofa['url']}"


def test_count_chairs(listing):
    facts = listing["Homestead chairs, stackable"]["facts"]
    assert facts["pieces_hidden"]
    assert answers("count_chairs").must_include == [f"{facts['pieces']} |OR| five"]


def test_serial_number(listing):
    item = listing["Kleio camera, 50 mm"]
    assert answers("serial_number").exact_match == item["facts"]["serial"]
    assert [photo["view"] for photo in item["photos"]] == ["front", "side", "label"]


def test_sticker_toolbox(state):
    marked = [item for item in kind(state, "toolbox") if item["facts"]["mark"] == "sticker" and item["price"] < 5000]
    assert [item["title"] for item in marked] == [required("sticker_toolbox").exact_match]
    assert marked[0]["facts"]["mark_hidden"]
    assert len(state["favourites"]["lena.marsh@kerbside.test"]) == 3, "the check leaves out the first three"


def test_phone_wanted(state):
    (ad,) = (ad for ad in state["wanted"] if ad["title"] == "Phone wanted")
    item = next(item for item in state["listings"] if item["id"] == ad["facts"]["listing_id"])
    assert ad["name"] in TASKS["phone_wanted"].intent
    assert required("phone_wanted").must_include == [
        f"{item['title']} | {item['seller']}", ad["email"], ad["reference"],
    ]  # fmt: skip
    assert ad["reference"] not in TASKS["phone_wanted"].intent, "it has to be read and remembered"


def test_post_teapots(state):
    tags = {category["name"]: category["tag"] for category in state["categories"]}
    wanted = required("post_teapots").exact_match.split(" | ")
    assert wanted[0] == typed("post_teapots", "Title")
    assert wanted[-1].endswith(tags["Household & Books"])
    digest = hashlib.sha256((FOLDER / "teapots.webp").read_bytes()).hexdigest()
    assert digest in TASKS["post_teapots"].evaluation.program_html[0].locator


def test_best_offer(state):
    offers = [m for m in state["messages"] if m["about"] == "Orbis yellow off-road car, roof rack"]
    amounts = {m["email"]: int(m["body"].partition("$")[2].split()[0].rstrip("?")) for m in offers}
    assert len(amounts) == 3
    least = min(amounts, key=amounts.get)
    text = f"Sorry, I have an offer of ${max(amounts.values())}."
    assert required("best_offer").exact_match == f"{offers[0]['about']} | {least} | {text}"


def test_lower_price(listing):
    item = listing["Cadenza drum, 14 inch"]
    assert item["user_id"] == 1
    old, new = f"${item['price'] // 100}", "$120"
    assert old in item["description"]
    assert typed("lower_price", "Description") == item["description"].replace(old, new)
    assert required("lower_price", 2).must_exclude == [old.strip("$")]


def test_delete_orange(state):
    own = [item for item in state["listings"] if item["user_id"] == 1]
    (orange,) = (item for item in own if item["facts"]["colour"] == "orange")
    assert orange["facts"]["colour_hidden"]
    left = sorted(item["title"] for item in own if item is not orange)
    assert required("delete_orange", 1).exact_match == "; ".join(left)
    assert TASKS["delete_orange"].evaluation.program_html[0].url == f"__CLASSIFIEDS__{orange['url']}"


def test_meeting_point(state, listing):
    desks = {region["name"]: region["desk"] for region in state["regions"]}
    assert listing["Norden orange bicycle, 26 inch"]["city"] == "Kelpness"  # in Stonecoast
    other = listing["Sonora television, with remote"]
    assert other["city"] == "Dunmere", "whose tips name another place"
    text = f"Can we meet at {desks['Stonecoast']}?"
    assert required("meeting_point").exact_match == f"{other['title']} | {other['seller']} | {text}"
    assert typed("meeting_point", "Message", "near_miss") == f"Can we meet at {desks['Lakelands']}?"


def test_phone_relay(state, listing):
    phones = {user["email"]: user["phone"] for user in state["users"]}
    first, second = listing["Tarrow yellow bicycle, 28 inch"], listing["Handy pink toolbox, steel"]
    text = f"Please call {phones[first['seller']]}."
    assert required("phone_relay").exact_match == f"{second['title']} | {second['seller']} | {text}"


def test_grand_piano(state):
    assert not any("piano" in (item["title"] + item["description"]).lower() for item in state["listings"])


def test_price_drop(listing):
    item = listing["Pixon laptop, 15 inch"]
    off = round(100 - 100 * item["price"] / item["was"])
    assert answers("price_drop").must_include == [f"{off} |OR| {off}%"]


def test_furniture_budget(state):
    lakelands = ("Dunmere", "Elverpool", "Fernwater")
    fitting = [
        item
        for item in state["listings"]
        if item["category"] == "Furniture" and item["city"] in lakelands and item["price"] <= 15000
    ]
    best = max(fitting, key=lambda item: item["price"])
    assert TASKS["furniture_budget"].evaluation.reference_url == f"__CLASSIFIEDS__{best['url']}"


def test_report_footballs(listing):
    assert clicked("report_footballs")[0] in listing
    assert typed("report_footballs", "Details (optional)") in TASKS["report_footballs"].intent
