"""Draws the state of a seed: people, listings with photos, comments, messages and wanted ads."""

import json
import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from confkv_agents.web.sitekit import hash_password

from . import people
from .catalogue import CATEGORIES, COLOURS, KINDS, Kind
from .pictures import PhotoSpec

TODAY = date(2026, 6, 15)
_SELLERS = 24
_VARIANTS = 12  # of each scene: few enough to be drawn once
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"


def _code(rng: random.Random, used: set[str]) -> str:
    """A code that is easy to copy and like no other: two letters, three digits."""
    while True:
        code = "".join(rng.choices(_LETTERS, k=2)) + str(rng.randint(200, 999))
        if code not in used:
            used.add(code)
            return code


def seed_database(db: sqlite3.Connection, seed: int) -> None:
    """Fill the empty tables with the state of `seed`."""
    rng = random.Random(f"kerbside {seed}")
    codes: set[str] = set()
    cities = [(city, region) for region, names in people.PLACES.items() for city in names]
    for category in CATEGORIES:
        db.execute(
            "INSERT INTO category VALUES (?, ?, ?, ?)",
            (category.number, category.name, category.icon, _code(rng, codes)),
        )
    for region, desk in zip(people.PLACES, rng.sample(people.MEETING_DESKS, len(people.PLACES)), strict=True):
        db.execute("INSERT INTO region VALUES (?, ?)", (region, desk))
    db.executemany("INSERT INTO city VALUES (?, ?)", cities)
    _users(db, rng, [city for city, _ in cities], random.Random(f"kerbside phones {seed}"))
    ids = _listings(db, rng, codes)
    _comments(db, rng, ids)
    _messages(db, rng)
    _favourites(db, rng, ids)
    _wanted(db, rng, codes)


def _users(db: sqlite3.Connection, rng: random.Random, cities: list[str], dial: random.Random) -> None:
    phones = dial.sample(range(2000, 9999), _SELLERS)
    firsts = rng.sample(people.FIRST_NAMES, _SELLERS - len(people.MEMBERS))
    lasts = rng.sample(people.LAST_NAMES, _SELLERS - len(people.MEMBERS))
    names = [*people.MEMBERS, *zip(firsts, lasts, strict=True)]
    for number, (first, last) in enumerate(names, start=1):
        member = number <= len(people.MEMBERS)
        domain = people.DOMAIN if member else rng.choice(("mail.test", "post.test", "inbox.test"))
        # Only members sign in; nobody knows the others' passwords.
        password = hash_password(people.PASSWORD, rng.randbytes(8)) if member else f"{rng.randbytes(8).hex()}$"
        db.execute(
            "INSERT INTO user VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number, f"{first} {last}", f"{first}.{last}@{domain}".lower(), password, rng.choice(people.ABOUT),
                f"555-{phones[number - 1]}", rng.choice(cities), str(rng.randint(2015, 2025)),
            ),
        )  # fmt: skip


def _title(rng: random.Random, kind: Kind, colour: str, pieces: int, titles: set[str]) -> str:
    """A title that no other listing has; colour and number are in it only if given."""
    choices = [(maker, detail) for maker in kind.makers for detail in kind.details]
    rng.shuffle(choices)
    noun = kind.many if pieces != 1 else kind.noun
    for maker, detail in choices:
        words = [str(pieces)] if pieces > 1 else []
        words += [maker, colour, noun] if colour else [maker, noun]
        title = f"{' '.join(words)}, {detail}"
        if title not in titles:
            titles.add(title)
            return title
    raise ValueError(f"{kind.noun}: more listings than titles")


def _description(rng: random.Random, facts: dict[str, Any], price: int, own: bool) -> str:
    state = rng.choice(people.STATES)
    lines = [state, rng.choice(people.REASONS), *rng.sample(people.HANDOVER, 2)]
    if facts["mark"] and not facts["mark_hidden"]:
        words = {"cracked": "a crack", "scratched": "scratches", "torn": "a tear", "stained": "a stain",
                 "sticker": "a sticker on it"}  # fmt: skip
        lines.insert(1, f"It has {words[facts['mark']]}, see the photos.")
    if own or rng.random() < 0.25:
        lines.append(f"I am asking ${price} for it.")
    return " ".join(lines)


