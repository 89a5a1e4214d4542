"""What a seed gives: enough of everything, without contradictions, and fitting to the shop of the same seed."""

from __future__ import annotations

import hashlib
import importlib
import json
import random
import re

import pytest

from confkv_agents import plugins
from confkv_agents.web.sitekit import build_pristine

from .conftest import SEED, path_of


@pytest.fixture(scope="module")
def build(part):
    schema = path_of("board/schema.sql").read_text("utf-8")

    def make(seed):
        return build_pristine(schema, part("seeding").seed_database, seed)

    return make


@pytest.fixture(scope="module", params=[SEED, 1, 23])
def db(build, request):
    return build(request.param), request.param


def test_the_same_seed_gives_the_same_rows(build):
    first, second = ("\n".join(build(5).iterdump()) for _ in range(2))
    assert first == second


def test_the_rows_are_those_that_the_tasks_were_written_for(build):
    rows = "\n".join(build(SEED).iterdump()).encode()
    assert hashlib.sha256(rows).hexdigest().startswith("aef46715694dc342")


def test_drawing_fast_is_drawing_alike(part):
    fast, plain = random.Random(3), random.Random(3)
    for count in [*range(1, 70), 1000]:
        assert part("writing").pick(fast, range(count)) == plain.choice(range(count))


def test_texts_are_filled_as_if_sentences_were_looked_for_in_the_whole(part):
    writing, common = part("writing"), part("content.common")
    start = re.compile(r"(^|[.!?]\s+|\n+)(\*{0,2})([a-z])")
    for board in part("content").BOARDS:
        texts = [text for each in (*board.talks, *board.reads) for text in (each.title, each.body)]
        for template in (*texts, *board.remarks, *board.pictured, *common.REPLIES, *common.GENERAL, *common.CLOSERS):
            known = {"ware": "Orlo Steel Pan", "ware_b": "Elba Cup", "price": "$3", "price_b": "$4.50"}
            one, other = (writing.Words(board, random.Random(template), dict(known)) for _ in range(2))
            whole = start.sub(lambda found: found[1] + found[2] + found[3].upper(), template.format_map(other))
            assert writing.fill(template, one) == whole


def test_a_forum_whose_goods_are_sold_out_but_for_one_names_others(build, part, monkeypatch):
    goods = part("seeding").wares(SEED)
    seeding, boots = part("seeding"), [ware for ware in goods if "Boots" in ware.noun or "Shoes" in ware.noun]
    left = tuple(ware for ware in goods if ware not in boots[1:])
    monkeypatch.setattr(seeding, "wares", lambda _: left)
    (body,) = next(iter(build(SEED).execute("SELECT body FROM post WHERE title = 'Which boots for wet grass?'")))
    first, second = re.findall(r"\*\*([^*]+)\*\*", body)
    assert first != second and {first, second} <= {ware.name for ware in left}


def test_there_is_enough_of_everything(db):
    def count(table):
        return db[0].execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]

    assert count("forum") >= 10
    assert count("post") >= 150
    assert count("comment") >= 800
    assert count("picture") >= 50


def test_no_slot_stays_unfilled_and_no_sentence_begins_small(db):
    texts = [row[0] for table, column in (("post", "title"), ("post", "body"), ("comment", "body"), ("article", "body"),
                                          ("message", "body"))
             for row in db[0].execute(f"SELECT {column} FROM {table} WHERE {column} <> ''")]  # fmt: skip
    assert not [text for text in texts if "{" in text or "}" in text]
    assert not [text for text in texts if re.match(r"[a-z]", text)]
    assert not [text for text in texts if re.search(r"\b(a a|an an|the the|{\w+})\b", text)]


def test_longer_comments_are_said_once(db):
    bodies = [row[0] for row in db[0].execute("SELECT body FROM comment WHERE LENGTH(body) > 80")]
    assert len(bodies) - len(set(bodies)) <= len(bodies) // 50


def test_figures_agree_with_the_rows(db):
    wrong = db[0].execute(
        "SELECT COUNT(*) FROM post WHERE score <> ups - downs"
        " OR comments <> (SELECT COUNT(*) FROM comment WHERE post_id = post.id)"
    )
    assert wrong.fetchone()[0] == 0
    same = db[0].execute("SELECT forum_id, score FROM post GROUP BY 1, 2 HAVING COUNT(*) > 1").fetchall()
    assert same == [], "the top post of a forum is one"


def test_comments_follow_what_they_answer(db):
    wrong = db[0].execute(
        "SELECT COUNT(*) FROM comment JOIN comment AS parent ON parent.id = comment.parent_id"
        " WHERE comment.post_id <> parent.post_id OR comment.created < parent.created"
        " OR comment.user_id = parent.user_id"
    )
    assert wrong.fetchone()[0] == 0
    early = db[0].execute(
        "SELECT COUNT(*) FROM comment JOIN post ON post.id = post_id WHERE comment.created < post.created"
    )
    assert early.fetchone()[0] == 0


def test_what_pictures_show_is_not_written_on_their_pages(db, part):
    colours = part("pictures").COLOURS
    for title, body, shot in db[0].execute(
        "SELECT title, body, shot FROM post JOIN picture ON picture.id = picture_id"
    ):
        facts = json.loads(shot)
        assert facts["count"] >= 1
        assert facts["colour"] is None or facts["colour"] in colours
        words = re.findall(r"\w+", f"{title} {body}".lower())
        for fact in (facts["kind"], facts["other"], facts["colour"]):
            assert fact not in words
            assert f"{fact}s" not in words


def test_posts_name_goods_of_the_shop_of_the_same_seed(db):
    shop = plugins.load_module(plugins.find_env("shop"), "envs.shop")
    goods = importlib.import_module(f"{shop.__name__}.store.database").build_pristine(db[1])
    prices = {row[0]: row[1] for row in goods.execute("SELECT name, price FROM product")}
    named = {
        name
        for (body,) in db[0].execute("SELECT body FROM post")
        for name in re.findall(r"\*\*([^*]+)\*\*", body)
        if name in prices
    }
    assert len(named) >= 20
    for (body,) in db[0].execute("SELECT body FROM post WHERE body LIKE '%$%'"):
        for name, dollars, cents in re.findall(r"\*\*([^*]+)\*\*[^*$]*?\(\$(\d+)(?:\.(\d\d))?\)", body):
            assert prices[name] == int(dollars) * 100 + int(cents or 0), name
    shown = [json.loads(row[0])["ware"] for row in db[0].execute("SELECT shot FROM picture")]
    assert all(name in prices for name in shown if name)
    assert sum(name is not None for name in shown) >= 2
