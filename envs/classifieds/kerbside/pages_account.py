"""A visitor's own corner: signing in and out, own listings, saved listings, messages, profile."""

import secrets

from starlette.responses import Response

from confkv_agents.web.sitekit import Field, check, check_new_password, check_password, hash_password

from .listings import SELECT, active
from .seeding import TODAY
from .visit import Visit, link, signed_in

_REGISTER = (
    Field("s_name", "Name", longest=40, autocomplete="name"),
    Field("s_email", "Email", kind="email", autocomplete="email"),
)
_PROFILE = (
    Field("s_name", "Name", longest=40, autocomplete="name"),
    Field("s_phone", "Phone number", required=False, kind="phone", longest=30, autocomplete="tel"),
    Field("s_info", "About you", required=False, kind="lines", longest=300),
)
_REPLY = (Field("message", "Reply", kind="lines", longest=1000),)


def sign_in(visit: Visit) -> Response:
    """The sign-in form and its receiver."""
    if visit.user is not None and not visit.posted:
        return visit.go(link("user", "items"))
    email = visit.form.get("email", "").lower()
    error = ""
    if visit.posted:
        found = visit.db.execute("SELECT id, password FROM user WHERE email = ?", (email,)).fetchone()
        password = visit.form.get("password", "")[:200]
        if found is not None and check_password(password, found["password"]):
            visit.sign_in(found["id"])
            return visit.go(visit.session.pop("after_sign_in", link("user", "items")))
        error = "The email or the password is not right."
    return visit.show("sign_in.html", email=email, error=error)


def sign_out(visit: Visit) -> Response:
    """End the session."""
    visit.sign_out()
    visit.flash("You are signed out.")
    return visit.go("/")


def register(visit: Visit) -> Response:
    """The form for a new account, and its receiver."""
    values: dict[str, str] = {}
    errors: dict[str, str] = {}
    if visit.posted:
        values, errors = check(_REGISTER, visit.form)
        values["s_email"] = values["s_email"].lower()
        errors |= check_new_password(visit.form.get("password", ""), visit.form.get("password2", ""))
        if visit.db.execute("SELECT 1 FROM user WHERE email = ?", (values["s_email"],)).fetchone():
            errors["s_email"] = "There is an account with this email already."
        if not errors:
            stored = hash_password(visit.form["password"], secrets.token_bytes(8))
            made = visit.db.execute(
                "INSERT INTO user (name, email, password, since) VALUES (?, ?, ?, ?)",
                (values["s_name"], values["s_email"], stored, str(TODAY.year)),
            )
            visit.sign_in(int(made.lastrowid or 0))
            visit.flash(f"Welcome to Kerbside, {values['s_name']}.")
            return visit.go(visit.session.pop("after_sign_in", link("user", "items")))
    return visit.show("register.html", fields=_REGISTER, values=values, errors=errors)


@signed_in
def items(visit: Visit) -> Response:
    """The visitor's own listings and drafts."""
    drafts = visit.rows(f"{SELECT} WHERE status = 'draft' AND user_id = ? ORDER BY listing.id", visit.me["id"])
    own = active(visit.db, "user_id = ?", visit.me["id"])
    return visit.show("own_items.html", listings=own, drafts=drafts, tab="items")


@signed_in
def favourites(visit: Visit) -> Response:
    """Saved listings, the latest first."""
    saved = visit.rows(
        f"{SELECT} JOIN favourite ON favourite.listing_id = listing.id"
        " WHERE status = 'active' AND favourite.user_id = ? ORDER BY added DESC",
        visit.me["id"],
    )
    return visit.show("favourites.html", listings=saved, tab="favourites")


@signed_in
def edit_profile(visit: Visit) -> Response:
    """Name, phone number and a few words."""
    me = visit.me
    values = {"s_name": me["name"], "s_phone": me["phone"], "s_info": me["about"]}
    errors: dict[str, str] = {}
    if visit.posted:
        values, errors = check(_PROFILE, visit.form)
        if not errors:
            visit.db.execute(
                "UPDATE user SET name = ?, phone = ?, about = ? WHERE id = ?",
                (values["s_name"], values["s_phone"], values["s_info"], me["id"]),
            )
            visit.flash("Your profile is saved.")
            return visit.go(link("user", "profile"))
    return visit.show("own_profile.html", fields=_PROFILE, values=values, errors=errors, tab="profile")


@signed_in
def inbox(visit: Visit) -> Response:
    """Messages, the latest first."""
    letters = visit.rows("SELECT * FROM message WHERE to_user = ? ORDER BY created DESC, id DESC", visit.me["id"])
    return visit.show("inbox.html", letters=letters, tab="messages")


@signed_in
def message(visit: Visit) -> Response:
    """One message and the form for a reply."""
    letter = visit.one("SELECT * FROM message WHERE id = ? AND to_user = ?", visit.number(), visit.me["id"])
    visit.db.execute("UPDATE message SET unread = 0 WHERE id = ?", (letter["id"],))
    values: dict[str, str] = {}
    errors: dict[str, str] = {}
    if visit.posted and letter["from_user"] is not None:
        values, errors = check(_REPLY, visit.form)
        if not errors:
            visit.db.execute(
                "INSERT INTO message (to_user, from_user, listing_id, about, name, email, phone, body, created)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    letter["from_user"], visit.me["id"], letter["listing_id"], letter["about"], visit.me["name"],
                    visit.me["email"], visit.me["phone"], values["message"], TODAY.isoformat(),
                ),
            )  # fmt: skip
            visit.flash(f"Your reply was sent to {letter['name']}.")
            return visit.go(link("user", "messages"))
    return visit.show("message.html", letter=letter, fields=_REPLY, values=values, errors=errors, tab="messages")
