"""What one does with other people's listings: comment, write to the seller, report, save."""

from starlette.responses import Response

from confkv_agents.web.sitekit import Field, check, whole_number

from .pages_browse import listing_of, show_item
from .people import REPORT_REASONS
from .seeding import TODAY
from .visit import Visit, link, signed_in

_COMMENT = (
    Field("title", "Title", longest=80),
    Field("authorName", "Your name", longest=40, autocomplete="name"),
    Field("authorEmail", "Your email", kind="email", autocomplete="email"),
    Field("body", "Comment", kind="lines", longest=1000),
)
_CONTACT = (
    Field("yourName", "Your name", longest=40, autocomplete="name"),
    Field("yourEmail", "Your email", kind="email", autocomplete="email"),
    Field("phoneNumber", "Phone number", required=False, kind="phone", longest=30, autocomplete="tel"),
    Field("message", "Message", kind="lines", longest=1000, shortest=10),
)
_REPORT = (Field("details", "Details", required=False, kind="lines", longest=500),)


def add_comment(visit: Visit) -> Response:
    """Take a comment on a listing."""
    listing = listing_of(visit)
    values, errors = check(_COMMENT, _own_name(visit, visit.form, "authorName", "authorEmail"))
    rating = whole_number(visit.form.get("rating", ""), 1, 5)
    values["rating"] = str(rating or "")
    if rating is None:
        errors["rating"] = "Please choose a rating."
    if errors:
        return show_item(visit, listing, values, errors)
    visit.db.execute(
        "INSERT INTO comment (listing_id, user_id, author, email, title, body, rating, created)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            listing["id"], visit.user["id"] if visit.user else None, values["authorName"], values["authorEmail"],
            values["title"], values["body"], rating, TODAY.isoformat(),
        ),
    )  # fmt: skip
    visit.flash("Your comment is published.")
    return visit.go(link("item", id=listing["id"]) + "#comments")


def _own_name(visit: Visit, form: dict[str, str], name: str, email: str) -> dict[str, str]:
    """Those who are signed in write under their own name."""
    if visit.user is None:
        return form
    return form | {name: visit.user["name"], email: visit.user["email"]}


def contact(visit: Visit) -> Response:
    """Write to the seller of a listing; the message lands in the seller's inbox."""
    listing = listing_of(visit)
    here = link("item", id=listing["id"])
    if visit.user is not None and visit.user["id"] == listing["user_id"]:
        visit.flash("This is your own listing.", "notice")
        return visit.go(here)
    values: dict[str, str] = {"phoneNumber": visit.user["phone"] if visit.user else ""}
    errors: dict[str, str] = {}
    if visit.posted:
        values, errors = check(_CONTACT, _own_name(visit, visit.form, "yourName", "yourEmail"))
        if not errors:
            visit.db.execute(
                "INSERT INTO message (to_user, from_user, listing_id, about, name, email, phone, body, created)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    listing["user_id"], visit.user["id"] if visit.user else None, listing["id"], listing["title"],
                    values["yourName"], values["yourEmail"], values["phoneNumber"], values["message"],
                    TODAY.isoformat(),
                ),
            )  # fmt: skip
            visit.flash(f"Your message was sent to {listing['seller']}.")
            return visit.go(here)
    return visit.show("contact.html", listing=listing, fields=_CONTACT, values=values, errors=errors)


def report(visit: Visit) -> Response:
    """Tell the site that something is wrong with a listing."""
    listing = listing_of(visit)
    values: dict[str, str] = {}
    errors: dict[str, str] = {}
    if visit.posted:
        values, errors = check(_REPORT, visit.form)
        values["reason"] = visit.form.get("reason", "")
        if values["reason"] not in REPORT_REASONS:
            errors["reason"] = "Please choose a reason."
        if not errors:
            visit.db.execute(
                "INSERT INTO report (listing_id, title, reason, details, user_id) VALUES (?, ?, ?, ?, ?)",
                (
                    listing["id"], listing["title"], values["reason"], values["details"],
                    visit.user["id"] if visit.user else None,
                ),
            )  # fmt: skip
            visit.flash("Thank you. We will look at this listing.")
            return visit.go(link("item", id=listing["id"]))
    return visit.show(
        "report.html", listing=listing, fields=_REPORT, reasons=REPORT_REASONS, values=values, errors=errors
    )


@signed_in
def mark(visit: Visit) -> Response:
    """Save a listing among the favourites, or take it off."""
    listing = listing_of(visit)
    if visit.form.get("action") == "remove":
        visit.db.execute("DELETE FROM favourite WHERE user_id = ? AND listing_id = ?", (visit.me["id"], listing["id"]))
        visit.flash(f"{listing['title']} is no longer saved.")
        back = visit.form.get("back") == "favourites"
        return visit.go(link("user", "favourites") if back else link("item", id=listing["id"]))
    (last,) = visit.one("SELECT COALESCE(MAX(added), 0) FROM favourite WHERE user_id = ?", visit.me["id"])
    visit.db.execute("INSERT OR IGNORE INTO favourite VALUES (?, ?, ?)", (visit.me["id"], listing["id"], last + 1))
    visit.flash(f"{listing['title']} is saved.")
    return visit.go(link("item", id=listing["id"]))
