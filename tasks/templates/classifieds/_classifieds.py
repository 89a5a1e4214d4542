"""What the classifieds' templates share: listings and what photos show, the way to them, what was written."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from confkv_agents import plugins
from confkv_agents.web.tasks import Drawing, Unfit
from confkv_agents.web.tasks.worlds import Row

not_there = plugins.load_module(
    plugins.data_dir("tasks") / "templates" / "_missing.py", "tasks.templates.missing"
).not_there
ME = "lena.marsh@kerbside.test"
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "black", "white", "brown")
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight")
_LISTINGS = (
    "SELECT listing.id, listing.title, price, listing.city, city.region, category.name AS category, facts,"
    " user.name AS seller, user.email, user.phone,"
    " listing.title || ' ' || description || ' ' || spot || ' ' || COALESCE((SELECT GROUP_CONCAT(said.title || ' ' ||"
    " said.body, ' ') FROM comment AS said WHERE said.listing_id = listing.id), '') AS text,"
    " (SELECT COUNT(*) FROM photo WHERE listing_id = listing.id) AS photos"
    " FROM listing JOIN city ON city.name = listing.city JOIN category ON category.id = category_id"
    " JOIN user ON user.id = user_id WHERE user_id {} ORDER BY listing.id"
)


def listings(drawing: Drawing, own: bool = False) -> list[Row]:
    """Listings of other people, or the demo user's own, with place, seller and what their photos show as columns.

    `text` is everything that words tell on the listing's page, comments included.
    """
    found = []
    for row in drawing.rows("classifieds", _LISTINGS.format("= 1" if own else "> 1")):
        facts = json.loads(row.pop("facts"))
        found.append(row | facts)
    return found


def others(drawing: Drawing, *but: Row) -> list[Row]:
    """Listings of other people than the demo user and than the sellers of some listings."""
    taken = {row["email"] for row in but}
    return [row for row in listings(drawing) if row["email"] not in taken]


def found_by(drawing: Drawing, kind: str, region: str = "") -> int:
    """How many listings a search for a kind may list, at most: its words in titles or descriptions."""
    words = [word.removesuffix("s") for word in kind.split()]
    where = " AND ".join("title || description LIKE ?" for _ in words)
    sql = f"SELECT COUNT(*) AS count FROM listing JOIN city ON city.name = city WHERE {where} AND region LIKE ?"
    (row,) = drawing.rows("classifieds", sql, *(f"%{word}%" for word in words), region or "%")
    return int(row["count"])


def quiet(rows: Sequence[Row], words: Sequence[str]) -> list[Row]:
    """The listings whose page has none of some words: what photos show is neither told there nor mistold."""
    telling = re.compile(rf"\b({'|'.join(words)})\b", re.IGNORECASE)
    return [row for row in rows if not telling.search(row["text"])]


def colour_hidden(drawing: Drawing) -> list[Row]:
    """Listings whose colour only photos tell, and on whose page no colour is spoken of."""
    return quiet([row for row in listings(drawing) if row["colour_hidden"]], COLOURS)


def plain(row: Row) -> bool:
    """Whether a listing is of a single thing, and its text owns up to no mark."""
    return row["pieces"] == 1 and (not row["mark"] or row["mark_hidden"])


def different(rows: Sequence[Row], column: str) -> None:
    """Refuse a drawing whose rows agree in a column.

    Raises:
        Unfit: Two do.
    """
    if len({row[column] for row in rows}) < len(rows):
        raise Unfit(f"two have the same {column}")


def click(role: str, name: str, note: str = "") -> Row:
    """A scripted click."""
    return _step(note, {"action": "click", "role": role, "name": name})


def stop(answer: str = "", note: str = "") -> Row:
    """The scripted end."""
    return _step(note, {"action": "stop", "answer": answer})


def search(words: str, note: str = "") -> Row:
    """Look for something with the field at the top of every page."""
    return _step(note, {"action": "type", "role": "textbox", "name": "Search", "text": words, "enter": True})


def fill(name: str, text: str, note: str = "") -> Row:
    """Write into a field."""
    return _step(note, {"action": "type", "role": "textbox", "name": name, "text": text})


def select(name: str, option: str, note: str = "") -> Row:
    """Choose an option of a list."""
    return _step(note, {"action": "select", "role": "combobox", "name": name, "option": option})


def open_listing(row: Row, note: str = "") -> list[Row]:
    """Search for a listing by its title and open it."""
    return [search(row["title"], note), click("link", row["title"])]


def last_photo(row: Row, note: str = "") -> Row:
    """Show the last photo of the listing that is open, where the label is if there is one."""
    return click("link", f"Photo {row['photos']} of {row['photos']}", note)


def write_to(row: Row, text: str, note: str = "") -> list[Row]:
    """Search for a listing, open it and send its seller a message."""
    return [
        *open_listing(row, note),
        click("link", "Contact seller", note="contact"),
        fill("Message", text),
        click("button", "Send message"),
    ]


def comment(stars: int, title: str, text: str) -> list[Row]:
    """Write a comment under the listing that is open."""
    return [
        click("radio", "1 star" if stars == 1 else f"{stars} stars"),
        fill("Title", title),
        fill("Comment", text),
        click("button", "Send comment"),
    ]


def dollars(row: Row) -> str:
    """The price of a listing as pages write it: `$85.00`."""
    return f"${row['price'] / 100:.2f}"


def sent(row: Row, text: str) -> str:
    """A message to the seller of a listing, as `changes` words it."""
    return f"message to {row['email']} about {row['title']}: {text}"


def changes(drawing: Drawing, *expected: str) -> dict[str, Any]:
    """The evaluation: exactly this was changed on the site by the demo user, in this order of kinds.

    Args:
        drawing: Gives the seeded state to compare with.
        expected: `message to EMAIL about TITLE: TEXT`, `comment on TITLE: 4, HEADING, TEXT`, `report of TITLE`,
            `saved TITLE`, `unsaved TITLE`, `changed TITLE: 120`, `rewritten 2148` (by number), `posted or deleted`;
            nothing at all where empty.
    """
    (last,) = drawing.rows(
        "classifieds",
        "SELECT (SELECT MAX(id) FROM message) AS message, (SELECT MAX(id) FROM comment) AS comment,"
        " (SELECT COUNT(*) FROM listing) AS listings",
    )
    saved = drawing.rows("classifieds", "SELECT listing_id FROM favourite WHERE user_id = 1 ORDER BY added")
    own = drawing.rows("classifieds", "SELECT id, title, price, description FROM listing WHERE user_id = 1 ORDER BY id")
    numbers = {row["id"]: row["price"] // 100 for row in own}
    texts = {row["id"]: [row["title"], row["description"]] for row in own}
    script = (
        "lambda:() => { const state = JSON.parse(document.querySelector('pre').textContent); "
        "const find = id => state.listings.find(each => each.id === Number(id)); "
        f"const prices = {json.dumps(numbers)}; const texts = {json.dumps(texts)}; "
        f"const before = {json.dumps([row['listing_id'] for row in saved])}; "
        f"const after = state.favourites['{ME}'] || []; "
        "return ["
        f"...state.messages.filter(each => each.id > {last['message']})"
        ".map(each => 'message to ' + each.to_email + ' about ' + each.about + ': ' + each.body), "
        f"...state.comments.filter(each => each.id > {last['comment']})"
        ".map(each => 'comment on ' + find(each.listing_id).title + ': ' + each.rating + ', ' + each.title + ', '"
        " + each.body), "
        "...state.reports.map(each => 'report of ' + each.title), "
        "...after.filter(id => !before.includes(id)).map(id => 'saved ' + find(id).title), "
        "...before.filter(id => !after.includes(id)).map(id => 'unsaved ' + find(id).title), "
        "...Object.keys(prices).filter(id => find(id) && find(id).price !== 100 * prices[id])"
        ".map(id => 'changed ' + find(id).title + ': ' + find(id).price / 100), "
        "...Object.keys(texts).filter(id => find(id) && [find(id).title, find(id).description].some((text, n) =>"
        " text !== texts[id][n])).map(id => 'rewritten ' + id), "
        f"...(state.listings.length === {last['listings']} && Object.keys(texts).every(id => find(id)) ? []"
        " : ['posted or deleted'])].join('; ') || 'nothing'; }"
    )
    check = {
        "url": "__CLASSIFIEDS__/__state__",
        "locator": script,
        "required_contents": {"exact_match": "; ".join(expected) or "nothing"},
    }
    return {"eval_types": ["program_html"], "program_html": [check]}


def answer(*parts: str, without: Sequence[str] = ()) -> dict[str, Any]:
    """The evaluation of a task whose answer must hold every part, and none of those in `without`."""
    reference: dict[str, Any] = {"must_include": list(parts)}
    if without:
        reference["must_exclude"] = list(without)
    return {"eval_types": ["string_match"], "reference_answers": reference}


def _step(note: str, step: Row) -> Row:
    return ({"note": note} if note else {}) | step
