"""Writing: new posts, changes, deletion, saving, hiding, reports, and forums of one's own."""

import secrets
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from .forms import FORUM_NAME, LONGEST_TITLE, REASONS, check_text, check_title, lines, one_line, slug
from .listing import POSTS, address_of, find_post
from .markdown import safe_address
from .pages_lists import find_forum, forums
from .ranking import hot
from .uploads import LARGEST_FILE, reencode
from .visit import Visit, member

_KINDS = ("text", "link", "picture")


def _check_post(visit: Visit, names: dict[str, int]) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of the submit form and what is wrong with them."""
    form = visit.form
    kind = form.get("kind", "text")
    kind = kind if kind in _KINDS else "text"
    values: dict[str, Any] = {
        "kind": kind,
        "title": one_line(form.get("title", ""), LONGEST_TITLE),
        "body": lines(form.get("body", "")),
        "url": form.get("url", "")[:500],
        "forum": form.get("forum", ""),
    }
    errors: dict[str, str] = {}
    for name, problem in (
        ("title", check_title(values["title"])),
        ("body", check_text(values["body"], "Body", required=False)),
        ("forum", "" if values["forum"] in names else "Please choose a forum."),
    ):
        if problem:
            errors[name] = problem
    if kind == "link" and not (safe_address(values["url"]) and values["url"].startswith("http")):
        errors["url"] = "Please enter an address that begins with http:// or https://."
    if kind == "picture":
        files = visit.files.get("picture", [])
        if not files or not files[0].data:
            errors["picture"] = "Please choose a picture."
        elif not errors:
            values["data"] = reencode(files[0].data) if len(files[0].data) <= LARGEST_FILE else None
            if values["data"] is None:
                errors["picture"] = "We need a JPEG, PNG, GIF or WebP picture of 5 MB at most."
    return values, errors


@member
def submit(visit: Visit) -> Response:
    """The form for a new post, and its receiver."""
    rows = forums(visit, "forum.name COLLATE NOCASE")
    names = {row["name"]: row["id"] for row in rows}
    asked = str(visit.request.path_params.get("forum", ""))
    values: dict[str, Any] = {"kind": "text", "forum": next((n for n in names if n.lower() == asked.lower()), "")}
    errors: dict[str, str] = {}
    if visit.posted:
        values, errors = _check_post(visit, names)
        if not errors:
            now = visit.tick()
            picture_id = None
            if values["kind"] == "picture":
                name = secrets.token_hex(12)
                made = visit.db.execute("INSERT INTO picture (name, data) VALUES (?, ?)", (name, values["data"]))
                picture_id = made.lastrowid
            url = values["url"] if values["kind"] == "link" else ""
            made = visit.db.execute(
                "INSERT INTO post (forum_id, user_id, kind, title, slug, body, url, picture_id, created, ups, downs,"
                " score, hot, split, active) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, 1, ?, 0, ?)",
                (names[values["forum"]], visit.me, values["kind"], values["title"], slug(values["title"]),
                 values["body"], url, picture_id, now, hot(1, 0, now), now),
            )  # fmt: skip
            visit.db.execute("INSERT INTO post_vote VALUES (?, ?, 1)", (visit.me, made.lastrowid))
            return visit.go(f"/f/{values['forum']}/{made.lastrowid}/{slug(values['title'])}")
    return visit.show("submit.html", forums=rows, values=values, errors=errors)


@member
def edit_post(visit: Visit) -> Response:
    """Change title and text of an own post."""
    post = find_post(visit)
    if post["user_id"] != visit.me:
        raise HTTPException(403)
    values: dict[str, Any] = {"title": post["title"], "body": post["body"]}
    errors: dict[str, str] = {}
    if visit.posted:
        values = {"title": one_line(visit.form.get("title", "")), "body": lines(visit.form.get("body", ""))}
        for name, problem in (
            ("title", check_title(values["title"])),
            ("body", check_text(values["body"], "Body", required=False)),
        ):
            if problem:
                errors[name] = problem
        if not errors:
            new = slug(values["title"])
            visit.db.execute(
                "UPDATE post SET title = ?, slug = ?, body = ?, edited = ? WHERE id = ?",
                (values["title"], new, values["body"], visit.tick(), post["id"]),
            )
            visit.flash("Your post has been changed.")
            return visit.go(f"/f/{post['forum']}/{post['id']}/{new}")
    return visit.show("edit_post.html", post=post, values=values, errors=errors, address=address_of(post))


@member
def delete_post(visit: Visit) -> Response:
    """Delete an own post; its comments stay readable."""
    post = find_post(visit)
    if post["user_id"] != visit.me:
        raise HTTPException(403)
    visit.db.execute("UPDATE post SET deleted = 1 WHERE id = ?", (post["id"],))
    visit.flash("Your post has been deleted.")
    return visit.go(f"/f/{post['forum']}")


def _mark(visit: Visit, table: str, on: str, off: str) -> Response:
    post = visit.one("SELECT id FROM post WHERE id = ? AND NOT deleted", visit.path("post_id"))
    if visit.form.get("action") == "undo":
        visit.db.execute(f"DELETE FROM {table} WHERE user_id = ? AND post_id = ?", (visit.me, post["id"]))
        visit.flash(off)
    else:
        visit.db.execute(f"INSERT OR IGNORE INTO {table} VALUES (?, ?, ?)", (visit.me, post["id"], visit.tick()))
        visit.flash(on)
    return visit.back()


@member
def save(visit: Visit) -> Response:
    """Put a post among the saved ones or take it out."""
    return _mark(visit, "saved", "The post is among your saved ones.", "The post is no longer saved.")


@member
def hide(visit: Visit) -> Response:
    """Hide a post from lists or bring it back."""
    return _mark(visit, "hidden", "You will not see this post in lists any more.", "The post is back in your lists.")


@member
def report(visit: Visit) -> Response:
    """Tell the moderators about a post or a comment."""
    thing, thing_id = visit.path("thing"), visit.path("thing_id")
    if thing == "post":
        sql = f"{POSTS} WHERE post.id = :id AND NOT post.deleted"
        post = visit.db.execute(sql, {"me": visit.me, "id": thing_id}).fetchone()
        words = post["title"] if post else ""
    elif thing == "comment":
        row = visit.one("SELECT * FROM comment WHERE id = ? AND NOT deleted", thing_id)
        post = visit.db.execute(f"{POSTS} WHERE post.id = :id", {"me": visit.me, "id": row["post_id"]}).fetchone()
        words = row["body"]
    else:
        post, words = None, ""
    if post is None:
        raise HTTPException(404)
    errors: dict[str, str] = {}
    values = {"reason": "", "note": ""}
    if visit.posted:
        values = {"reason": visit.form.get("reason", ""), "note": lines(visit.form.get("note", ""))}
        if values["reason"] not in REASONS:
            errors["reason"] = "Please choose a reason."
        problem = check_text(values["note"], "Note", required=False, longest=1000)
        if problem:
            errors["note"] = problem
        if not errors:
            ids = (thing_id, None) if thing == "post" else (None, thing_id)
            visit.db.execute(
                "INSERT INTO report (user_id, post_id, comment_id, reason, note, created) VALUES (?, ?, ?, ?, ?, ?)",
                (visit.me, *ids, values["reason"], values["note"], visit.tick()),
            )
            visit.flash("Thank you. The moderators will look at it.")
            return visit.go(address_of(post))
    return visit.show(
        "report.html", thing=thing, words=words, reasons=REASONS, values=values, errors=errors, address=address_of(post)
    )


def _check_forum(visit: Visit) -> tuple[dict[str, str], dict[str, str]]:
    values = {
        "title": one_line(visit.form.get("title", ""), 80),
        "description": one_line(visit.form.get("description", ""), 300),
        "sidebar": lines(visit.form.get("sidebar", "")),
    }
    errors = {}
    for name in ("title", "description"):
        if not values[name]:
            errors[name] = f"{name.capitalize()} must not be empty."
    problem = check_text(values["sidebar"], "Sidebar", required=False, longest=4000)
    return values, errors | ({"sidebar": problem} if problem else {})


@member
def create_forum(visit: Visit) -> Response:
    """A forum of one's own."""
    values: dict[str, str] = {}
    errors: dict[str, str] = {}
    if visit.posted:
        values, errors = _check_forum(visit)
        name = values["name"] = visit.form.get("name", "")
        if not FORUM_NAME.fullmatch(name):
            errors["name"] = "Please use 3 to 25 letters, digits or underscores."
        elif visit.rows("SELECT 1 FROM forum WHERE name = ?", name):
            errors["name"] = "There is already a forum of that name."
        if not errors:
            visit.db.execute(
                "INSERT INTO forum (name, title, description, sidebar, owner_id, created, members, hue)"
                " VALUES (?, ?, ?, ?, ?, ?, 0, ?)",
                (
                    name,
                    values["title"],
                    values["description"],
                    values["sidebar"],
                    visit.me,
                    visit.tick(),
                    sum(name.encode()) % 360,
                ),
            )
            visit.db.execute("INSERT INTO subscription SELECT ?, id FROM forum WHERE name = ?", (visit.me, name))
            return visit.go(f"/f/{name}")
    return visit.show("forum_form.html", forum=None, values=values, errors=errors)


@member
def edit_forum(visit: Visit) -> Response:
    """Change an own forum."""
    forum = find_forum(visit)
    if forum["owner_id"] != visit.me:
        raise HTTPException(403)
    values: dict[str, str] = {key: forum[key] for key in ("title", "description", "sidebar")}
    errors: dict[str, str] = {}
    if visit.posted:
        values, errors = _check_forum(visit)
        if not errors:
            visit.db.execute(
                "UPDATE forum SET title = :title, description = :description, sidebar = :sidebar WHERE id = :id",
                values | {"id": forum["id"]},
            )
            visit.flash("The forum has been changed.")
            return visit.go(f"/f/{forum['name']}")
    return visit.show("forum_form.html", forum=forum, values=values, errors=errors)


@member
def subscribe(visit: Visit) -> Response:
    """Subscribe to a forum or leave it."""
    forum = find_forum(visit)
    if visit.form.get("action") == "undo":
        visit.db.execute("DELETE FROM subscription WHERE user_id = ? AND forum_id = ?", (visit.me, forum["id"]))
    else:
        visit.db.execute("INSERT OR IGNORE INTO subscription VALUES (?, ?)", (visit.me, forum["id"]))
    return visit.back(f"/f/{forum['name']}")
