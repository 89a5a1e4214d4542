"""A post's page and everything around it: comments, votes, polls, pictures, articles."""

import functools
import json

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from confkv_agents.web.sitekit import whole_number

from .forms import LONGEST_BODY, check_text, lines
from .listing import POSTS, address_of, find_post
from .pages_lists import find_forum
from .pictures import THUMB, WIDTH, Shot, render
from .ranking import COMMENT_SORTS
from .threads import DEEPEST, comments_of
from .uploads import thumbnail
from .visit import Row, Visit, member
from .votes import Thing, cast

_CHOICES = {"1": 1, "0": 0, "-1": -1}


def show_post(visit: Visit, status: int = 200, written: dict[str, str] | None = None) -> Response:
    """A post with its comments; `written` is a comment that was refused, with what is wrong."""
    post = find_post(visit, alive=False)
    sort = visit.query.get("sort", "best")
    sort = sort if sort in COMMENT_SORTS else "best"
    root = visit.request.path_params.get("comment_id")
    nodes = comments_of(visit, post["id"], sort, root)
    if (post["deleted"] and not nodes) or (root is not None and not nodes):
        raise HTTPException(404)
    poll = visit.db.execute("SELECT * FROM poll WHERE post_id = ?", (post["id"],)).fetchone()
    options = visit.rows("SELECT * FROM poll_option WHERE poll_id = ?", poll["id"]) if poll else []
    return visit.show(
        "post.html", status, post=post, nodes=nodes, sort=sort, sorts=COMMENT_SORTS, root=root, forum=find_forum(visit),
        poll=poll, options=options, written=written or {}, deepest=DEEPEST, address=address_of(post),
    )  # fmt: skip


@member
def comment(visit: Visit) -> Response:
    """Write a comment, or an answer to one."""
    post = find_post(visit)
    body = lines(visit.form.get("comment", ""))
    parent = whole_number(visit.form.get("parent", ""), 1, 10**9)
    if parent is not None:
        found = visit.one("SELECT deleted FROM comment WHERE id = ? AND post_id = ?", parent, post["id"])
        if found["deleted"]:
            raise HTTPException(404)
    problem = check_text(body, "Comment", longest=LONGEST_BODY)
    if problem:
        return show_post(visit, 200, {"error": problem, "body": body, "parent": str(parent or "")})
    now = visit.tick()
    made = visit.db.execute(
        "INSERT INTO comment (post_id, parent_id, user_id, body, created, ups, downs, score)"
        " VALUES (?, ?, ?, ?, ?, 1, 0, 1)",
        (post["id"], parent, visit.me, body, now),
    )
    visit.db.execute("INSERT INTO comment_vote VALUES (?, ?, 1)", (visit.me, made.lastrowid))
    visit.db.execute("UPDATE post SET comments = comments + 1, active = ? WHERE id = ?", (now, post["id"]))
    return visit.go(f"{address_of(post)}#comment_{made.lastrowid}")


def _find_comment(visit: Visit) -> tuple[Row, Row]:
    post = find_post(visit, alive=False)
    row = visit.one(
        "SELECT comment.*, user.name AS author FROM comment JOIN user ON user.id = user_id"
        " WHERE comment.id = ? AND post_id = ? AND NOT deleted",
        visit.path("comment_id"),
        post["id"],
    )
    return post, row


@member
def edit_comment(visit: Visit) -> Response:
    """Change an own comment."""
    post, row = _find_comment(visit)
    if row["user_id"] != visit.me:
        raise HTTPException(403)
    body, problem = row["body"], ""
    if visit.posted:
        body = lines(visit.form.get("comment", ""))
        problem = check_text(body, "Comment")
        if not problem:
            visit.db.execute("UPDATE comment SET body = ?, edited = ? WHERE id = ?", (body, visit.tick(), row["id"]))
            visit.flash("Your comment has been changed.")
            return visit.go(f"{address_of(post)}#comment_{row['id']}")
    return visit.show("edit_comment.html", post=post, comment=row, body=body, problem=problem, address=address_of(post))


@member
def delete_comment(visit: Visit) -> Response:
    """Delete an own comment; answers to it stay."""
    post, row = _find_comment(visit)
    if row["user_id"] != visit.me:
        raise HTTPException(403)
    visit.db.execute("UPDATE comment SET deleted = 1, body = '' WHERE id = ?", (row["id"],))
    visit.db.execute("UPDATE post SET comments = comments - 1 WHERE id = ?", (post["id"],))
    visit.flash("Your comment has been deleted.")
    return visit.go(address_of(post))


