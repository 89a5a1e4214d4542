"""Text alone never decides a task that is about pictures: what they show is not told, and others fit the text as well.

Every template marked as visual has its judge here. A judge reads the sites' pages as a visitor without pictures does
(alternative texts included) and compares them with what the task asks for.
"""

from __future__ import annotations

import html
import importlib
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any
from urllib.parse import quote_plus

import pytest
from starlette.testclient import TestClient

from confkv_agents import plugins
from confkv_agents.web.tasks import World, available_templates, load_template
from confkv_agents.web.tasks.templates import NothingToAsk

SEEDS = (3, 8, 1003, 1008)
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "black", "white", "brown")
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight")
ANIMALS = ("cat", "dog", "fox", "panda", "lion", "frog", "owl", "penguin")
MARKS = ("crack", "scratch", "scratches", "tear", "torn", "stain", "sticker")
SITES = {"shopping": "shop", "reddit": "forum", "classifieds": "classifieds"}


def module(site: str) -> ModuleType:
    return plugins.load_module(plugins.find_env(site), f"envs.{site}")


class Reader:
    """The sites in the state of a seed, and a made task, for somebody who sees no pictures."""

    def __init__(self, folder: Any, seed: int) -> None:
        self.seed = seed
        self.world = World(seed)
        self._folder = folder
        self._clients: dict[str, TestClient] = {}
        self.task: dict[str, Any] = {}

    def page(self, site: str, path: str) -> str:
        """The source of a page, signed out."""
        if site not in self._clients:
            app = module(site).create_app(self._folder / f"{site}{self.seed}.sqlite", self.seed)
            self._clients[site] = TestClient(app)
        answer = self._clients[site].get(path)
        assert answer.status_code == 200, path
        return answer.text

    def said(self, site: str, path: str) -> str:
        """What the main part of a page says, alternative texts and titles included."""
        source = re.search(r"<main.*</main>", self.page(site, path), re.DOTALL)
        assert source is not None, path
        body = re.sub(r"<(script|style|svg|select).*?</\1>", " ", source[0], flags=re.DOTALL)
        hidden = re.findall(r"\b(?:alt|title|aria-label)=\"([^\"]*)\"", body)
        return html.unescape(" ".join([re.sub(r"<[^>]+>", " ", body), *hidden]))

    def steps(self, script: str = "oracle") -> list[dict[str, Any]]:
        return list(self.task["x_confkv"][script])

    def opened(self, script: str = "oracle") -> list[str]:
        """Names of the links that are clicked, in order."""
        return [step["name"] for step in self.steps(script) if step.get("role") == "link"]

    def gap(self, name: str) -> str:
        """What the wording's gap holds; other gaps than the wording's are not in the task."""
        return str(self.task["instantiation_dict"][name])

    def close(self) -> None:
        self.world.close()
        for client in self._clients.values():
            client.app.state.database.close()  # type: ignore[attr-defined]


def words_in(text: str, words: tuple[str, ...]) -> list[str]:
    return [word for word in words if re.search(rf"\b{word}\b", text, re.IGNORECASE)]


# The classifieds.


def listing(reader: Reader, title: str) -> dict[str, Any]:
    return reader.world.row("classifieds", "SELECT * FROM listing WHERE title = ?", title)


def item(reader: Reader, title: str) -> str:
    """The page of a listing up to other listings of its seller."""
    text = reader.said("classifieds", f"/index.php?page=item&id={listing(reader, title)['id']}")
    return re.sub(r"Write a comment.*?More from .*", "", text, flags=re.DOTALL)


def searched(reader: Reader, script: str = "oracle") -> list[str]:
    """Titles that the script's last search lists on its page."""
    words = [step["text"] for step in reader.steps(script) if step.get("name") == "Search"][-1]
    region = next((step["option"] for step in reader.steps(script) if step["action"] == "select"), "")
    source = reader.page("classifieds", f"/index.php?page=search&sPattern={quote_plus(words)}&sRegion={region}")
    return [html.unescape(found) for found in re.findall(r'<a class="title"[^>]*>([^<]*)</a>', source)]


def colour_is_not_told(reader: Reader) -> None:
    for title in dict.fromkeys(name for name in reader.opened() if "Contact" not in name):
        facts = json.loads(listing(reader, title)["facts"])
        if title in (reader.task["instantiation_dict"].get(gap) for gap in ("listing", "a", "b")):
            assert facts["colour_hidden"] and not words_in(item(reader, title), COLOURS), title


