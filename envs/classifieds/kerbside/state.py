"""The state that checks read: everything a visitor can change, and what the photos show, as plain JSON."""

import json
import sqlite3
from typing import Any

from .visit import link


def _rows(db: sqlite3.Connection, sql: str, *values: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in db.execute(sql, values)]


def read_state(db: sqlite3.Connection, seed: int) -> dict[str, Any]:
    """Listings with their facts, comments, messages, favourites, reports, users; passwords are left out."""
    listings = _rows(
        db,
        "SELECT listing.*, category.name AS category, user.email AS seller FROM listing"
        " JOIN category ON category.id = category_id JOIN user ON user.id = user_id ORDER BY listing.id",
    )
    photos: dict[int, list[dict[str, Any]]] = {}
    for row in db.execute("SELECT id, listing_id, name, spec, digest FROM photo ORDER BY listing_id, place"):
        view = json.loads(row["spec"])["view"] if row["spec"] else "upload"
        photos.setdefault(row["listing_id"], []).append(
            {"id": row["id"], "view": view, "name": row["name"], "sha256": row["digest"]}
        )
    for listing in listings:
        listing["facts"] = json.loads(listing["facts"])
        listing["url"] = link("item", id=listing["id"])
        listing["photos"] = photos.get(listing["id"], [])
    favourites: dict[str, list[int]] = {}
    for row in db.execute(
        "SELECT email, listing_id FROM favourite JOIN user ON user.id = user_id ORDER BY user_id, added"
    ):
        favourites.setdefault(row["email"], []).append(row["listing_id"])
    wanted = _rows(db, "SELECT * FROM wanted ORDER BY id")
    for ad in wanted:
        ad["facts"] = json.loads(ad["facts"])
    return {
        "seed": seed,
        "listings": listings,
        "comments": _rows(db, "SELECT * FROM comment ORDER BY id"),
        "messages": _rows(
            db,
            "SELECT message.*, user.email AS to_email FROM message JOIN user ON user.id = to_user ORDER BY message.id",
        ),
        "favourites": favourites,
        "reports": _rows(db, "SELECT * FROM report ORDER BY id"),
        "users": _rows(db, "SELECT id, name, email, about, phone, city, since FROM user ORDER BY id"),
        "wanted": wanted,
        "categories": _rows(db, "SELECT * FROM category ORDER BY id"),
        "regions": _rows(db, "SELECT * FROM region ORDER BY name"),
    }
