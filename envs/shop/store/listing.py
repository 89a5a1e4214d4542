"""Product lists: search, filters, sorting and pages."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from confkv_agents.web.sitekit import whole_number

PAGE_SIZE = 8
_RATED = (
    "SELECT product.*, category.name AS category, category.slug AS category_slug,"
    " (SELECT COUNT(*) FROM review WHERE product_id = product.id) AS reviews,"
    " (SELECT AVG(rating) FROM review WHERE product_id = product.id) AS rating"
    " FROM product JOIN category ON category.id = category_id"
)
# Key in the address: (label, column to sort by).
SORTS: dict[str, tuple[str, str]] = {
    "position": ("Featured", ""),
    "name": ("Product Name", "name"),
    "price": ("Price: Low to High", "price"),
    "price_desc": ("Price: High to Low", "price"),
    "rating": ("Top Rated", "rating"),
}


@dataclass
class Listing:
    """One page of a product list, with what the visitor may choose from."""

    products: list[sqlite3.Row]
    total: int
    page: int
    pages: int
    sort: str
    sorts: dict[str, str]
    brands: list[str]
    colours: list[str]
    chosen: dict[str, str]
    errors: list[str] = field(default_factory=list)
    keep: dict[str, str] = field(default_factory=dict)

    def address(self, **changes: Any) -> str:
        """The query string of this list with some parameters changed."""
        now = {**self.keep, **self.chosen, "sort": self.sort, "page": self.page} | changes
        kept = {
            k: v for k, v in now.items() if v not in ("", None) and (k, v) not in (("sort", "position"), ("page", 1))
        }
        return "?" + urlencode(kept)

    @property
    def first(self) -> int:
        """Number of the first product on this page, from 1."""
        return (self.page - 1) * PAGE_SIZE + 1 if self.total else 0

    @property
    def last(self) -> int:
        """Number of the last product on this page."""
        return min(self.total, self.page * PAGE_SIZE)


def products_where(db: sqlite3.Connection, condition: str, *values: Any) -> list[sqlite3.Row]:
    """Products with category, number of reviews and mean rating, in the shop's own order."""
    return db.execute(f"{_RATED} WHERE {condition} ORDER BY category_id, featured", values).fetchall()


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _words(text: str) -> list[str]:
    return [_stem(w) for w in "".join(c if c.isalnum() else " " for c in text.lower()).split()]


def search(db: sqlite3.Connection, text: str) -> list[sqlite3.Row]:
    """Products that match a search text, best first: by how many words match, then by where."""
    wanted = list(dict.fromkeys(_words(text)))
    if not wanted:
        return []
    found: list[tuple[int, int, int, sqlite3.Row]] = []
    for place, product in enumerate(products_where(db, "1")):
        fields = (
            (8, _words(f"{product['name']} {product['sku']}")),
            (2, _words(product["category"])),
            (1, _words(product["description"])),
        )
        hits = points = 0
        for word in wanted:
            best = max((weight for weight, words in fields if word in words), default=0)
            if not best and len(word) > 2 and any(w.startswith(word) for w in fields[0][1]):
                best = 4
            hits += best > 0
            points += best
        if hits:
            found.append((-hits, -points, place, product))
    found.sort(key=lambda item: item[:3])
    most = -found[0][0] if found else 0
    return [item[3] for item in found if -item[0] == most]


def list_products(products: list[sqlite3.Row], query: Mapping[str, str], own_order: str = "Featured") -> Listing:
    """Filter, sort and cut `products` as the address's parameters ask."""
    sorts = {key: label for key, (label, _) in SORTS.items()} | {"position": own_order}
    sort = query.get("sort", "position")
    sort = sort if sort in SORTS else "position"
    chosen = {key: query.get(key, "").strip() for key in ("brand", "colour", "min", "max")}
    errors: list[str] = []
    brands = sorted({p["brand"] for p in products})
    colours = sorted({p["colour"] for p in products if p["colour"]})
    limits: dict[str, int] = {}
    for key, label in (("min", "Lowest price"), ("max", "Highest price")):
        if chosen[key]:
            number = whole_number(chosen[key], 0, 99999)
            if number is None:
                errors.append(f"{label} must be a whole number of dollars.")
            else:
                limits[key] = number * 100
    shown = [
        p
        for p in products
        if (not chosen["brand"] or p["brand"] == chosen["brand"])
        and (not chosen["colour"] or p["colour"] == chosen["colour"])
        and limits.get("min", 0) <= p["price"] <= limits.get("max", 10**9)
    ]
    if sort != "position":
        down = sort in ("price_desc", "rating")
        column = SORTS[sort][1]
        shown.sort(key=lambda p: p[column] if p[column] is not None else -1, reverse=down)
    pages = max(1, -(-len(shown) // PAGE_SIZE))
    page = min(whole_number(query.get("page", "1"), 1, 999) or 1, pages)
    cut = shown[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    keep = {"q": query["q"]} if "q" in query else {}
    return Listing(cut, len(shown), page, pages, sort, sorts, brands, colours, chosen, errors, keep)
