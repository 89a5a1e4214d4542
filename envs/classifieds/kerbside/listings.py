"""Listings as pages show them: search, filters, sorting, pages."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .prices import parse_price
from .visit import link

PAGE_SIZE = 8
SELECT = (
    "SELECT listing.*, category.name AS category, city.region, user.name AS seller, user.email AS seller_email,"
    " (SELECT photo.id FROM photo WHERE listing_id = listing.id ORDER BY place LIMIT 1) AS cover,"
    " (SELECT COUNT(*) FROM photo WHERE listing_id = listing.id) AS photos"
    " FROM listing JOIN category ON category.id = category_id JOIN user ON user.id = listing.user_id"
    " LEFT JOIN city ON city.name = listing.city"
)
# (column, direction) as the address names them: label.
SORTS = {
    ("dt_pub_date", "desc"): "Newest first",
    ("dt_pub_date", "asc"): "Oldest first",
    ("i_price", "asc"): "Lowest price first",
    ("i_price", "desc"): "Highest price first",
}
_NEWEST = ("dt_pub_date", "desc")


def active(db: sqlite3.Connection, condition: str = "1", *values: Any) -> list[sqlite3.Row]:
    """Published listings, newest first."""
    order = "ORDER BY listing.created DESC, listing.id DESC"
    return db.execute(f"{SELECT} WHERE status = 'active' AND {condition} {order}", values).fetchall()


@dataclass
class Results:
    """One page of a list, with what the visitor chose.

    Attributes:
        chosen: The filters in use, by the address's names.
        chips: (words, address without that filter) for each filter in use.
        errors: What is wrong with the filters.
    """

    listings: list[sqlite3.Row]
    total: int
    page: int
    pages: int
    sort: tuple[str, str]
    view: str
    chosen: dict[str, str]
    chips: list[tuple[str, str]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    base: str = "search"

    def address(self, **changes: Any) -> str:
        """The address of this list with some parameters changed; the page starts anew unless it is given."""
        order = {} if self.sort == _NEWEST else {"sOrder": self.sort[0], "iOrderType": self.sort[1]}
        view = {"sShowAs": self.view} if self.view == "gallery" else {}
        return link(self.base, **{**self.chosen, **order, **view, **changes})

    @property
    def first(self) -> int:
        """Number of the first listing on this page, from 1."""
        return (self.page - 1) * PAGE_SIZE + 1 if self.total else 0

    @property
    def last(self) -> int:
        """Number of the last listing on this page."""
        return min(self.total, self.page * PAGE_SIZE)


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _words(text: str) -> list[str]:
    return [_stem(w) for w in "".join(c if c.isalnum() else " " for c in text.lower()).split()]


def _matches(listing: sqlite3.Row, wanted: list[str]) -> bool:
    title = _words(listing["title"])
    rest = set(_words(f"{listing['description']} {listing['city']}"))
    return all(word in rest or any(w.startswith(word) for w in title) for word in wanted)


def _order(query: Mapping[str, str]) -> tuple[str, str]:
    """The order asked for: two parameters as links write them, or both in one as the select element does."""
    column, _, direction = query.get("sOrder", "").partition(" ")
    asked = (column, direction or query.get("iOrderType", "desc").lower())
    return asked if asked in SORTS else _NEWEST


def _cents(text: str, words: str, errors: list[str]) -> int | None:
    if not text:
        return None
    cents = parse_price(text)
    if cents is None:
        errors.append(f"{words} must be an amount such as 25 or 25.50.")
    return cents


def find(db: sqlite3.Connection, query: Mapping[str, str]) -> Results:
    """Search, filter, sort and cut as the address's parameters ask."""
    names = ("sPattern", "sCategory", "sRegion", "sPriceMin", "sPriceMax", "bPic")
    chosen = {name: " ".join(query.get(name, "").split())[:80] for name in names}
    errors: list[str] = []
    low = _cents(chosen["sPriceMin"], "Price from", errors)
    high = _cents(chosen["sPriceMax"], "Price to", errors)
    if low is not None and high is not None and low > high:
        errors.append("Price from is higher than price to.")
    categories = db.execute("SELECT * FROM category").fetchall()
    category = next((c for c in categories if chosen["sCategory"] in (str(c["id"]), c["name"])), None)
    chosen["sCategory"] = str(category["id"]) if category else ""
    wanted = _words(chosen["sPattern"])
    place = chosen["sRegion"]
    found = [
        listing
        for listing in active(db)
        if (category is None or listing["category_id"] == category["id"])
        and (not place or place in (listing["region"], listing["city"]))
        and (low is None or listing["price"] >= low)
        and (high is None or listing["price"] <= high)
        and (not chosen["bPic"] or listing["photos"])
        and _matches(listing, wanted)
    ]
    sort = _order(query)
    key = {"dt_pub_date": lambda row: (row["created"], row["id"]), "i_price": lambda row: row["price"]}[sort[0]]
    found.sort(key=key, reverse=sort[1] == "desc")
    pages = max(1, -(-len(found) // PAGE_SIZE))
    asked = query.get("iPage", "")
    page = min(max(1, int(asked)), pages) if asked.isascii() and asked.isdigit() and len(asked) < 9 else 1
    view = "gallery" if query.get("sShowAs") == "gallery" else "list"
    cut = found[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    results = Results(cut, len(found), page, pages, sort, view, chosen, errors=errors)
    words = {
        "sPattern": f"\u201c{chosen['sPattern']}\u201d",
        "sCategory": category["name"] if category else "",
        "sRegion": place,
        "sPriceMin": "" if low is None else f"from ${chosen['sPriceMin'].lstrip('$')}",
        "sPriceMax": "" if high is None else f"up to ${chosen['sPriceMax'].lstrip('$')}",
        "bPic": "with photo",
    }
    results.chips = [(words[name], results.address(**{name: ""})) for name in names if chosen[name] and words[name]]
    return results
