"""The state that checks read: everything a visitor can change, as plain JSON, and what the pictures show."""

import json
import sqlite3
from typing import Any

from .visit import iso


def _rows(db: sqlite3.Connection, sql: str) -> list[dict[str, Any]]:
    rows = [dict(row) for row in db.execute(sql)]
    for row in rows:
        for key in ("created", "edited"):
            if isinstance(row.get(key), int):
                row[key] = iso(row[key])
    return rows


_POSTS = """
    SELECT post.id, forum.name AS forum, user.name AS author, post.kind, post.title, post.slug, post.body, post.url,
        picture.name AS picture, post.created, post.edited, post.deleted, post.ups, post.downs, post.score,
        post.comments, post.hot
    FROM post JOIN forum ON forum.id = forum_id JOIN user ON user.id = post.user_id
        LEFT JOIN picture ON picture.id = picture_id
    ORDER BY post.id"""
_COMMENTS = """
    SELECT comment.id, post_id, parent_id, user.name AS author, body, comment.created, edited, deleted, ups, downs,
        score
    FROM comment JOIN user ON user.id = user_id ORDER BY comment.id"""
_FORUMS = """
    SELECT forum.name, title, description, sidebar, owner.name AS owner, members
    FROM forum JOIN user AS owner ON owner.id = owner_id ORDER BY forum.id"""
_VOTES = """
    SELECT user.name AS user, {0}_id, value FROM {0}_vote JOIN user ON user.id = user_id ORDER BY user.id, {0}_id"""
_MESSAGES = """
    SELECT message.id, thread_id, sender.name AS sender, receiver.name AS receiver, body, message.created, seen
    FROM message JOIN user AS sender ON sender.id = sender_id JOIN user AS receiver ON receiver.id = receiver_id
    ORDER BY message.id"""
_REPORTS = """
    SELECT report.id, user.name AS user, post_id, comment_id, reason, note, report.created
    FROM report JOIN user ON user.id = user_id ORDER BY report.id"""


def read_state(db: sqlite3.Connection, seed: int) -> dict[str, Any]:
    """Posts, comments, votes, members and what belongs to them; passwords and uploaded bytes are left out."""
    posts = _rows(db, _POSTS)
    for post in posts:
        post["address"] = f"/f/{post['forum']}/{post['id']}/{post.pop('slug')}"
        post["deleted"] = bool(post["deleted"])
    shots = db.execute("SELECT post.id, shot FROM post JOIN picture ON picture.id = picture_id WHERE shot IS NOT NULL")
    return {
        "seed": seed,
        "posts": posts,
        "facts": {str(row[0]): json.loads(row[1]) for row in shots},
        "comments": _rows(db, _COMMENTS),
        "forums": _rows(db, _FORUMS),
        "users": _rows(db, "SELECT name, bio, created FROM user ORDER BY id"),
        "post_votes": _rows(db, _VOTES.format("post")),
        "comment_votes": _rows(db, _VOTES.format("comment")),
        "subscriptions": _pairs(db, "subscription", "forum.name", "JOIN forum ON forum.id = forum_id"),
        "saved": _pairs(db, "saved", "post_id"),
        "hidden": _pairs(db, "hidden", "post_id"),
        "blocked": _pairs(db, "blocked", "other.name", "JOIN user AS other ON other.id = other_id"),
        "messages": _rows(db, _MESSAGES),
        "reports": _rows(db, _REPORTS),
        "polls": [_poll(db, row) for row in db.execute("SELECT * FROM poll ORDER BY id").fetchall()],
    }


def _poll(db: sqlite3.Connection, row: sqlite3.Row) -> dict[str, Any]:
    options = db.execute("SELECT label, votes FROM poll_option WHERE poll_id = ? ORDER BY id", (row["id"],))
    votes = {option["label"]: option["votes"] for option in options}
    return {"id": row["id"], "post_id": row["post_id"], "question": row["question"], "votes": votes}


def _pairs(db: sqlite3.Connection, table: str, column: str, join: str = "") -> dict[str, list[Any]]:
    """Member -> what belongs to them, sorted."""
    found: dict[str, list[Any]] = {}
    sql = f"SELECT user.name, {column} FROM {table} JOIN user ON user.id = user_id {join} ORDER BY 1, 2"
    for name, value in db.execute(sql):
        found.setdefault(name, []).append(value)
    return found