def number_is_not_told(reader: Reader) -> None:
    title = reader.gap("listing")
    text = listing(reader, title)["description"] + " " + title
    assert not words_in(item(reader, title), NUMBERS) and not re.search(r"\b[2-8]\b", text), text
    sizes = {
        json.loads(row["facts"])["pieces"]
        for seed in range(20)
        for row in other_world(seed).rows("classifieds", "SELECT facts FROM listing")
        if json.loads(row["facts"])["kind"] == json.loads(listing(reader, title)["facts"])["kind"]
    }
    assert len(sizes - {1}) > 1, "a kind that always comes in sets of one size"


def label_is_not_told(reader: Reader) -> None:
    title = reader.opened()[0]
    serial = json.loads(listing(reader, title)["facts"])["serial"]
    assert serial and serial not in item(reader, title)


def mark_is_not_told(reader: Reader) -> None:
    kind = reader.gap("kind")
    saved = reader.world.rows("classifieds", "SELECT * FROM favourite WHERE user_id = 1")
    fitting = {}
    for title in searched(reader):
        row = listing(reader, title)
        photos = len(re.findall(r"Photo \d of \d", item(reader, title)))
        single = re.search(rf"\b{kind}\b", title) is not None  # "suitcases" are several
        own = row["user_id"] == 1 or row["id"] in [each["listing_id"] for each in saved]
        if single and not own and not words_in(row["description"], MARKS):
            fitting[title] = photos
    answer, rival = reader.opened()[0], reader.opened("near_miss")[0]
    assert fitting[answer] == fitting[rival], fitting
    assert searched(reader) == searched(reader, "near_miss")
    shown = next(place for place, step in enumerate(reader.steps()) if str(step.get("name")).startswith("Photo "))
    assert all(place > shown for place, step in enumerate(reader.steps()) if step.get("note")), "noted unseen"


def wanted_is_not_told(reader: Reader) -> None:
    title, *_ = [name for name in reader.opened() if name.endswith(" wanted")]
    ad = reader.world.row("classifieds", "SELECT * FROM wanted WHERE title = ?", title)
    text = reader.said("classifieds", f"/index.php?page=wanted&id={ad['id']}")
    assert not any(row["name"] in text for row in reader.world.rows("classifieds", "SELECT name FROM city"))
    kind = title.removesuffix(" wanted").lower()
    fitting = [
        each
        for each in searched(reader)
        if re.search(rf"\b{kind}\b", each, re.IGNORECASE)
        and listing(reader, each)["price"] <= ad["most"] * 100
        and not words_in(item(reader, each), (*COLOURS, *MARKS))
    ]
    assert {reader.opened()[2], reader.opened("near_miss")[2]} <= set(fitting) and len(fitting) > 1, fitting


# The forum.


@cache
def views() -> dict[str, Any]:
    """What posts may show, by title, in any seed."""
    boards = importlib.import_module(f"{module('forum').__name__}.board.content").BOARDS
    return {view.title: view for board in boards for view in board.views}


def post(reader: Reader, title: str) -> dict[str, Any]:
    sql = (
        "SELECT post.*, forum.name AS forum, shot FROM post JOIN forum ON forum.id = forum_id"
        " LEFT JOIN picture ON picture.id = picture_id WHERE post.title = ?"
    )
    return reader.world.row("forum", sql, title)


def thread(reader: Reader, title: str) -> str:
    row = post(reader, title)
    return reader.said("forum", f"/f/{row['forum']}/{row['id']}")


def post_colour_is_not_told(reader: Reader) -> None:
    title = reader.gap("post")
    assert not words_in(thread(reader, title), COLOURS), title
    view = views()[title]
    assert len(view.colours) > 2 or view.noun, title


def counts_are_not_told(reader: Reader) -> None:
    for gap in ("first", "second", "post"):
        if gap in reader.task["instantiation_dict"]:
            title = reader.gap(gap)
            shot = json.loads(post(reader, title)["shot"])
            assert len(set(views()[title].counts)) > 1, f"{title!r} always shows as many"
            number = dict(zip(range(2, 9), NUMBERS, strict=True)).get(shot["count"], "no number")
            assert not re.search(rf"\b({shot['count']}|{number}) (of them|{shot['kind']})", thread(reader, title))


def either_may_show_more(reader: Reader) -> None:
    counts_are_not_told(reader)
    one, other = (views()[reader.gap(gap)].counts for gap in ("first", "second"))
    assert max(one) > min(other) and max(other) > min(one), "the titles tell"