def _looks(rng: random.Random, kind: Kind, number: int) -> dict[str, Any]:
    """What the photos of a listing show, and which of it the text keeps to itself."""
    colour = rng.choice(COLOURS) if kind.colours else ""
    pieces = rng.randint(2, kind.most) if kind.most > 1 and rng.random() < 0.6 else 1
    mark = rng.choice(kind.marks) if kind.marks and rng.random() < 0.45 else ""
    return {
        "kind": kind.noun,
        "colour": colour,
        # By turns, so that every kind has listings of both sorts.
        "colour_hidden": bool(colour) and number % 2 == 1,
        "pieces": pieces,
        "pieces_hidden": pieces > 1 and rng.random() < 0.7,
        "mark": mark,
        "mark_hidden": bool(mark) and rng.random() < 0.75,
        "scene": "carpet" if pieces > 3 else rng.choice(kind.scenes),
        "serial": "",
    }


def _photos(kind: Kind, facts: dict[str, Any], variant: int) -> Iterator[PhotoSpec]:
    views = ["front", "side"]
    if facts["mark"]:
        views.append("close")
    if facts["serial"]:
        views.append("label")
    for view in views:
        yield PhotoSpec(
            kind.art, facts["colour"], facts["pieces"], facts["mark"], kind.anchor, kind.reach, facts["scene"], view,
            facts["serial"] if view == "label" else "", variant % _VARIANTS,
        )  # fmt: skip


def _listings(db: sqlite3.Connection, rng: random.Random, codes: set[str]) -> list[int]:
    drafts = [(kind, number) for kind in KINDS for number in range(kind.count)]
    rng.shuffle(drafts)
    titles: set[str] = set()
    prices: set[tuple[str, int]] = set()
    cities = [row[0] for row in db.execute("SELECT name FROM city")]
    minutes = 0
    listing_id = rng.randint(10, 40) * 100
    ids: list[int] = []
    own = set(rng.sample(range(len(drafts)), 7))
    for place, (kind, number) in enumerate(drafts):
        facts = _looks(rng, kind, number)
        if kind.category in (4, 5) and rng.random() < 0.6:
            facts["serial"] = _code(rng, codes)
        price = rng.randint(kind.low, kind.high)
        while (kind.noun, price) in prices:  # no two of a kind cost the same: "the cheapest" is one listing
            price += 1
        prices.add((kind.noun, price))
        seller = 1 if place in own else rng.randint(2, _SELLERS)
        listing_id += rng.randint(1, 9)
        # Ids follow time: an older listing has a smaller one.
        minutes += rng.randint(40, 420)
        was = round(price * rng.uniform(1.1, 1.5)) if price >= 20 and rng.random() < 0.2 else None
        told_colour = "" if facts["colour_hidden"] else facts["colour"]
        told_pieces = 0 if facts["pieces_hidden"] else facts["pieces"]
        db.execute(
            "INSERT INTO listing VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'active', ?)",
            (
                listing_id, seller, kind.category, _title(rng, kind, told_colour, told_pieces, titles),
                _description(rng, facts, price, seller == 1), price * 100, was * 100 if was else None,
                rng.choice(cities), rng.choice(people.SPOTS), str(minutes), json.dumps(facts),
            ),
        )  # fmt: skip
        variant = rng.randint(1, 999)
        db.executemany(
            "INSERT INTO photo (listing_id, place, spec) VALUES (?, ?, ?)",
            [(listing_id, n, spec.to_json()) for n, spec in enumerate(_photos(kind, facts, variant), start=1)],
        )
        ids.append(listing_id)
    _date(db, ids, minutes)
    return ids


def _date(db: sqlite3.Connection, ids: list[int], last: int) -> None:
    """Turn minutes since the first listing into days, the last of which is yesterday."""
    for listing_id in ids:
        (minutes,) = db.execute("SELECT created FROM listing WHERE id = ?", (listing_id,)).fetchone()
        day = TODAY - timedelta(days=1 + (last - int(minutes)) // 1440)
        db.execute("UPDATE listing SET created = ? WHERE id = ?", (day.isoformat(), listing_id))


def _comments(db: sqlite3.Connection, rng: random.Random, ids: list[int]) -> None:
    names = [row[0] for row in db.execute("SELECT name FROM user WHERE id > 3")]
    for listing_id in ids:
        (created,) = db.execute("SELECT created FROM listing WHERE id = ?", (listing_id,)).fetchone()
        authors = rng.sample(names, 3)
        for author in authors[: rng.choice((0, 0, 1, 1, 2, 3))]:
            rating = rng.choice((5, 5, 4, 4, 4, 3, 3, 2, 1))
            titles, bodies = people.COMMENTS[rating]
            day = min(TODAY, date.fromisoformat(created) + timedelta(days=rng.randint(0, 6)))
            db.execute(
                "INSERT INTO comment (listing_id, author, email, title, body, rating, created)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    listing_id, author, author.lower().replace(" ", ".") + "@mail.test", rng.choice(titles),
                    rng.choice(bodies), rating, day.isoformat(),
                ),
            )  # fmt: skip


