"""What the forum's templates share: posts and what they tell, how one gets to them, and what has been written."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from confkv_agents import plugins
from confkv_agents.web.tasks import Draft, Drawing, Unfit, begin
from confkv_agents.web.tasks.worlds import Row

not_there = plugins.load_module(
    plugins.data_dir("tasks") / "templates" / "_missing.py", "tasks.templates.missing"
).not_there
ME = "wren_hollis"
CODE = re.compile(r"\b[A-Z]{2}-[0-9]{3}\b")
# Titles of the posts that tell a code (`%` stands for anything), and what the code is called in a task.
CODES = {
    "Seed swap in %": "the number of this board's table",
    "Dawn walk in %": "the code of the lock on the gate",
    "% is missing around %": "the number on the collar",
    "Cooking evening in %": "the code for the back door",
    "Knitting night at %": "the label of the shelf",
    "Fixed: %": "the number of the part",
    "Slow ride on %": "the word for the soup",
    "Stolen on %": "the number under the frame",
    "Hut on the ridge%": "the code of the key box",
    "Hedge planting day%": "the code of the gate",
    "The footpath behind %": "the number of the right of way",
    "Open table at %": "the sign on the table for new people",
    "% looks for a %": "the code for the pad",
    "Painted %": "the number of the paint",
    "Lost the manual of %": "the code on the label",
    # Links: the code stands in the saved copy of the page.
    "The % allotments are ninety years old %": "the number of the old plot",
    "Town hall falcons %": "the ring of the older falcon",
    "The clock on % is right again": "the stamp on the old part",
    "% will have a cycle lane, %": "the number of the old sign",
    "A new % to % from % on": "the number of the first ticket",
    "The last button maker of %": "the number of the locked cupboard",
    "How old is a hedge?%": "the number of the deed",
    "The oldest dice %": "the find number of the die",
    "The bells of % are being tuned": "the mark on the third bell",
    "The smallest office in %": "the number on the door",
}
# Things that a picture shows one by one, and what more than one of them are called.
PLURALS = {
    "accordion": "accordions", "alarm-clock": "alarm clocks", "aubergine": "aubergines", "bagel": "bagels",
    "bee": "bees", "bicycle": "bicycles", "bus": "buses", "butterfly": "butterflies", "canoe": "canoes",
    "car": "cars", "carrot": "carrots", "cat": "cats", "cow": "cows", "crab": "crabs", "croissant": "croissants",
    "cupcake": "cupcakes", "die": "dice", "dog": "dogs", "drum": "drums", "duck": "ducks", "dumpling": "dumplings",
    "fish": "fish", "flamingo": "flamingos", "guitar": "guitars", "hammer": "hammers", "hedgehog": "hedgehogs",
    "hibiscus": "flowers", "horse": "horses", "kick-scooter": "scooters", "kite": "kites", "ladybird": "ladybirds",
    "locomotive": "locomotives", "motor-scooter": "motor scooters", "mug": "mugs", "mushroom": "mushrooms",
    "owl": "owls", "parrot": "parrots", "peacock": "peacocks", "pepper": "peppers", "pie": "pies", "pizza": "pizzas",
    "poodle": "poodles", "potted-plant": "potted plants", "pretzel": "pretzels", "puzzle": "puzzle pieces",
    "rabbit": "rabbits", "rooster": "roosters", "sailboat": "sailing boats", "scarf": "scarves",
    "screwdriver": "screwdrivers", "sheep": "sheep", "shell": "shells", "snail": "snails", "strawberry": "strawberries",
    "sunflower": "sunflowers", "swan": "swans", "teddy": "teddy bears", "tent": "tents", "tomato": "tomatoes",
    "toolbox": "toolboxes", "tram": "trams", "tulip": "tulips", "turtle": "turtles", "violin": "violins",
    "yarn": "balls of yarn",
}  # fmt: skip
# Their titles say what they show.
_TELLING = ("The new wool has come", "Green company", "New arrivals in the tank", "Two arrived instead of one")
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "black", "white", "brown")
_POSTS = (
    "SELECT post.id, post.kind, post.title, post.body, post.score, comments, post.user_id, forum.name AS forum,"
    " forum.title AS forum_title, forum_id, user.name AS author, picture.shot, article.body AS article,"
    " (SELECT GROUP_CONCAT(said.body, ' ') FROM comment AS said WHERE said.post_id = post.id) AS said"
    " FROM post JOIN forum ON forum.id = forum_id JOIN user ON user.id = post.user_id"
    " LEFT JOIN picture ON picture.id = picture_id LEFT JOIN article ON article.post_id = post.id"
    " WHERE instr(post.title, '''') = 0 AND ({}) ORDER BY post.id"
)


def posts(drawing: Drawing, where: str = "1", *values: Any) -> list[Row]:
    """Posts with their forum, author and what comments `said`; titles with an apostrophe cannot be quoted plainly."""
    return drawing.rows("forum", _POSTS.format(where), *values)


def code_posts(drawing: Drawing) -> list[Row]:
    """Posts by other members that tell one code, as a text or behind a link; `code` is it, `what` what it is called."""
    found = []
    for post in posts(drawing, "post.kind <> 'picture' AND user.name <> ?", ME):
        what = next((CODES[each] for each in CODES if like(each, post["title"])), None)
        codes = CODE.findall(post["article"] or post["body"])
        if what and len(codes) == 1:
            found.append(post | {"code": codes[0], "what": what})
    return found


def code_texts(drawing: Drawing, *but: Row) -> list[Row]:
    """The code posts whose own page tells the code, without some of them."""
    taken = {post["id"] for post in but}
    return [post for post in code_posts(drawing) if post["kind"] == "text" and post["id"] not in taken]


def pictures(drawing: Drawing) -> list[Row]:
    """Picture posts whose main things have a name and can be counted, with the facts of the picture as columns.

    `things` is what they are called: `mugs`, or `mug` for a single one. Left out are posts whose titles tell it.
    """
    found = []
    for post in posts(drawing, "post.kind = 'picture'"):
        facts = json.loads(post.pop("shot"))
        if facts["kind"] in PLURALS and post["title"] not in _TELLING and facts["other"] != facts["kind"]:
            found.append(post | facts | {"things": PLURALS[facts["kind"]]})
    return found


def colour_hidden(rows: Sequence[Row]) -> list[Row]:
    """Picture posts that show a colour and on whose page nobody speaks of one."""
    telling = re.compile(rf"\b({'|'.join(COLOURS)})\b", re.IGNORECASE)
    shown = [row for row in rows if row["colour"]]
    return [row for row in shown if not telling.search(f"{row['title']} {row['body']} {row['said']}")]


def count_hidden(rows: Sequence[Row]) -> list[Row]:
    """Picture posts on whose page nobody speaks of so and so many of them."""
    telling = re.compile(r"\b(\d+|two|three|four|five|six|seven) of them\b", re.IGNORECASE)
    return [row for row in rows if not telling.search(f"{row['body']} {row['said']}")]


@cache
def views() -> Row:
    """What picture posts may show at all, in any seed, by their titles: a reader of many titles comes to know it."""
    site = plugins.load_module(plugins.find_env("forum"), "envs.forum")
    boards = importlib.import_module(f"{site.__name__}.board.content").BOARDS
    return {view.title: view for board in boards for view in board.views}


def could_show(post: Row, kind: str, colour: str | None) -> bool:
    """Whether a picture post with this title might show a kind of thing (in a colour)."""
    view = views()[post["title"]]
    return kind in (*view.kinds, *view.others) and (not colour or not view.colours or colour in view.colours)


def different(rows: Sequence[Row], column: str) -> None:
    """Refuse a drawing whose rows agree in a column.

    Raises:
        Unfit: Two do.
    """
    if len({row[column] for row in rows}) < len(rows):
        raise Unfit(f"two have the same {column}")


def click(role: str, name: str, note: str = "", **more: Any) -> Row:
    """A scripted click."""
    return _step(note, {"action": "click", "role": role, "name": name} | more)


def stop(answer: str = "", note: str = "") -> Row:
    """The scripted end."""
    return _step(note, {"action": "stop", "answer": answer})


def search(words: str, note: str = "") -> Row:
    """Look for something with the field at the top of every page."""
    step = {"action": "type", "role": "searchbox", "name": "Search", "text": words, "enter": True}
    return _step(note, step)


def fill(name: str, text: str, note: str = "") -> Row:
    """Write into a field."""
    return _step(note, {"action": "type", "role": "textbox", "name": name, "text": text})


def open_post(post: Row, note: str = "") -> list[Row]:
    """Search for a post by its title and open it."""
    return [search(post["title"], note), click("link", post["title"])]


def comment(text: str, note: str = "") -> list[Row]:
    """Write a comment under the post that is open."""
    return [fill("Write a comment", text, note), click("button", "Post comment")]


def message(member: str, text: str, note: str = "") -> list[Row]:
    """Send a private message to a member whose name is a link on the page."""
    return [
        click("link", member, note),
        click("link", "Send message"),
        fill("Message", text),
        click("button", "Send"),
    ]


def two_under_a_third(
    drawing: Drawing,
    three: Sequence[Row],
    column: str,
    facts: Sequence[str],
    notes: Sequence[str],
    wrong: str,
) -> Draft:
    """Read a fact in each of two posts and comment both, `A, B`, under a third: three parts of the plan.

    Args:
        drawing: The drawing.
        three: The two and the third.
        column: Of what the facts are called: `what` or `things`; the gaps are `first_what` and `second_what`.
        facts: What the two posts tell.
        notes: What to jot down after each of them.
        wrong: What somebody comments who has seen the second one only.
    """
    first, second, place = three
    text = ", ".join(facts)
    return Draft(
        values={
            "first": first["title"],
            f"first_{column}": first[column],
            "second": second["title"],
            f"second_{column}": second[column],
            "place": place["title"],
        },
        evaluation=page_checks(changes(drawing, f"comment on {place['id']}: {text}")),
        oracle=[
            *open_post(first),
            *begin(1, open_post(second, note=notes[0])),
            *begin(2, open_post(place, note=notes[1])),
            *comment(text),
            stop(),
        ],
        near_miss=[*open_post(second), *open_post(place), *comment(wrong), stop()],
        login=True,
    )


def changes(drawing: Drawing, *expected: str) -> Row:
    """A check that exactly this was written on the forum, in order of kind: comments, messages, votes, posts.

    Args:
        drawing: Gives the last numbers of the seeded state.
        expected: `comment on 1322: FL-768`, `reply on 1322: ...`, `message to mira_sand: ...`, `vote 1 on 1322`,
            `new post: ...`, `edited 1322: ...`, `deleted 1322`.
    """
    (last,) = drawing.rows(
        "forum",
        "SELECT (SELECT MAX(id) FROM comment) AS comment, (SELECT MAX(id) FROM message) AS message,"
        " (SELECT MAX(id) FROM post) AS post",
    )
    script = (
        "lambda:() => { const state = JSON.parse(document.body.innerText); return ["
        f"...state.comments.filter(each => each.id > {last['comment']})"
        ".map(each => (each.parent_id ? 'reply' : 'comment') + ' on ' + each.post_id + ': ' + each.body), "
        f"...state.messages.filter(each => each.id > {last['message']})"
        ".map(each => 'message to ' + each.receiver + ': ' + each.body), "
        "...state.post_votes.map(each => 'vote ' + each.value + ' on ' + each.post_id), "
        f"...state.posts.filter(each => each.id > {last['post']}).map(each => 'new post: ' + each.title), "
        "...state.posts.filter(each => each.edited && !each.deleted)"
        ".map(each => 'edited ' + each.id + ': ' + each.body), "
        "...state.posts.filter(each => each.deleted).map(each => 'deleted ' + each.id)].join('; ') || 'nothing'; }"
    )
    return {
        "url": "__REDDIT__/__state__",
        "locator": script,
        "required_contents": {"exact_match": "; ".join(expected) or "nothing"},
    }


def kept(table: str, *expected: str) -> Row:
    """A check of what the member has `saved` (numbers of posts) or of their `subscriptions` (names of forums)."""
    script = (
        "lambda:() => { const state = JSON.parse(document.body.innerText); "
        f"return (state.{table}.{ME} || []).join(', '); }}"
    )
    return {
        "url": "__REDDIT__/__state__",
        "locator": script,
        "required_contents": {"exact_match": ", ".join(expected)},
    }


def page_checks(*checks: Row) -> Row:
    """The evaluation of a task that is about what stands on pages afterwards."""
    return {"eval_types": ["program_html"], "program_html": list(checks)}


def answer(*parts: str) -> Row:
    """The evaluation of a task whose answer must hold every part."""
    return {"eval_types": ["string_match"], "reference_answers": {"must_include": list(parts)}}


def like(pattern: str, title: str) -> bool:
    """Whether a title fits a pattern in which `%` stands for anything."""
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.split("%")), title) is not None


def _step(note: str, step: Row) -> Row:
    return ({"note": note} if note else {}) | step
