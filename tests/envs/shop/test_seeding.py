from __future__ import annotations

from collections import Counter

import pytest

from confkv_agents.web.sitekit import check_password


def dump(database) -> list[str]:
    return list(database.iterdump())


@pytest.mark.parametrize("seed", [0, 7, 123456789, -3])
def test_same_seed_gives_same_rows(part, seed):
    build = part("database").build_pristine
    assert dump(build(seed)) == dump(build(seed))


def test_other_seed_gives_other_shop(part):
    build = part("database").build_pristine
    names = [{row[0] for row in build(seed).execute("SELECT name FROM product")} for seed in (1, 2)]
    assert len(names[0] & names[1]) < len(names[0]) / 2


@pytest.mark.parametrize("seed", range(12))
def test_catalogue_is_large_and_unambiguous(part, seed):
    db = part("database").build_pristine(seed)
    products = db.execute("SELECT category_id, name, price, noun FROM product").fetchall()
    assert len(products) >= 120
    per_category = Counter(category for category, *_ in products)
    assert len(per_category) >= 8
    assert min(per_category.values()) > 8, "every category has a second page"
    prices = Counter((category, price) for category, _, price, _ in products)
    assert max(prices.values()) == 1, "the cheapest of a category is one product"
    assert all(price % 100 in (0, 99) for _, _, price, _ in products)
    nouns = Counter(noun for *_, noun in products)
    assert sum(1 for count in nouns.values() if count > 1) >= 30, "look-alikes"
    assert all(part("seeding")._slug(name) for _, name, *_ in products)


def test_every_category_shows_a_product_of_its_own(part):
    db = part("database").build_pristine(3)
    rows = db.execute("SELECT category.id, category_id FROM category JOIN product ON product.id = cover_id").fetchall()
    assert len(rows) == 12
    assert all(category == owner for category, owner in rows)


def test_hidden_facts_are_nowhere_in_text(part):
    db = part("database").build_pristine(7)
    colours = [colour.lower() for colour in part("catalogue").COLOURS]
    hidden = db.execute(
        "SELECT name, description, specs FROM product WHERE colour IS NULL AND tint IS NOT NULL"
    ).fetchall()
    assert len(hidden) >= 20
    for texts in hidden:
        words = " ".join(texts).lower().replace('"', " ").replace(".", " ").split()
        assert not set(words) & set(colours), texts


def test_passwords_are_stored_as_salted_hashes(part):
    db = part("database").build_pristine(7)
    stored = [row[0] for row in db.execute("SELECT password FROM customer")]
    assert len(set(stored)) == 3
    assert not any("Password" in text for text in stored)
    assert check_password("Password.123", stored[0])
    assert not check_password("password.123", stored[0])


@pytest.mark.parametrize("seed", range(6))
def test_twelve_registries_of_different_people_wish_for_different_things(part, seed):
    db = part("database").build_pristine(seed)
    registries = db.execute("SELECT first, title, slug FROM registry").fetchall()
    assert len(registries) == 12
    assert all(len(set(column)) == 12 for column in zip(*registries, strict=True))
    wishes = db.execute(
        "SELECT product_id, quantity <= stock, sizes FROM registry_item JOIN product ON product.id = product_id"
    ).fetchall()
    assert len({product for product, *_ in wishes}) == 24
    assert all(enough and sizes == "[]" for _, enough, sizes in wishes)
