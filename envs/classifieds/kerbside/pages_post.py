"""Posting a listing in four steps (category, details, photos, check), changing it, deleting it."""

import sqlite3

from starlette.exceptions import HTTPException
from starlette.responses import Response

from confkv_agents.web.sitekit import Field, check

from .listings import SELECT
from .pages_browse import places
from .prices import amount, parse_price
from .seeding import TODAY
from .uploads import MOST_PHOTOS, UploadError, read_photo
from .visit import Visit, link, signed_in

STEPS = ("Category", "Details", "Photos", "Check")
_DETAILS = (
    Field("title", "Title", longest=80, shortest=5),
    Field("description", "Description", kind="lines", longest=2000, shortest=10),
    Field("price", "Price in dollars", longest=12),
    Field("spot", "Where exactly", required=False, longest=60),
)


def _own(visit: Visit, status: str | None = None) -> sqlite3.Row:
    """The visitor's own listing that the address names; other people's are not found."""
    listing = visit.one(f"{SELECT} WHERE listing.id = ? AND user_id = ?", visit.number(), visit.me["id"])
    if status is not None and listing["status"] != status:
        raise HTTPException(404)
    return listing


def _check_details(visit: Visit) -> tuple[dict[str, str], dict[str, str], int]:
    """Values of the form, what is wrong with them, and the price in cents."""
    values, errors = check(_DETAILS, visit.form)
    values["city"] = visit.form.get("cityId", "")
    if not visit.db.execute("SELECT 1 FROM city WHERE name = ?", (values["city"],)).fetchone():
        errors["cityId"] = "Please choose a place."
    cents = parse_price(values["price"])
    if cents is None and "price" not in errors:
        errors["price"] = "Please enter an amount such as 85 or 85.50; 0 means that you give it away."
    return values, errors, cents or 0


def _values(listing: sqlite3.Row) -> dict[str, str]:
    return {
        "title": listing["title"],
        "description": listing["description"],
        "price": amount(listing["price"]),
        "spot": listing["spot"],
        "city": listing["city"],
    }


@signed_in
def choose_category(visit: Visit) -> Response:
    """Step 1. A draft is made as soon as the category is known."""
    draft = _own(visit, "draft") if "id" in visit.query else None
    error = ""
    if visit.posted:
        chosen = visit.db.execute("SELECT id FROM category WHERE id = ?", (visit.form.get("catId", ""),)).fetchone()
        if chosen is None:
            error = "Please choose a category."
        elif draft is not None:
            visit.db.execute("UPDATE listing SET category_id = ? WHERE id = ?", (chosen["id"], draft["id"]))
            return visit.go(link("item", "item_details", id=draft["id"]))
        else:
            made = visit.db.execute(
                "INSERT INTO listing (user_id, category_id, title, description, price, city, spot, created, status)"
                " VALUES (?, ?, '', '', 0, '', '', ?, 'draft')",
                (visit.me["id"], chosen["id"], TODAY.isoformat()),
            )
            return visit.go(link("item", "item_details", id=made.lastrowid))
    return visit.show("post_category.html", steps=STEPS, step=1, draft=draft, error=error)


@signed_in
def details(visit: Visit) -> Response:
    """Step 2."""
    draft = _own(visit, "draft")
    values = _values(draft) if draft["title"] else {"city": visit.me["city"]}
    errors: dict[str, str] = {}
    if visit.posted:
        values, errors, cents = _check_details(visit)
        if not errors:
            _save(visit, draft["id"], values, cents)
            return visit.go(link("item", "item_photos", id=draft["id"]))
    return visit.show(
        "post_details.html",
        steps=STEPS, step=2, draft=draft, fields=_DETAILS, places=places(visit), values=values, errors=errors,
    )  # fmt: skip


def _save(visit: Visit, listing_id: int, values: dict[str, str], cents: int) -> None:
    visit.db.execute(
        "UPDATE listing SET title = ?, description = ?, price = ?, city = ?, spot = ? WHERE id = ?",
        (values["title"], values["description"], cents, values["city"], values["spot"], listing_id),
    )