def _messages(db: sqlite3.Connection, rng: random.Random) -> None:
    """Offers on the demo user's listings: several on one of them, one on two others."""
    own = db.execute("SELECT id, title, price, city FROM listing WHERE user_id = 1 ORDER BY price DESC").fetchall()
    writers = db.execute("SELECT id, name, email FROM user WHERE id > 3 ORDER BY id").fetchall()
    chosen = rng.sample(writers, 5)
    days = rng.sample(people.DAYS, 5)
    shares = rng.sample((60, 65, 70, 75, 80, 85, 90), 5)
    for number, (writer, day, share) in enumerate(zip(chosen, days, shares, strict=True)):
        listing = own[0 if number < 3 else number - 2]
        offer = f"${max(1, listing[2] * share // 10000)}"
        phone = f"555-0{rng.randint(200, 899)}"
        body = rng.choice(people.OFFERS).format(offer=offer, day=day, phone=phone, city=listing[3])
        created = TODAY - timedelta(days=number + 1)
        db.execute(
            "INSERT INTO message (to_user, from_user, listing_id, about, name, email, phone, body, created)"
            " VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)",
            (writer[0], listing[0], listing[1], writer[1], writer[2], phone, body, created.isoformat()),
        )


def _favourites(db: sqlite3.Connection, rng: random.Random, ids: list[int]) -> None:
    for user in (1, 2, 3):
        others = [row[0] for row in db.execute("SELECT id FROM listing WHERE user_id > 3 ORDER BY id")]
        for n, listing_id in enumerate(rng.sample(others, 3)):
            db.execute("INSERT INTO favourite VALUES (?, ?, ?)", (user, listing_id, n))


def _wanted(db: sqlite3.Connection, rng: random.Random, codes: set[str]) -> None:
    """Ads of people who look for what somebody offers, found only by its photos; look-alikes cost another price."""
    hidden = []
    single = {kind.noun for kind in KINDS if kind.many != kind.noun}
    shown_all = [json.loads(row[0]) for row in db.execute("SELECT facts FROM listing")]
    looks = Counter((shown["kind"], shown["colour"]) for shown in shown_all)
    for listing_id, price, city, facts in db.execute(
        "SELECT id, price, city, facts FROM listing WHERE user_id > 1 AND price < 60000 ORDER BY id"
    ):
        shown = json.loads(facts)
        if shown["colour_hidden"] and shown["pieces"] == 1 and shown["kind"] in single and not shown["mark"]:
            hidden.append((listing_id, price, city, shown))
    rng.shuffle(hidden)
    seen: set[str] = set()
    names = db.execute("SELECT name, email FROM user WHERE id > 3 ORDER BY id").fetchall()
    people_ = iter(rng.sample(names, 6))
    for listing_id, price, city, shown in hidden:
        if shown["kind"] in seen or looks[shown["kind"], shown["colour"]] > 1:
            continue
        seen.add(shown["kind"])
        name, email = next(people_)
        most = price // 100 + rng.randint(2, 9)
        reference = _code(rng, codes)
        article = "an" if shown["colour"] == "orange" else "a"
        text = (
            f"I have been looking for {article} {shown['colour']} {shown['kind']} for weeks. I pay up to ${most},"
            f" and I come to {city} to fetch it. If you know of one, write to me and quote {reference}."
        )
        db.execute(
            "INSERT INTO wanted (title, text, name, email, most, city, reference, facts)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                f"{shown['kind'].capitalize()} wanted", text, name, email, most, city, reference,
                json.dumps({"listing_id": listing_id}),
            ),
        )  # fmt: skip
        if len(seen) == 6:
            return
