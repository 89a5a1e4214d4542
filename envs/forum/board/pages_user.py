"""Members: their pages, their accounts, who may come in, and what they write to each other."""

import secrets

from starlette.exceptions import HTTPException
from starlette.responses import Response

from confkv_agents.web.sitekit import check_password, hash_password

from .forms import LONGEST_MESSAGE, USERNAME, check_new_password, check_text, lines, one_line
from .listing import POSTS, Listing, cut
from .threads import LISTED_COMMENTS
from .visit import Row, Visit, member

_LONGEST_BIO = 1000
_NOT_UNIQUE = "This name is taken."


def _password_is(password: str, stored: str | None) -> bool:
    """Whether a member's password is this; most seeded members have none and cannot log in."""
    return stored is not None and check_password(password, stored)


def _find_user(visit: Visit) -> Row:
    return visit.one("SELECT * FROM user WHERE name = ?", visit.path("name"))


def _own(visit: Visit) -> Row:
    row = _find_user(visit)
    if row["id"] != visit.me:
        raise HTTPException(403)
    return row


def _things(visit: Visit, user_id: int, what: str) -> list[Row | dict[str, object]]:
    """Posts, comments or both of a member, the newest first."""
    posts: list[Row] = []
    comments: list[Row] = []
    values = {"me": visit.me, "user": user_id}
    if what != "comments":
        posts = visit.db.execute(f"{POSTS} WHERE post.user_id = :user AND NOT post.deleted", values).fetchall()
    if what != "submissions":
        comments = visit.db.execute(f"{LISTED_COMMENTS} AND comment.user_id = :user", values).fetchall()
    return sorted([*posts, *comments], key=lambda row: (row["created"], row["id"]), reverse=True)


def user_page(visit: Visit) -> Response:
    """What a member has written."""
    owner = _find_user(visit)
    what = visit.request.path_params.get("what", "overview")
    base = f"/user/{owner['name']}" + ("" if what == "overview" else f"/{what}")
    listing = cut(visit, _things(visit, owner["id"], what), base)
    blocked = bool(visit.rows("SELECT 1 FROM blocked WHERE user_id = ? AND other_id = ?", visit.me, owner["id"]))
    figures = visit.one(
        "SELECT (SELECT COUNT(*) FROM post WHERE user_id = ?1 AND NOT deleted) AS posts,"
        " (SELECT COUNT(*) FROM comment WHERE user_id = ?1 AND NOT deleted) AS comments",
        owner["id"],
    )
    return visit.show("user.html", owner=owner, listing=listing, what=what, blocked=blocked, figures=figures)


@member
def kept(visit: Visit) -> Response:
    """The posts that a member has saved or hidden."""
    owner = _own(visit)
    what = visit.path("kept")
    sql = f"{POSTS} JOIN {what} AS mark ON mark.post_id = post.id AND mark.user_id = :me WHERE NOT post.deleted"
    rows = visit.db.execute(f"{sql} ORDER BY mark.at DESC", {"me": visit.me}).fetchall()
    listing: Listing = cut(visit, rows, f"/user/{owner['name']}/{what}")
    return visit.show("kept.html", owner=owner, listing=listing, what=what)


@member
def edit_biography(visit: Visit) -> Response:
    """What a member says of themselves."""
    owner = _own(visit)
    bio, problem = owner["bio"], ""
    if visit.posted:
        bio = lines(visit.form.get("biography", ""))
        problem = check_text(bio, "Biography", required=False, longest=_LONGEST_BIO)
        if not problem:
            visit.db.execute("UPDATE user SET bio = ? WHERE id = ?", (bio, owner["id"]))
            visit.flash("Your biography has been changed.")
            return visit.go(f"/user/{owner['name']}")
    return visit.show("biography.html", owner=owner, bio=bio, problem=problem)


@member
def account(visit: Visit) -> Response:
    """Name and password."""
    owner = _own(visit)
    values = {"name": owner["name"]}
    errors: dict[str, str] = {}
    if visit.posted:
        name = values["name"] = visit.form.get("name", "")[:60]
        if not USERNAME.fullmatch(name):
            errors["name"] = "Please use 3 to 25 letters, digits or underscores."
        elif visit.rows("SELECT 1 FROM user WHERE name = ? AND id <> ?", name, owner["id"]):
            errors["name"] = _NOT_UNIQUE
        new = visit.form.get("password", "")
        if new:
            problem = check_new_password(new, visit.form.get("password2", ""))
            if problem:
                errors["password"] = problem
            elif not _password_is(visit.form.get("current", "")[:200], owner["password"]):
                errors["current"] = "Please enter your current password to change it."
        if not errors:
            password = hash_password(new, secrets.token_bytes(8)) if new else owner["password"]
            visit.db.execute("UPDATE user SET name = ?, password = ? WHERE id = ?", (name, password, owner["id"]))
            visit.flash("Your account has been changed.")
            return visit.go(f"/user/{name}")
    return visit.show("account.html", owner=owner, values=values, errors=errors)


@member
def block_list(visit: Visit) -> Response:
    """The members one does not want to read."""
    owner = _own(visit)
    rows = visit.rows(
        "SELECT user.name, at FROM blocked JOIN user ON user.id = other_id WHERE user_id = ? ORDER BY user.name",
        visit.me,
    )
    return visit.show("block_list.html", owner=owner, blocked=rows)


