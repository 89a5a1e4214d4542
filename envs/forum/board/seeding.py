"""Draws the seeded state: the same seed gives the same rows, byte for byte."""

import hashlib
import json
import math
import random
import sqlite3
from dataclasses import dataclass, field

from confkv_agents.web.sitekit import hash_password

from .content import BOARDS, common
from .content.kinds import Board, Read, Talk, View
from .forms import slug
from .messages_seed import seed_messages
from .pictures import Shot
from .ranking import NOW, hot, split
from .wares import NOUNS, Ware, fitting, pair, wares
from .writing import Chatter, Words, fill, pick

_DAY = 86_400
_KINDS: dict[type, str] = {Talk: "text", View: "picture", Read: "link"}


@dataclass
class Draft:
    """A post before it has an id: posts are numbered in the order of their age."""

    board: Board
    forum_id: int
    item: Talk | View | Read
    words: Words
    created: int
    user_id: int
    ups: int
    downs: int
    shot: Shot | None = None
    facts: dict[str, object] = field(default_factory=dict)


@dataclass
class Reply:
    """A comment before it has an id."""

    post_id: int
    parent: int | None  # index into the list of replies
    user_id: int
    body: str
    created: int
    ups: int
    downs: int


def seed_database(db: sqlite3.Connection, seed: int) -> None:
    """Fill an empty database with members, forums, posts, comments and messages of `seed`."""
    rng = random.Random(f"forum:{seed}")
    goods = wares(seed)
    members = _members(db, rng)
    _forums(db, rng, members)
    drafts = _drafts(rng, goods, members)
    posts = _posts(db, rng, drafts, seed)
    _comments(db, rng, posts, members)
    _habits(db, rng, [post_id for post_id, _ in posts])
    seed_messages(db, rng, members)


def _members(db: sqlite3.Connection, rng: random.Random) -> list[int]:
    names = [*common.DEMO, *common.MEMBERS]
    bios = rng.sample(common.BIOS, len(common.BIOS))
    rows = []
    for user_id, name in enumerate(names, start=1):
        password = hash_password(common.PASSWORD, rng.randbytes(8)) if name in common.DEMO else None
        bio = bios[user_id % len(bios)] if rng.random() < 0.6 or name in common.DEMO else ""
        created = NOW - rng.randint(200, 2400) * _DAY - rng.randint(0, _DAY)
        rows.append((user_id, name, password, bio, created))
    db.executemany("INSERT INTO user VALUES (?, ?, ?, ?, ?)", rows)
    return list(range(1, len(names) + 1))


def _forums(db: sqlite3.Connection, rng: random.Random, members: list[int]) -> None:
    owners = rng.sample(members[3:], len(BOARDS))
    for forum_id, board in enumerate(BOARDS, start=1):
        rules = "\n".join(f"{n}. {rule}" for n, rule in enumerate(board.rules, start=1))
        created = NOW - rng.randint(800, 2600) * _DAY
        db.execute(
            "INSERT INTO forum VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (forum_id, board.name, board.title, board.description, rules, owners[forum_id - 1], created,
             rng.randint(240, 9800), board.hue),
        )  # fmt: skip


def _shot(view: View, rng: random.Random, goods: tuple[Ware, ...]) -> tuple[Shot, dict[str, object]]:
    kind = pick(rng, view.kinds)
    colour: str | None = pick(rng, view.colours) if view.colours else None
    ware: str | None = None
    noun = NOUNS.get(kind, "") if view.noun == "*" else view.noun
    if noun:
        coloured = [each for each in goods if each.noun == noun and each.colour]
        if coloured:
            chosen = pick(rng, coloured)
            colour, ware = str(chosen.colour).lower(), chosen.name
    other = pick(rng, [each for each in view.others if each != kind]) if view.others else None
    shot = Shot(kind, pick(rng, view.counts), colour, pick(rng, view.scenes), other, rng.randint(1, 3) if other else 0)
    return shot, shot.facts() | {"ware": ware}


