from __future__ import annotations

import json
from collections import Counter

import pytest

from confkv_agents.web.sitekit import build_pristine


@pytest.fixture(scope="module")
def build(part):
    seeding = part("seeding")
    from pathlib import Path

    schema = (Path(seeding.__file__).parent / "schema.sql").read_text("utf-8")
    return lambda seed: build_pristine(schema, seeding.seed_database, seed)


@pytest.mark.parametrize("seed", [0, 7, 123456789, -3])
def test_same_seed_gives_same_rows(build, seed):
    assert list(build(seed).iterdump()) == list(build(seed).iterdump())


def test_other_seed_gives_other_listings(build):
    found = [{row[0] for row in build(seed).execute("SELECT title || price || city FROM listing")} for seed in (1, 2)]
    assert len(found[0] & found[1]) < len(found[0]) / 10


@pytest.mark.parametrize("seed", range(8))
def test_listings_are_many_and_unambiguous(build, seed):
    db = build(seed)
    rows = db.execute("SELECT title, price, facts FROM listing").fetchall()
    assert len(rows) >= 150
    assert len({title for title, *_ in rows}) == len(rows), "every title is one listing's"
    kinds = [(json.loads(facts)["kind"], price) for _, price, facts in rows]
    assert len(set(kinds)) == len(kinds), "the cheapest of a kind is one listing"
    assert sum(count > 1 for count in Counter(kind for kind, _ in kinds).values()) >= 40, "look-alikes"
    codes = [row[0] for row in db.execute("SELECT tag FROM category UNION ALL SELECT reference FROM wanted")]
    codes += [json.loads(facts)["serial"] for *_, facts in rows if json.loads(facts)["serial"]]
    assert len(set(codes)) == len(codes)
    assert db.execute("SELECT COUNT(*) FROM listing WHERE user_id = 1").fetchone()[0] == 7


@pytest.mark.parametrize("seed", range(8))
def test_a_wanted_thing_is_offered_once_and_recognised_by_its_photo_only(build, seed):
    db = build(seed)
    offered = [(json.loads(facts), price) for facts, price in db.execute("SELECT facts, price FROM listing")]
    looks = [facts for facts, _ in offered]
    cities = [name for (name,) in db.execute("SELECT name FROM city")]
    ads = db.execute("SELECT text, facts, most FROM wanted").fetchall()
    assert len(ads) == 6
    for text, facts, most in ads:
        title, description, price, shown = db.execute(
            "SELECT title, description, price, facts FROM listing WHERE id = ?", (json.loads(facts)["listing_id"],)
        ).fetchone()
        look = json.loads(shown)
        assert f"{look['colour']} {look['kind']}" in text
        assert look["colour"] not in f"{title} {description}".lower()
        alike = [
            cents for facts, cents in offered
            if facts["kind"] == look["kind"] and facts["colour_hidden"] and facts["pieces"] == 1
        ]  # fmt: skip
        assert price in alike and max(alike) <= most * 100, "the price leads to none of them"
        assert not any(city in text for city in cities), "nor does a place"
        assert sum((other["kind"], other["colour"]) == (look["kind"], look["colour"]) for other in looks) == 1


def test_facts_that_only_photos_tell_are_plenty(build):
    looks = [json.loads(row[0]) for row in build(7).execute("SELECT facts FROM listing")]
    assert sum(look["colour_hidden"] for look in looks) >= 50
    assert sum(look["pieces_hidden"] for look in looks) >= 15
    assert sum(look["mark_hidden"] for look in looks) >= 15
    assert sum(bool(look["serial"]) for look in looks) >= 15


def test_times_run_with_numbers_and_end_yesterday(build):
    rows = build(7).execute("SELECT created FROM listing ORDER BY id").fetchall()
    days = [row[0] for row in rows]
    assert days == sorted(days)
    assert days[-1] == "2026-06-14"


def test_passwords_are_stored_as_salted_hashes(build):
    stored = [row[0] for row in build(7).execute("SELECT password FROM user")]
    assert len(set(stored)) == len(stored)
    assert not any("Password" in text for text in stored)
