"""Draws the seeded state: the same seed gives the same rows, byte for byte."""

import json
import random
import sqlite3
from datetime import date, timedelta

from confkv_agents.web.sitekit import hash_password

from . import people
from .catalogue import CATEGORIES, COLOURS, MOTIFS, Category, Kind
from .forms import COUNTRY

TODAY = date(2026, 6, 15)
_LINES = ("Classic", "City", "Original", "Everyday", "Signature", "Heritage")
_ORIGINS = ("Portugal", "Italy", "Denmark", "Poland", "Austria", "Japan")
_MORE_REGISTRIES = 7
_LETTERS = "BCDFGHJKLMNPRSTVWXYZ"


def seed_database(db: sqlite3.Connection, seed: int) -> None:
    """Fill an empty database with the catalogue, people, orders, offers and registries of `seed`."""
    rng = random.Random(f"shop:{seed}")
    _products(db, rng)
    _reviews(db, rng)
    _customers(db, rng)
    _orders(db, rng)
    _coupons(db, rng)
    _registries(db, rng)


def seed_catalogue(db: sqlite3.Connection, seed: int) -> None:
    """Fill an empty database with the categories and products of `seed`, and nothing else."""
    _products(db, random.Random(f"shop:{seed}"))


def _slug(text: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def _price(rng: random.Random, low: int, high: int) -> int:
    whole = rng.randint(low, high)
    return whole * 100 - 1 if rng.random() < 0.25 else whole * 100


def _code(rng: random.Random, used: set[str], letters: int, digits: int, tail: int = 0) -> str:
    while True:
        code = "".join(rng.choice(_LETTERS) for _ in range(letters))
        code += "".join(rng.choice("23456789") for _ in range(digits))
        code += "".join(rng.choice(_LETTERS) for _ in range(tail))
        if code not in used:
            used.add(code)
            return code


def _draw_kind(rng: random.Random, category: Category, kind: Kind, prices: set[int]) -> list[dict[str, object]]:
    """Rows of one kind; names are distinct and so are prices, so that "the cheapest" has one answer."""
    rows: list[dict[str, object]] = []
    brands = rng.sample(category.brands, len(category.brands))
    colours = rng.sample(COLOURS, len(COLOURS))
    motifs = rng.sample(MOTIFS, len(MOTIFS))
    counts = rng.sample(range(2, 8), 6)
    lines = rng.sample(_LINES, len(_LINES))
    materials = [] if kind.vary == "colour" else rng.sample(kind.vary.split(","), len(kind.vary.split(",")))
    for i in range(kind.count + kind.hidden):
        hidden = i >= kind.count
        brand = brands[i % len(brands)]
        row: dict[str, object] = {"brand": brand, "colour": None, "tint": None, "pieces": 1, "motif": None}
        if not hidden and kind.vary == "colour":
            row["colour"] = row["tint"] = colours[i]
            name = f"{brand} {colours[i]} {kind.noun}"
        elif not hidden:
            name = f"{brand} {materials[i]} {kind.noun}"
        elif kind.hides == "colour":
            row["tint"] = colours[i]
            name = f"{brand} {lines[i]} {kind.noun}"
        elif kind.hides == "count":
            row["pieces"] = counts[i]
            row["tint"] = colours[i] if kind.vary == "colour" else None
            name = f"{brand} {kind.noun} Set"
        else:
            row["motif"] = motifs[i]
            row["tint"] = colours[i]
            name = f"{brand} Animal {kind.noun}"
        price = _price(rng, kind.low, kind.high)
        while price in prices:
            price = _price(rng, kind.low, kind.high + len(prices))
        prices.add(price)
        row.update(name=name, price=price)
        row["material"] = "" if kind.vary == "colour" or hidden else materials[i]
        rows.append(row)
    return rows


def _opening(noun: str, brand: str) -> str:
    lower = noun if noun in ("T-Shirt", "Yo-Yo") else noun.lower()
    if noun.endswith("s") and not noun.endswith("ss"):
        return f"{noun} by {brand}."
    return f"{'An' if lower[0] in 'aeiou' else 'A'} {lower} by {brand}."


def _products(db: sqlite3.Connection, rng: random.Random) -> None:
    skus: set[str] = set()
    product_id = 0
    for category_id, category in enumerate(CATEGORIES, start=1):
        db.execute(
            "INSERT INTO category (id, slug, name, blurb) VALUES (?, ?, ?, ?)",
            (category_id, category.slug, category.name, category.blurb),
        )
        rows: list[tuple[Kind, dict[str, object]]] = []
        prices: set[int] = set()
        for kind in category.kinds:
            rows += [(kind, row) for row in _draw_kind(rng, category, kind, prices)]
        places = rng.sample(range(len(rows)), len(rows))
        first_id = product_id + 1
        for place, (kind, row) in zip(places, rows, strict=True):
            product_id += 1
            sku = _code(rng, skus, 2, 3)
            opening = _opening(kind.noun, str(row["brand"]))
            facts = " ".join(rng.sample(category.facts, 2))
            specs: dict[str, str] = {"Brand": str(row["brand"])}
            if row["colour"]:
                specs["Colour"] = str(row["colour"])
            if row["material"]:
                specs["Type"] = str(row["material"])
            specs["Made in"] = rng.choice(_ORIGINS)
            specs[category.extra[0]] = rng.choice(category.extra[1])
            specs["Ships in"] = rng.choice(("1 day", "2 days", "3 days"))
            stock = 0 if rng.random() < 0.04 else rng.randint(3, 60)
            db.execute(
                "INSERT INTO product VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    product_id, sku, _slug(str(row["name"])), row["name"], category_id, row["brand"],
                    kind.noun, row["colour"], row["price"], stock, f"{opening} {facts}", json.dumps(specs),
                    json.dumps(kind.sizes), kind.art, row["tint"], row["pieces"], row["motif"], place,
                ),
            )  # fmt: skip
        cover = rng.randint(first_id, first_id + 3)
        db.execute("UPDATE category SET cover_id = ? WHERE id = ?", (cover, category_id))