def _drafts(rng: random.Random, goods: tuple[Ware, ...], members: list[int]) -> list[Draft]:
    drafts: list[Draft] = []
    named: set[str] = set()
    ages: set[int] = set()
    for forum_id, board in enumerate(BOARDS, start=1):
        own = fitting(goods, board.wares)
        if len(own) == 1:  # the others are sold out
            own = fitting(goods, ("*",))
        scores: set[int] = set()
        for item in (*board.talks, *board.views, *board.reads):
            words = Words(board, rng)
            if own and isinstance(item, Talk) and "{ware" in item.title + item.body:
                first, second = pair(own, rng, named)
                words |= {"ware": first.name, "price": first.price, "ware_b": second.name, "price_b": second.price}
            elif own:  # remarks may name some ware even where the post names none
                first, second = rng.sample(own, 2)
                words |= {"ware": first.name, "price": first.price, "ware_b": second.name, "price_b": second.price}
            minutes = 24 + round(60 * 24 * 55 * rng.random() ** 2.2)
            while minutes in ages:
                minutes += 1
            ages.add(minutes)
            while True:
                ups = round(math.exp(rng.gauss(3.6, 0.9)) * min(1.0, (minutes / 1500) ** 0.6)) + 2
                downs = round(ups * pick(rng, (0.02, 0.05, 0.1, 0.2, 0.45)))
                if ups - downs not in scores:
                    scores.add(ups - downs)
                    break
            user_id = pick(rng, (1, 1, 2, 3)) if rng.random() < 0.07 else pick(rng, members[3:])
            draft = Draft(board, forum_id, item, words, NOW - minutes * 60, user_id, ups, downs)
            if isinstance(item, View):
                draft.shot, draft.facts = _shot(item, rng, goods)
            drafts.append(draft)
    return sorted(drafts, key=lambda draft: draft.created)