def _vote(visit: Visit, thing: Thing) -> Response:
    choice = _CHOICES.get(visit.form.get("choice", ""))
    if choice is None:
        raise HTTPException(400)
    row = visit.one(f"SELECT * FROM {thing} WHERE id = ? AND NOT deleted", visit.path("thing_id"))
    score = cast(visit.db, thing, row["id"], visit.me, choice)
    if visit.wants_json:
        return JSONResponse({"score": score, "vote": choice})
    return visit.back(anchor=f"{'submission' if thing == 'post' else 'comment'}_{row['id']}")


@member
def vote_post(visit: Visit) -> Response:
    """Vote on a post, or take the vote back."""
    return _vote(visit, "post")


@member
def vote_comment(visit: Visit) -> Response:
    """Vote on a comment, or take the vote back."""
    return _vote(visit, "comment")


def poll(visit: Visit) -> Response:
    """The poll that a post embeds: the question first, then what everybody said."""
    row = visit.one("SELECT * FROM poll WHERE id = ?", visit.path("poll_id"))
    options = visit.rows("SELECT * FROM poll_option WHERE poll_id = ? ORDER BY id", row["id"])
    problem = ""
    if visit.posted:
        if not visit.me:
            raise HTTPException(403)
        choice = whole_number(visit.form.get("option", ""), 1, 10**9)
        if choice not in [option["id"] for option in options]:
            problem = "Please choose an answer."
        else:
            known = visit.rows("SELECT 1 FROM poll_vote WHERE user_id = ? AND poll_id = ?", visit.me, row["id"])
            if not known:
                visit.db.execute("INSERT INTO poll_vote VALUES (?, ?, ?)", (visit.me, row["id"], choice))
                visit.db.execute("UPDATE poll_option SET votes = votes + 1 WHERE id = ?", (choice,))
            return visit.go(f"/polls/{row['id']}")
    mine = visit.rows("SELECT option_id FROM poll_vote WHERE user_id = ? AND poll_id = ?", visit.me, row["id"])
    results = bool(mine) or "results" in visit.query
    total = sum(option["votes"] for option in options)
    return visit.show(
        "poll.html", poll=row, options=options, mine=mine[0][0] if mine else None, results=results, total=total,
        problem=problem,
    )  # fmt: skip


def lightbox(visit: Visit) -> Response:
    """A post's picture as large as the window."""
    row = visit.db.execute(
        f"{POSTS} WHERE post.id = :id AND NOT post.deleted", {"me": visit.me, "id": visit.path("post_id")}
    )
    post = row.fetchone()
    if post is None or post["picture"] is None:
        raise HTTPException(404)
    return visit.show("lightbox.html", post=post, address=address_of(post))


def article(visit: Visit) -> Response:
    """The saved copy of a page that a post links to."""
    row = visit.one("SELECT * FROM article WHERE post_id = ?", visit.path("post_id"))
    post = visit.db.execute(f"{POSTS} WHERE post.id = :id", {"me": visit.me, "id": row["post_id"]}).fetchone()
    return visit.show("article.html", article=row, post=post, address=address_of(post))


@functools.lru_cache(maxsize=600)
def _draw(shot: str, seed: str, width: int) -> bytes:
    facts = json.loads(shot)
    facts.pop("ware", None)
    return render(Shot(**facts), seed, width)


def picture(request: Request) -> Response:
    """The bytes of a picture, or of its small copy; drawn while they are served."""
    with request.app.state.database.transaction() as db:
        row = db.execute("SELECT * FROM picture WHERE name = ?", (request.path_params["name"],)).fetchone()
    if row is None:
        raise HTTPException(404)
    small = bool(request.path_params.get("small"))
    if row["data"] is not None:
        data = thumbnail(row["data"], THUMB) if small else bytes(row["data"])
    else:
        data = _draw(row["shot"], row["seed"], THUMB if small else WIDTH)
    headers = {"Cache-Control": "public, max-age=86400", "X-Content-Type-Options": "nosniff"}
    return Response(data, media_type="image/webp", headers=headers)