@member
def block(visit: Visit) -> Response:
    """Block a member, or stop blocking."""
    other = _find_user(visit)
    if other["id"] == visit.me:
        raise HTTPException(400)
    if visit.form.get("action") == "undo":
        visit.db.execute("DELETE FROM blocked WHERE user_id = ? AND other_id = ?", (visit.me, other["id"]))
        visit.flash(f"{other['name']} is no longer blocked.")
    else:
        visit.db.execute("INSERT OR IGNORE INTO blocked VALUES (?, ?, ?)", (visit.me, other["id"], visit.tick()))
        visit.flash(f"{other['name']} has been blocked.")
    return visit.back(f"/user/{other['name']}")


def _leave_to(visit: Visit) -> Response:
    return visit.go(str(visit.session.pop("after", "/")))


def log_in(visit: Visit) -> Response:
    """The form to log in, and its receiver."""
    name, wrong = "", False
    if visit.posted:
        name = one_line(visit.form.get("_username", ""), 60)
        row = visit.db.execute("SELECT * FROM user WHERE name = ?", (name,)).fetchone()
        if row is not None and _password_is(visit.form.get("_password", "")[:200], row["password"]):
            visit.sign_in(row["id"])
            return _leave_to(visit)
        wrong = True
    return visit.show("login.html", name=name, wrong=wrong)


def register(visit: Visit) -> Response:
    """A new account."""
    values: dict[str, str] = {}
    errors: dict[str, str] = {}
    if visit.posted:
        name = values["name"] = visit.form.get("username", "")[:60]
        if not USERNAME.fullmatch(name):
            errors["username"] = "Please use 3 to 25 letters, digits or underscores."
        elif visit.rows("SELECT 1 FROM user WHERE name = ?", name):
            errors["username"] = _NOT_UNIQUE
        password = visit.form.get("password", "")
        problem = check_new_password(password, visit.form.get("password2", ""))
        if problem:
            errors["password"] = problem
        if not errors:
            made = visit.db.execute(
                "INSERT INTO user (name, password, bio, created) VALUES (?, ?, '', ?)",
                (name, hash_password(password, secrets.token_bytes(8)), visit.tick()),
            )
            visit.sign_in(int(made.lastrowid or 0))
            visit.flash(f"Welcome, {name}!")
            return _leave_to(visit)
    return visit.show("register.html", values=values, errors=errors)


def log_out(visit: Visit) -> Response:
    """Forget who this was."""
    visit.sign_out()
    return visit.go("/")


@member
def inbox(visit: Visit) -> Response:
    """All threads of private messages, the latest first."""
    rows = visit.rows(
        "SELECT message.*, sender.name AS sender, receiver.name AS receiver,"
        " (SELECT COUNT(*) FROM message AS other WHERE other.thread_id = message.thread_id) AS size,"
        " EXISTS (SELECT 1 FROM message AS other WHERE other.thread_id = message.thread_id"
        " AND other.receiver_id = ?1 AND NOT other.seen) AS unseen"
        " FROM message JOIN user AS sender ON sender.id = sender_id JOIN user AS receiver ON receiver.id = receiver_id"
        " WHERE message.id IN (SELECT MAX(id) FROM message WHERE ?1 IN (sender_id, receiver_id) GROUP BY thread_id)"
        " ORDER BY message.id DESC",
        visit.me,
    )
    return visit.show("inbox.html", listing=cut(visit, list(rows), "/messages"))


def _send(visit: Visit, thread_id: int, receiver_id: int, body: str) -> int:
    made = visit.db.execute(
        "INSERT INTO message (thread_id, sender_id, receiver_id, body, created) VALUES (?, ?, ?, ?, ?)",
        (thread_id, visit.me, receiver_id, body, visit.tick()),
    )
    return int(made.lastrowid or 0)


@member
def compose(visit: Visit) -> Response:
    """A message to a member."""
    other = _find_user(visit)
    if other["id"] == visit.me:
        raise HTTPException(400)
    body, problem = "", ""
    if visit.posted:
        body = lines(visit.form.get("message", ""))
        problem = check_text(body, "Message", longest=LONGEST_MESSAGE)
        if not problem and visit.rows(
            "SELECT 1 FROM blocked WHERE user_id = ? AND other_id = ?", other["id"], visit.me
        ):
            problem = f"{other['name']} does not take messages from you."
        if not problem:
            thread = visit.one("SELECT COALESCE(MAX(thread_id), 0) + 1 FROM message")[0]
            _send(visit, thread, other["id"], body)
            visit.flash("Your message has been sent.")
            return visit.go(f"/messages/thread/{thread}")
    return visit.show("compose.html", other=other, body=body, problem=problem)


@member
def thread(visit: Visit) -> Response:
    """A thread of messages, with a form for an answer."""
    rows = visit.rows(
        "SELECT message.*, sender.name AS sender FROM message JOIN user AS sender ON sender.id = sender_id"
        " WHERE thread_id = ?1 AND ?2 IN (sender_id, receiver_id) ORDER BY message.id",
        visit.path("thread_id"),
        visit.me,
    )
    if not rows:
        raise HTTPException(404)
    other_id = rows[0]["receiver_id"] if rows[0]["sender_id"] == visit.me else rows[0]["sender_id"]
    other = visit.one("SELECT * FROM user WHERE id = ?", other_id)
    body, problem = "", ""
    if visit.posted:
        body = lines(visit.form.get("message", ""))
        problem = check_text(body, "Message", longest=LONGEST_MESSAGE)
        if not problem:
            made = _send(visit, rows[0]["thread_id"], other_id, body)
            return visit.go(f"/messages/thread/{rows[0]['thread_id']}#message_{made}")
    visit.db.execute(
        "UPDATE message SET seen = 1 WHERE thread_id = ? AND receiver_id = ?", (rows[0]["thread_id"], visit.me)
    )
    return visit.show("thread.html", rows=rows, other=other, body=body, problem=problem)