def _reviews(db: sqlite3.Connection, rng: random.Random) -> None:
    for (product_id,) in db.execute("SELECT id FROM product ORDER BY id").fetchall():
        authors = rng.sample(people.FIRST_NAMES, 8)
        kindness = rng.random()
        for n in range(rng.choice((0, 1, 2, 3, 3, 4, 5, 6))):
            rating = max(1, min(5, round(rng.gauss(3.4 + 1.4 * kindness, 0.9))))
            titles, sentences = people.REVIEWS[rating]
            body = " ".join(rng.sample(sentences, 2))
            created = TODAY - timedelta(days=5 + 40 * n + rng.randint(0, 30))
            author = f"{authors[n]} {rng.choice(people.LAST_NAMES)[0]}."
            db.execute(
                "INSERT INTO review (product_id, author, rating, title, body, created) VALUES (?, ?, ?, ?, ?, ?)",
                (product_id, author, rating, rng.choice(titles), body, created.isoformat()),
            )


def _place(rng: random.Random, first: str, last: str) -> dict[str, str]:
    city, postcode = rng.choice(people.CITIES)
    return {
        "first": first,
        "last": last,
        "street": f"{rng.randint(2, 98)} {rng.choice(people.STREETS)}",
        "city": city,
        "postcode": postcode,
        "country": COUNTRY,
        "telephone": f"555-0{rng.randint(100, 199)}",
    }


def _customers(db: sqlite3.Connection, rng: random.Random) -> None:
    for customer_id, (email, first, last) in enumerate(people.CUSTOMERS, start=1):
        password = hash_password(people.PASSWORD, rng.randbytes(8))
        db.execute(
            "INSERT INTO customer (id, email, first, last, password) VALUES (?, ?, ?, ?, ?)",
            (customer_id, email, first, last, password),
        )
        place = _place(rng, first, last)
        db.execute(
            "INSERT INTO address (customer_id, first, last, street, city, postcode, country, telephone,"
            " billing, shipping) VALUES (:customer, :first, :last, :street, :city, :postcode, :country,"
            " :telephone, 1, 1)",
            place | {"customer": customer_id},
        )
        wishes = rng.sample(range(1, 100), 2)
        db.executemany(
            "INSERT INTO wish (customer_id, product_id, added) VALUES (?, ?, ?)",
            [(customer_id, product, n) for n, product in enumerate(wishes)],
        )


