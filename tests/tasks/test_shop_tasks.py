"""The shop's task files: complete, distinct, and true of the data that their seed gives."""

from __future__ import annotations

import importlib
import json
import re
import sqlite3
from pathlib import Path

import pytest

from confkv_agents import plugins
from confkv_agents.web.tasks import load_tasks
from tests.envs.shop.conftest import Shopper

FOLDER = plugins.data_dir("tasks") / "shop"
ALL = {task.key: task for task in load_tasks(FOLDER)}
TASKS = {key: task for key, task in ALL.items() if not task.extension.template}
"""Those written by hand; tests/web/tasks/test_templates.py says of the others that their templates make them."""
KEYS = {
    "sites", "task_id", "require_login", "storage_state", "start_url", "geolocation", "intent_template", "intent",
    "instantiation_dict", "image", "require_reset", "eval", "intent_template_id", "reasoning_difficulty",
    "visual_difficulty", "overall_difficulty", "x_confkv",
}  # fmt: skip


@pytest.fixture(scope="module")
def db():
    site = plugins.load_module(plugins.find_env("shop"), "envs.shop")
    database = importlib.import_module(f"{site.__name__}.store.database").build_pristine(7)
    database.row_factory = sqlite3.Row
    return database


def product(db, name):
    return db.execute("SELECT * FROM product WHERE name = ?", (name,)).fetchone()


def required(task, index=0):
    return task.evaluation.program_html[index].required_contents


def typed(task, name):
    return next(step.text for step in task.oracle if step.action == "type" and step.name == name)


def test_ten_tasks_with_distinct_ids_and_intents():
    assert len(TASKS) >= 10
    for field in ("task_id", "intent", "intent_template_id"):
        assert len({getattr(task, field) for task in TASKS.values()}) == len(TASKS)


@pytest.mark.parametrize("key", TASKS)
def test_file_is_complete(key):
    task = TASKS[key]
    raw = json.loads(Path(task.source).read_text("utf-8"))
    assert raw.keys() >= KEYS
    assert task.sites == ("shopping",)
    assert task.seed == 7
    assert not task.unsupported
    filled = raw["intent_template"]
    for name, value in raw["instantiation_dict"].items():
        filled = filled.replace("{{" + name + "}}", str(value))
    assert filled == raw["intent"]
    assert (task.storage_state is not None) == task.require_login


@pytest.mark.parametrize("key", TASKS)
def test_scripts_end_and_fit(key):
    task = TASKS[key]
    for script in (task.oracle, task.extension.near_miss):
        assert 3 <= len(script) <= 15
        assert script[-1].action == "stop"
        assert all(step.action != "stop" for step in script[:-1])
        assert task.max_steps >= len(script) + 5, "room to scroll"
    assert task.oracle != task.extension.near_miss


def test_tasks_of_every_kind_are_there():
    def count(fits):
        return sum(map(fits, ALL.values()))

    assert len(ALL) >= 28
    assert len({task.intent for task in ALL.values()}) == len(ALL)
    assert count(lambda task: "long-memory" in task.extension.tags) >= 12
    assert count(lambda task: task.raw["visual_difficulty"] in ("medium", "hard")) >= 12
    assert count(lambda task: task.oracle[-1].action == "fail") in (1, 2)


def test_the_kinds_of_check_are_all_used():
    used = {kind for task in TASKS.values() for kind in task.evaluation.eval_types}
    assert used == {"string_match", "url_match", "program_html"}


def test_read_sku(db):
    task = TASKS["read_sku"]
    assert task.evaluation.reference_answers.exact_match == product(db, "Tarn Purple Backpack")["sku"]


def test_cheapest_teapot(db):
    names = [row["name"] for row in db.execute("SELECT name FROM product WHERE noun = 'Teapot' ORDER BY price")]
    assert required(TASKS["cheapest_teapot"]).exact_match == f"{names[0]} x1"
    assert product(db, names[0])["stock"] > 0


def test_compare_stock(db):
    pair = [product(db, name) for name in ("Halden Match Football", "Dunmore Indoor Basketball")]
    best = max(pair, key=lambda row: row["stock"])
    assert pair[0]["stock"] != pair[1]["stock"]
    assert TASKS["compare_stock"].evaluation.reference_url == f"__SHOPPING__/{best['slug']}.html"