@signed_in
def photos(visit: Visit) -> Response:
    """Step 3, and the photos of a listing that is published already."""
    listing = _own(visit)
    error = ""
    if visit.posted and "remove" in visit.form:
        visit.db.execute("DELETE FROM photo WHERE listing_id = ? AND id = ?", (listing["id"], visit.form["remove"]))
        visit.flash("The photo is removed.")
        return visit.go(link("item", "item_photos", id=listing["id"]))
    if visit.posted:
        error = _take(visit, listing)
        if not error:
            return visit.go(link("item", "item_photos", id=listing["id"]))
    stored = visit.rows("SELECT id, place, name FROM photo WHERE listing_id = ? ORDER BY place", listing["id"])
    return visit.show(
        "post_photos.html", steps=STEPS, step=3, listing=listing, photos=stored, error=error, most=MOST_PHOTOS
    )


def _take(visit: Visit, listing: sqlite3.Row) -> str:
    """Store what was uploaded; returns what is wrong, in which case nothing is stored."""
    sent = visit.files.get("photos", [])
    if not sent:
        return "Please choose a photo first."
    if listing["photos"] + len(sent) > MOST_PHOTOS:
        return f"A listing may have {MOST_PHOTOS} photos at most."
    stored = []
    for upload in sent:
        try:
            stored.append((upload.name[:80], read_photo(upload.data)))
        except UploadError as error:
            return f"{upload.name[:80]}: {error}"
    (last,) = visit.one("SELECT COALESCE(MAX(place), 0) FROM photo WHERE listing_id = ?", listing["id"])
    for place, (name, photo) in enumerate(stored, start=last + 1):
        visit.db.execute(
            "INSERT INTO photo (listing_id, place, name, large, small, digest) VALUES (?, ?, ?, ?, ?, ?)",
            (listing["id"], place, name, photo.large, photo.small, photo.digest),
        )
    visit.flash("The photo is added." if len(stored) == 1 else f"{len(stored)} photos are added.")
    return ""


@signed_in
def check_draft(visit: Visit) -> Response:
    """Step 4: look once more, then publish."""
    draft = _own(visit, "draft")
    if not draft["title"]:
        return visit.go(link("item", "item_details", id=draft["id"]))
    if visit.posted:
        visit.db.execute(
            "UPDATE listing SET status = 'active', created = ? WHERE id = ?", (TODAY.isoformat(), draft["id"])
        )
        visit.flash("Your listing is published.")
        return visit.go(link("item", id=draft["id"]))
    stored = visit.rows("SELECT id, place FROM photo WHERE listing_id = ? ORDER BY place", draft["id"])
    return visit.show("post_check.html", steps=STEPS, step=4, draft=draft, photos=stored)


@signed_in
def edit(visit: Visit) -> Response:
    """Change a published listing."""
    listing = _own(visit)
    if listing["status"] == "draft":
        return visit.go(link("item", "item_details", id=listing["id"]))
    values = _values(listing)
    errors: dict[str, str] = {}
    if visit.posted:
        values, errors, cents = _check_details(visit)
        if not errors:
            if cents != listing["price"]:  # a lower price shows what it was before
                was = listing["price"] if 0 < cents < listing["price"] else None
                visit.db.execute("UPDATE listing SET was = ? WHERE id = ?", (was, listing["id"]))
            _save(visit, listing["id"], values, cents)
            visit.flash("Your changes are saved.")
            return visit.go(link("item", id=listing["id"]))
    return visit.show("edit.html", listing=listing, fields=_DETAILS, places=places(visit), values=values, errors=errors)


@signed_in
def delete(visit: Visit) -> Response:
    """Delete an own listing or draft; the browser asks before."""
    listing = _own(visit)
    visit.db.execute("DELETE FROM listing WHERE id = ?", (listing["id"],))
    visit.flash(f"{listing['title'] or 'The draft'} is deleted.")
    return visit.go(link("user", "items"))