def _orders(db: sqlite3.Connection, rng: random.Random) -> None:
    products = db.execute("SELECT id, sku, name, price, sizes FROM product WHERE price < 20000").fetchall()
    owners = [1, 2, 1, 3, 1, 2, 1, 1]
    number = rng.randint(20000, 60000)
    created = TODAY - timedelta(days=rng.randint(300, 360))
    for order_id, owner in enumerate(owners, start=1):
        number += rng.randint(3, 97)
        created += timedelta(days=rng.randint(20, 40))
        email, first, last = people.CUSTOMERS[owner - 1]
        home = db.execute(
            "SELECT first, last, street, city, postcode, country, telephone FROM address WHERE customer_id = ?",
            (owner,),
        )
        home_place = dict(zip((column[0] for column in home.description), home.fetchone(), strict=True))
        address = json.dumps(_place(rng, first, last) if rng.random() < 0.3 else home_place)
        chosen = rng.sample(products, rng.randint(1, 3))
        items = [(p, rng.choice((1, 1, 1, 2))) for p in chosen]
        subtotal = sum(p[3] * quantity for p, quantity in items)
        method, shipping = rng.choice((("Standard", 500), ("Express", 1500)))
        status = "Processing" if order_id > 6 else rng.choice(("Complete",) * 3 + ("Canceled",))
        db.execute(
            "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, 0, ?, ?)",
            (
                order_id, str(number), owner, email, created.isoformat(), status, address, address, method,
                rng.choice(("Bank Transfer", "Cash on Delivery")), subtotal, shipping, subtotal + shipping,
            ),
        )  # fmt: skip
        for (pid, sku, name, price, sizes), quantity in items:
            choices = json.loads(sizes)
            size = rng.choice(choices) if choices else ""
            db.execute(
                "INSERT INTO order_item (order_id, product_id, sku, name, size, price, quantity)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (order_id, pid, sku, name, size, price, quantity),
            )


def _coupons(db: sqlite3.Connection, rng: random.Random) -> None:
    used: set[str] = set()
    percents = rng.sample((10, 15, 20, 25, 30), 4)
    categories = rng.sample(range(1, len(CATEGORIES) + 1), 3)
    offers: list[tuple[str, int, int | None, int, int, int]] = []
    for category_id, percent in zip(categories, percents, strict=False):
        offers.append((f"{percent}% off {CATEGORIES[category_id - 1].name}", percent, category_id, 0, 0, 0))
    offers.append((f"{percents[3]}% off orders over $100", percents[3], None, 10000, 0, 0))
    offers.append(("Free delivery", 0, None, 0, 1, 0))
    offers.append(("Spring sale", 40, None, 0, 0, 1))
    rng.shuffle(offers)
    for title, percent, category, minimum, free, expired in offers:
        db.execute(
            "INSERT INTO coupon VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (_code(rng, used, 2, 2, 1), _slug(title), title, percent, category, minimum, free, expired),
        )


def _registries(db: sqlite3.Connection, rng: random.Random) -> None:
    products = [row[0] for row in db.execute("SELECT id FROM product WHERE stock >= 3 AND sizes = '[]'")]
    firsts = rng.sample(people.FIRST_NAMES, 5)
    lasts = rng.sample(people.LAST_NAMES, 5)
    events = rng.sample(people.EVENTS, 5)
    chosen = rng.sample(products, 10)
    for n in range(5):
        _registry(db, rng, n + 1, (firsts[n], lasts[n], events[n]), chosen[2 * n : 2 * n + 2])
    # Drawn last of all, so that the first five are what they were before there were these.
    more = rng.sample([name for name in people.FIRST_NAMES if name not in firsts], _MORE_REGISTRIES)
    free = [product for product in products if product not in chosen]
    for n, first in enumerate(more, start=6):
        who = first, rng.choice(people.LAST_NAMES), rng.choice(people.EVENTS)
        _registry(db, rng, n, who, [free.pop(rng.randrange(len(free))) for _ in range(2)])


def _registry(
    db: sqlite3.Connection, rng: random.Random, number: int, who: tuple[str, str, str], wishes: list[int]
) -> None:
    """One registry: first name, last name and event, an address of its own, and products wished for."""
    first, last, event = who
    place = _place(rng, first, last)
    owner = first + ("'" if first.endswith("s") else "'s")
    title = f"{owner} {event}"
    day = TODAY + timedelta(days=rng.randint(10, 90))
    note = f"Please have it delivered to this address before {day.strftime('%B')} {day.day}."
    db.execute(
        "INSERT INTO registry VALUES (:id, :slug, :title, :first, :last, :street, :city, :postcode,"
        " :country, :telephone, :note)",
        place | {"id": number, "slug": _slug(f"{first} {event}"), "title": title, "note": note},
    )
    for product in wishes:
        db.execute("INSERT INTO registry_item VALUES (?, ?, ?)", (number, product, rng.choice((1, 1, 2, 3))))