def _posts(db: sqlite3.Connection, rng: random.Random, drafts: list[Draft], seed: int) -> list[tuple[int, Draft]]:
    posts, rows, articles = [], [], []
    pictures: list[tuple[int, str, str, str]] = []
    polls: list[tuple[int, int, str]] = []
    options: list[tuple[int, str, int]] = []
    post_id = 1200
    for draft in drafts:
        post_id += rng.randint(1, 9)
        item, words = draft.item, draft.words
        title = fill(item.title, words)
        kind, body, url, picture_id = "text", "", "", None
        if isinstance(item, View):
            kind, body = "picture", item.body
            name = hashlib.sha256(f"{seed}:{post_id}".encode()).hexdigest()[:24]
            picture_id = len(pictures) + 1
            pictures.append((picture_id, name, json.dumps(draft.facts), f"{seed}:{post_id}"))
        elif isinstance(item, Read):
            kind = "link"
            headline = fill(item.headline, words)
            url = f"https://{item.host}/{slug(headline)}"
        else:
            body = fill(item.body, words)
        rows.append(
            (post_id, draft.forum_id, draft.user_id, kind, title, slug(title), body, url, picture_id, draft.created,
             draft.ups, draft.downs, draft.ups - draft.downs, hot(draft.ups, draft.downs, draft.created),
             split(draft.ups, draft.downs), draft.created)
        )  # fmt: skip
        if isinstance(item, Read):
            byline = f"By {pick(rng, common.PEOPLE)} {pick(rng, 'ABCDEFGHKLMNPRSTVW')}."
            articles.append((post_id, item.host, headline, byline, fill(item.body, words)))
        elif isinstance(item, Talk) and item.poll:
            question, *labels = item.poll
            polls.append((len(polls) + 1, post_id, question))
            votes = rng.sample(range(3, 90), len(labels))
            options += [(len(polls), label, count) for label, count in zip(labels, votes, strict=True)]
        posts.append((post_id, draft))
    db.executemany("INSERT INTO picture (id, name, shot, seed) VALUES (?, ?, ?, ?)", pictures)
    db.executemany(
        "INSERT INTO post (id, forum_id, user_id, kind, title, slug, body, url, picture_id, created, ups, downs,"
        " score, hot, split, active) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
    db.executemany("INSERT INTO article VALUES (?, ?, ?, ?, ?)", articles)
    db.executemany("INSERT INTO poll (id, post_id, question) VALUES (?, ?, ?)", polls)
    db.executemany("INSERT INTO poll_option (poll_id, label, votes) VALUES (?, ?, ?)", options)
    return posts


def _comments(db: sqlite3.Connection, rng: random.Random, posts: list[tuple[int, Draft]], members: list[int]) -> None:
    said: set[str] = set()
    replies: list[Reply] = []
    for post_id, draft in posts:
        chatter = Chatter(draft.board, rng, said, draft.words)
        kind = _KINDS[type(draft.item)]
        depth: dict[int, int] = {}
        time = draft.created
        for _ in range(pick(rng, (1, 2, 3, 3, 4, 5, 5, 6, 6, 7, 8, 9, 12))):
            time += round((NOW - time) * rng.uniform(0.02, 0.2))
            open_to = [index for index, level in depth.items() if level < 5]
            parent = pick(rng, open_to) if open_to and rng.random() < 0.46 else None
            before = replies[parent].user_id if parent is not None else draft.user_id
            by_author = parent is not None and before != draft.user_id and rng.random() < 0.4
            if by_author:
                user_id = draft.user_id
            else:
                user_id = rng.randint(1, 3) if rng.random() < 0.03 else _other(rng, members, before, draft.user_id)
            if user_id == before:
                user_id = _other(rng, members, before, draft.user_id)
            body = chatter.under_post(kind) if parent is None else chatter.reply(replies[parent].body, by_author)
            ups = 1 + round(math.exp(rng.gauss(1.2, 0.9)))
            downs = round(ups * pick(rng, (0, 0, 0, 0.1, 0.3, 1.2)))
            depth[len(replies)] = 0 if parent is None else depth[parent] + 1
            replies.append(Reply(post_id, parent, user_id, body, time, ups, downs))
    order = sorted(range(len(replies)), key=lambda index: replies[index].created)
    number = {index: 5000 + place for place, index in enumerate(order)}
    db.executemany(
        "INSERT INTO comment (id, post_id, parent_id, user_id, body, created, ups, downs, score)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (number[index], reply.post_id, None if reply.parent is None else number[reply.parent], reply.user_id,
             reply.body, reply.created, reply.ups, reply.downs, reply.ups - reply.downs)
            for index, reply in ((index, replies[index]) for index in order)
        ),
    )  # fmt: skip
    figures: dict[int, tuple[int, int]] = {}
    for reply in replies:
        count, last = figures.get(reply.post_id, (0, 0))
        figures[reply.post_id] = count + 1, max(last, reply.created)
    db.executemany(
        "UPDATE post SET comments = ?, active = MAX(created, ?) WHERE id = ?",
        ((count, last, post_id) for post_id, (count, last) in figures.items()),
    )


def _other(rng: random.Random, members: list[int], *but: int) -> int:
    """A member who cannot sign in and is none of those excluded; members are numbered without gaps."""
    out = sorted({user for user in but if user > len(common.DEMO)})
    user = len(common.DEMO) + 1 + pick(rng, range(len(members) - len(common.DEMO) - len(out)))
    for each in out:
        user += user >= each
    return user


def _habits(db: sqlite3.Connection, rng: random.Random, ids: list[int]) -> None:
    """What the demo members have subscribed to, saved and voted for."""
    for user_id in (1, 2, 3):
        for forum_id in sorted(rng.sample(range(1, len(BOARDS) + 1), 4)):
            db.execute("INSERT INTO subscription VALUES (?, ?)", (user_id, forum_id))
        for post_id in sorted(rng.sample(ids[: len(ids) // 2], 2)):
            db.execute("INSERT INTO saved VALUES (?, ?, ?)", (user_id, post_id, NOW - rng.randint(1, 9) * _DAY))
