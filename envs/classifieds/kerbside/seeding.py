"""Draws the state of a seed: people, listings with photos, comments, messages and wanted ads."""

import json
import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from typing import Any, NamedTuple

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
    names = [city for city, _ in cities]
    with ThreadPoolExecutor(1) as aside:  # hashing is slow, and lets other threads run meanwhile
        salts = _users(db, rng, names, random.Random(f"kerbside phones {seed}"))
        hashed = aside.map(lambda salt: hash_password(people.PASSWORD, salt), salts)
        listings = _listings(db, rng, codes, names)
        _comments(db, rng, listings)
        _messages(db, rng)
        _favourites(db, rng)
        _wanted(db, rng, codes, listings)
        db.executemany("UPDATE user SET password = ? WHERE id = ?", zip(hashed, range(1, len(salts) + 1), strict=True))


def _users(db: sqlite3.Connection, rng: random.Random, cities: list[str], dial: random.Random) -> list[bytes]:
    """People; returned are the salts of those who sign in, whose password is not set yet."""
    salts = []
    phones = dial.sample(range(2000, 9999), _SELLERS)
    firsts = rng.sample(people.FIRST_NAMES, _SELLERS - len(people.MEMBERS))
    lasts = rng.sample(people.LAST_NAMES, _SELLERS - len(people.MEMBERS))
    names = [*people.MEMBERS, *zip(firsts, lasts, strict=True)]
    for number, (first, last) in enumerate(names, start=1):
        member = number <= len(people.MEMBERS)
        domain = people.DOMAIN if member else rng.choice(("mail.test", "post.test", "inbox.test"))
        # Only members sign in; nobody knows the others' passwords.
        salt = rng.randbytes(8)
        salts += [salt] if member else []
        about = rng.choice(people.ABOUT)
        db.execute(
            "INSERT INTO user VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number, f"{first} {last}", f"{first}.{last}@{domain}".lower(), f"{salt.hex()}$", about,
                f"555-{phones[number - 1]}", rng.choice(cities), str(rng.randint(2015, 2025)),
            ),
        )  # fmt: skip
    return salts


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


def _photos(kind: Kind, facts: dict[str, Any], variant: int) -> Iterator[str]:
    """The specifications of a listing's photos, as `PhotoSpec.to_json` writes them."""
    front = PhotoSpec(
        kind.art, facts["colour"], facts["pieces"], facts["mark"], kind.anchor, kind.reach, facts["scene"],
        variant=variant % _VARIANTS,
    ).to_json()  # fmt: skip
    views = ["front", "side"]
    if facts["mark"]:
        views.append("close")
    for view in views:
        yield front.replace('"view":"front"', f'"view":"{view}"')
    if facts["serial"]:
        yield front.replace('"view":"front","label":""', f'"view":"label","label":"{facts["serial"]}"')


class _Posted(NamedTuple):
    """A listing that was drawn."""

    number: int
    seller: int
    price: int
    city: str
    created: date
    facts: dict[str, Any]


