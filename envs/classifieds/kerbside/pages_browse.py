"""Pages to look around: home, search, listings, people, wanted ads, rules, tips; and the pictures."""

import hashlib
import sqlite3

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from .catalogue import CATEGORIES
from .listings import SELECT, SORTS, active, find
from .pictures import ART, PhotoSpec, render
from .visit import Visit

_ICONS = {category.icon for category in CATEGORIES}
_LATEST = 8
_TIPS = (
    "See the thing before you pay for it.",
    "Take someone along when you fetch something valuable.",
    "Never send money to people you have not met.",
    "Look at the serial number and ask for the receipt.",
)


def home(visit: Visit) -> Response:
    """Categories and the latest listings."""
    categories = visit.rows(
        "SELECT category.*,"
        " (SELECT COUNT(*) FROM listing WHERE category_id = category.id AND status = 'active') AS count"
        " FROM category ORDER BY id"
    )
    return visit.show(
        "home.html", categories=categories, latest=active(visit.db)[:_LATEST], places=places(visit), home=True
    )


def places(visit: Visit) -> dict[str, list[str]]:
    """Region -> its cities."""
    found: dict[str, list[str]] = {}
    for row in visit.rows("SELECT region, name FROM city ORDER BY region, name"):
        found.setdefault(row["region"], []).append(row["name"])
    return found


def search(visit: Visit) -> Response:
    """A list of listings: all, of a category, or those that a search found."""
    results = find(visit.db, visit.query)
    name = next((c.name for c in CATEGORIES if str(c.number) == results.chosen["sCategory"]), "All listings")
    return visit.show("search.html", results=results, heading=name, sorts=SORTS, places=places(visit))


def listing_of(visit: Visit) -> sqlite3.Row:
    """The listing that the address names; drafts are for their owners only."""
    listing = visit.one(f"{SELECT} WHERE listing.id = ?", visit.number())
    if listing["status"] != "active" and (visit.user is None or visit.user["id"] != listing["user_id"]):
        raise HTTPException(404)
    return listing


def item(visit: Visit) -> Response:
    """A listing."""
    return show_item(visit, listing_of(visit), {}, {})


def show_item(visit: Visit, listing: sqlite3.Row, values: dict[str, str], errors: dict[str, str]) -> Response:
    """A listing's page, with what was written into its comment form."""
    photos = visit.rows("SELECT id, place FROM photo WHERE listing_id = ? ORDER BY place", listing["id"])
    asked = visit.query.get("photo", "1")
    shown = int(asked) - 1 if asked.isascii() and asked.isdigit() and 1 <= int(asked[:4]) <= len(photos) else 0
    comments = visit.rows("SELECT * FROM comment WHERE listing_id = ? ORDER BY created, id", listing["id"])
    saved = (
        visit.user is not None
        and visit.db.execute(
            "SELECT 1 FROM favourite WHERE user_id = ? AND listing_id = ?", (visit.user["id"], listing["id"])
        ).fetchone()
    )
    return visit.show(
        "item.html",
        listing=listing,
        photos=photos,
        shown=shown,
        comments=comments,
        mean=sum(c["rating"] for c in comments) / len(comments) if comments else None,
        saved=bool(saved),
        own=visit.user is not None and visit.user["id"] == listing["user_id"],
        seller=visit.one("SELECT * FROM user WHERE id = ?", listing["user_id"]),
        others=active(visit.db, "user_id = ? AND listing.id != ?", listing["user_id"], listing["id"]),
        values=values,
        errors=errors,
    )


def photo_page(visit: Visit) -> Response:
    """One photo at full size; opens in a tab of its own."""
    listing = listing_of(visit)
    photos = visit.rows("SELECT id, place FROM photo WHERE listing_id = ? ORDER BY place", listing["id"])
    number = visit.number("photo")
    if not 1 <= number <= len(photos):
        raise HTTPException(404)
    return visit.show("photo.html", listing=listing, photo=photos[number - 1], number=number, count=len(photos))


def profile(visit: Visit) -> Response:
    """A person, as everyone may see."""
    person = visit.one("SELECT * FROM user WHERE id = ?", visit.number())
    return visit.show("profile.html", person=person, listings=active(visit.db, "user_id = ?", person["id"]))


def wanted(visit: Visit) -> Response:
    """What people look for: the list, or one ad."""
    if "id" in visit.query:
        return visit.show("wanted_ad.html", ad=visit.one("SELECT * FROM wanted WHERE id = ?", visit.number()))
    return visit.show("wanted.html", ads=visit.rows("SELECT * FROM wanted ORDER BY id"))


def rules(visit: Visit) -> Response:
    """The rules for listings, with the tag of each category."""
    return visit.show("rules.html")


def tips(visit: Visit) -> Response:
    """Safety tips; shown in a frame on listings' pages."""
    region = visit.one("SELECT * FROM region WHERE name = ?", visit.query.get("region", ""))
    asked = visit.query.get("tip", "1")
    number = int(asked) if asked in ("1", "2", "3", "4") else 1
    return visit.show("tips.html", region=region, tip=_TIPS[number - 1], number=number, count=len(_TIPS))


def picture(request: Request) -> Response:
    """A photo; its address says nothing about what it shows."""
    small = request.query_params.get("size") == "small"
    with request.app.state.database.transaction() as db:
        row = db.execute("SELECT * FROM photo WHERE id = ?", (request.path_params["photo"],)).fetchone()
    if row is None:
        raise HTTPException(404)
    what = row["spec"] or row["digest"]
    tag = '"' + hashlib.sha256(f"{what} {small}".encode()).hexdigest()[:16] + '"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    stored = row["small"] if small else row["large"]
    data = stored or render(PhotoSpec.from_json(row["spec"]), small)
    return Response(data, media_type="image/webp", headers=headers)


def icon(request: Request) -> Response:
    """The picture of a category."""
    name = request.path_params["name"]
    if name not in _ICONS:
        raise HTTPException(404)
    headers = {"Cache-Control": "public, max-age=3600"}
    return Response((ART / f"{name}.webp").read_bytes(), media_type="image/webp", headers=headers)