def test_tools_coupon(db):
    task = TASKS["tools_coupon"]
    coupon = db.execute(
        "SELECT coupon.* FROM coupon JOIN category ON category.id = category_id WHERE category.name = 'Tools'"
    ).fetchone()
    goods = [product(db, name) for name in ("Brisk Red Toolbox", "Rook Brass Padlock")]
    assert {row["category_id"] for row in goods} == {coupon["category_id"]}
    total = sum(row["price"] for row in goods) * (100 - coupon["percent"]) // 100
    assert total % 100 == 0
    assert typed(task, "Coupon code") == coupon["code"]
    assert required(task, 1).must_include == [coupon["code"], f"${total // 100}"]
    assert task.evaluation.reference_answers.must_include == [f"{total // 100} |OR| {total // 100}.00"]


def test_gift_order(db, tmp_path):
    task = TASKS["gift_order"]
    registry = db.execute("SELECT * FROM registry WHERE first = 'Bela'").fetchone()
    gift = product(db, "Brisk Sighting Compass")
    wished = db.execute("SELECT product_id FROM registry_item WHERE registry_id = ?", (registry["id"],))
    assert gift["id"] in [row["product_id"] for row in wished]
    assert task.start_urls == (f"__SHOPPING__/gift-registry/{registry['slug']}/",)
    assert required(task, 0).must_include == [gift["sku"]]
    assert required(task, 1).must_include == [
        f"{registry['first']} {registry['last']}",
        registry["street"],
        f"{registry['city']}, {registry['postcode']}",
    ]
    site = plugins.load_module(plugins.find_env("shop"), "envs.shop")
    shopper = Shopper(site.create_app(tmp_path / "shop.sqlite", 7))
    shopper.add(gift["slug"])
    address = {key: registry[key] for key in ("first", "last", "street", "city", "postcode", "country")}
    shopper.post("/checkout/shipping/", email="otto.lind@mail.test", method="Express", **address)
    shopper.post("/checkout/order/", payment="Bank Transfer")
    order = shopper.state()["orders"][-1]
    assert task.evaluation.reference_answers.must_include == [order["number"]]
    assert task.evaluation.program_html[0].url == f"__SHOPPING__{order['url']}"


def test_write_review(db):
    task = TASKS["write_review"]
    globes = db.execute("SELECT slug FROM product WHERE noun = 'Globe'").fetchall()
    assert len(globes) == 1
    assert task.evaluation.program_html[0].url == f"__SHOPPING__/reviews/{globes[0]['slug']}/"
    assert set(required(task).must_include) >= {typed(task, "Summary"), typed(task, "Review"), typed(task, "Nickname")}


def test_registry_wishes(db):
    wishes = db.execute(
        "SELECT name, quantity FROM registry_item JOIN registry ON registry.id = registry_id"
        " JOIN product ON product.id = product_id WHERE title = 'Iris'' New Home'"
    ).fetchall()
    wanted = "; ".join(sorted(f"{row['name']} x{row['quantity']}" for row in wishes))
    assert required(TASKS["registry_wishes"]).exact_match == wanted


def test_fox_shirt(db, tmp_path):
    shirts = db.execute("SELECT * FROM product WHERE noun = 'T-Shirt' AND motif IS NOT NULL").fetchall()
    foxes = [row for row in shirts if row["motif"] == "fox"]
    assert len(shirts) >= 3
    assert len(foxes) == 1
    site = plugins.load_module(plugins.find_env("shop"), "envs.shop")
    guide = Shopper(site.create_app(tmp_path / "shop.sqlite", 7)).get("/size-guide/")
    size = re.search(r'<th scope="row">(\w+)</th><td>104 cm</td>', guide)
    assert size
    assert required(TASKS["fox_shirt"]).exact_match == f"{foxes[0]['name']} {size[1]} x1"
    assert "fox" not in " ".join(str(foxes[0][key]) for key in ("name", "slug", "description", "specs")).lower()


def test_past_order(db):
    sizes = db.execute(
        "SELECT size FROM order_item JOIN orders ON orders.id = order_id WHERE customer_id = 1"
        " AND created LIKE '2026-01-%' AND name LIKE '%Ballet Flats'"
    ).fetchall()
    assert [row["size"] for row in sizes] == TASKS["past_order"].evaluation.reference_answers.must_include


def test_new_address(db):
    task = TASKS["new_address"]
    address = db.execute("SELECT * FROM address WHERE customer_id = 1 AND shipping").fetchone()
    assert required(task, 1).must_exclude == [address["street"]]
    assert any(getattr(step, "name", "") == f"Edit {address['street']}" for step in task.oracle)
    assert required(task, 0).must_include == [
        f"{address['first']} {address['last']}",
        typed(task, "Street address"),
        f"{typed(task, 'City')}, {typed(task, 'Postcode')}",
        address["country"],
        address["telephone"],
    ]