def _listings(db: sqlite3.Connection, rng: random.Random, codes: set[str], cities: list[str]) -> list[_Posted]:
    drafts = [(kind, number) for kind in KINDS for number in range(kind.count)]
    rng.shuffle(drafts)
    titles: set[str] = set()
    prices: set[tuple[str, int]] = set()
    minutes = 0
    listing_id = rng.randint(10, 40) * 100
    own = set(rng.sample(range(len(drafts)), 7))
    drawn: list[tuple[Any, ...]] = []
    photos: list[tuple[int, int, str]] = []
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
        title = _title(rng, kind, told_colour, told_pieces, titles)
        description = _description(rng, facts, price, seller == 1)
        city, spot = rng.choice(cities), rng.choice(people.SPOTS)
        drawn.append((listing_id, seller, kind.category, title, description, price, was, city, spot, minutes, facts))
        for n, spec in enumerate(_photos(kind, facts, rng.randint(1, 999)), start=1):
            photos.append((listing_id, n, spec))
    rows, posted = [], []
    for listing_id, seller, category, title, description, price, was, city, spot, minute, facts in drawn:
        # Minutes since the first listing become days, the last of which is yesterday.
        created = TODAY - timedelta(days=1 + (minutes - minute) // 1440)
        cents, before = price * 100, was * 100 if was else None
        told = created.isoformat(), json.dumps(facts)
        rows.append((listing_id, seller, category, title, description, cents, before, city, spot, *told))
        posted.append(_Posted(listing_id, seller, cents, city, created, facts))
    db.executemany("INSERT INTO listing VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'active', ?)", rows)
    db.executemany("INSERT INTO photo (listing_id, place, spec) VALUES (?, ?, ?)", photos)
    return posted


def _comments(db: sqlite3.Connection, rng: random.Random, listings: list[_Posted]) -> None:
    names = [row[0] for row in db.execute("SELECT name FROM user WHERE id > 3")]
    written: list[tuple[object, ...]] = []
    for listing in listings:
        authors = rng.sample(names, 3)
        for author in authors[: rng.choice((0, 0, 1, 1, 2, 3))]:
            rating = rng.choice((5, 5, 4, 4, 4, 3, 3, 2, 1))
            titles, bodies = people.COMMENTS[rating]
            day = min(TODAY, listing.created + timedelta(days=rng.randint(0, 6)))
            email = author.lower().replace(" ", ".") + "@mail.test"
            text = (rng.choice(titles), rng.choice(bodies))
            written.append((listing.number, author, email, *text, rating, day.isoformat()))
    db.executemany(
        "INSERT INTO comment (listing_id, author, email, title, body, rating, created) VALUES (?, ?, ?, ?, ?, ?, ?)",
        written,
    )


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


def _favourites(db: sqlite3.Connection, rng: random.Random) -> None:
    others = [row[0] for row in db.execute("SELECT id FROM listing WHERE user_id > 3 ORDER BY id")]
    for user in (1, 2, 3):
        for n, listing_id in enumerate(rng.sample(others, 3)):
            db.execute("INSERT INTO favourite VALUES (?, ?, ?)", (user, listing_id, n))


def _wanted(db: sqlite3.Connection, rng: random.Random, codes: set[str], listings: list[_Posted]) -> None:
    """Ads of people who look for what somebody offers, found only by its photos.

    No ad tells where the thing is, and the ad pays for every look-alike too: only the colour leads to it.
    """
    hidden = []
    single = {kind.noun for kind in KINDS if kind.many != kind.noun}
    looks = Counter((listing.facts["kind"], listing.facts["colour"]) for listing in listings)
    dearest: dict[str, int] = {}  # of those that keep their colour to themselves
    for listing_id, seller, price, _, _, shown in listings:
        if shown["colour_hidden"] and shown["pieces"] == 1:
            dearest[shown["kind"]] = max(price, dearest.get(shown["kind"], 0))
        plain = shown["colour_hidden"] and shown["pieces"] == 1 and shown["kind"] in single and not shown["mark"]
        if seller > 1 and price < 60000 and plain:
            hidden.append((listing_id, shown))
    rng.shuffle(hidden)
    seen: set[str] = set()
    names = db.execute("SELECT name, email, city FROM user WHERE id > 3 ORDER BY id").fetchall()
    people_ = iter(rng.sample(names, 6))
    for listing_id, shown in hidden:
        if shown["kind"] in seen or looks[shown["kind"], shown["colour"]] > 1:
            continue
        seen.add(shown["kind"])
        name, email, city = next(people_)
        most = dearest[shown["kind"]] // 100 + rng.randint(2, 9)
        reference = _code(rng, codes)
        article = "an" if shown["colour"] == "orange" else "a"
        text = (
            f"I have been looking for {article} {shown['colour']} {shown['kind']} for weeks. I pay up to ${most},"
            f" and I fetch it from anywhere. If you know of one, write to me and quote {reference}."
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