def titles_fit_another(reader: Reader) -> None:
    answer, rival = reader.opened()[-1], reader.opened("near_miss")[-1]
    shot = json.loads(post(reader, answer)["shot"])
    view = views()[rival]
    assert post(reader, rival)["forum"] == post(reader, answer)["forum"] and rival != answer
    assert shot["kind"] in (*view.kinds, *view.others) and rival in thread_list(reader, post(reader, answer)["forum"])
    assert not shot["colour"] or not view.colours or shot["colour"] in view.colours


def thread_list(reader: Reader, forum: str) -> str:
    return reader.said("forum", f"/f/{forum}")


# The shop.


def product(reader: Reader, name: str) -> dict[str, Any]:
    return reader.world.row("shop", "SELECT * FROM product WHERE name = ?", name)


def goods(reader: Reader, name: str) -> str:
    row = product(reader, name)
    return reader.said("shop", f"/{row['slug']}.html")


def product_colour_is_not_told(reader: Reader) -> None:
    assert not words_in(goods(reader, reader.gap("product")), COLOURS)


def pieces_are_not_told(reader: Reader) -> None:
    names = [name for name in reader.opened() if " Set" in name] + [reader.opened("near_miss")[-1]]
    for name in names:
        row = product(reader, name)
        assert not words_in(row["name"] + " " + row["description"], NUMBERS)
        assert not re.search(rf"\b({'|'.join(NUMBERS)}|\d) {row['noun']}s?\b", goods(reader, name), re.IGNORECASE)
    if "number" in reader.task["instantiation_dict"]:
        one, other = (product(reader, each) for each in names)
        assert one["noun"] == other["noun"] and one["stock"] and other["stock"] and one["pieces"] != other["pieces"]


def motif_is_not_told(reader: Reader) -> None:
    answer, rival = (product(reader, reader.opened(script)[-1]) for script in ("oracle", "near_miss"))
    assert answer["noun"] == rival["noun"] and answer["motif"] != rival["motif"] and rival["stock"]
    for row in (answer, rival):
        assert not words_in(goods(reader, row["name"]), ANIMALS)


def colours_leave_a_choice(reader: Reader) -> None:
    answer, rival = (product(reader, reader.opened(script)[-1]) for script in ("oracle", "near_miss"))
    assert answer["noun"] == rival["noun"] and answer["tint"] != rival["tint"] and answer["stock"] and rival["stock"]
    if "owned" in reader.task["instantiation_dict"]:
        owned = product(reader, reader.gap("owned"))
        assert not words_in(goods(reader, owned["name"]), COLOURS)
        sql = "SELECT colour FROM product WHERE noun = ? AND colour IS NOT NULL"
        named = {row["colour"] for row in reader.world.rows("shop", sql, owned["noun"])}
        assert not named & {answer["tint"], rival["tint"]}, "no two of a kind are of one colour"
    else:
        post_colour_is_not_told(reader)


JUDGES: dict[str, Callable[[Reader], None]] = {
    "classifieds/colours_message": colour_is_not_told,
    "classifieds/photo_colour": colour_is_not_told,
    "classifieds/photo_count": number_is_not_told,
    "classifieds/photo_mark": mark_is_not_told,
    "classifieds/serial_label": label_is_not_told,
    "classifieds/serial_relay": label_is_not_told,
    "classifieds/wanted_find": wanted_is_not_told,
    "cross/colour_buy": colours_leave_a_choice,
    "cross/count_buy": counts_are_not_told,
    "forum/colour_message": post_colour_is_not_told,
    "forum/counts_comment": counts_are_not_told,
    "forum/picture_more": either_may_show_more,
    "forum/vote_picture": titles_fit_another,
    "shop/count_sets": pieces_are_not_told,
    "shop/picture_colour": product_colour_is_not_told,
    "shop/picture_count": pieces_are_not_told,
    "shop/picture_match": colours_leave_a_choice,
    "shop/picture_motif": motif_is_not_told,
}
VISUAL = [name for name in available_templates() if load_template(name).visual != "easy"]


@cache
def other_world(seed: int) -> World:
    return World(seed)


@pytest.fixture(scope="module")
def readers(tmp_path_factory) -> Iterator[list[Reader]]:
    folder = tmp_path_factory.mktemp("sites")
    made = [Reader(folder, seed) for seed in SEEDS]
    yield made
    for reader in made:
        reader.close()


def test_every_visual_template_has_a_judge_and_no_other_has():
    assert sorted(JUDGES) == VISUAL


@pytest.mark.parametrize("name", VISUAL)
def test_text_alone_does_not_decide(name: str, readers: list[Reader]):
    judged = 0
    for reader in readers:
        try:
            reader.task = load_template(name).make(reader.seed, reader.world)
        except NothingToAsk:
            continue
        JUDGES[name](reader)
        judged += 1
    assert judged >= 3
