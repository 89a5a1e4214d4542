"""Lists of posts: which ones, in which order, which page of them."""

import sqlite3
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException

from confkv_agents.web.sitekit import whole_number

from .ranking import RANGES, SORTS
from .visit import Visit

PAGE_SIZE = 10
POSTS = (
    "SELECT post.*, forum.name AS forum, forum.hue, user.name AS author, picture.name AS picture,"
    " COALESCE((SELECT value FROM post_vote WHERE post_id = post.id AND user_id = :me), 0) AS vote,"
    " EXISTS (SELECT 1 FROM saved WHERE post_id = post.id AND user_id = :me) AS saved,"
    " EXISTS (SELECT 1 FROM hidden WHERE post_id = post.id AND user_id = :me) AS hidden,"
    " EXISTS (SELECT 1 FROM article WHERE post_id = post.id) AS article"
    " FROM post JOIN forum ON forum.id = forum_id JOIN user ON user.id = post.user_id"
    " LEFT JOIN picture ON picture.id = picture_id"
)
# What a member does not want to see in lists.
_UNWANTED = (
    " AND post.id NOT IN (SELECT post_id FROM hidden WHERE user_id = :me)"
    " AND post.user_id NOT IN (SELECT other_id FROM blocked WHERE user_id = :me)"
)


@dataclass
class Listing:
    """One page of a list, with the addresses of its neighbours."""

    items: list[Any]
    total: int
    page: int
    base: str
    sort: str = ""
    time: str = "all"
    keep: dict[str, str] = field(default_factory=dict)
    size: int = PAGE_SIZE

    @property
    def pages(self) -> int:
        """Number of pages, at least 1."""
        return max(1, -(-self.total // self.size))

    def address(self, page: int) -> str:
        """Address of a page of this list."""
        query = {key: value for key, value in self.keep.items() if value}
        if page > 1:
            query["page"] = str(page)
        return self.base + (f"?{urlencode(query)}" if query else "")


def page_number(visit: Visit) -> int:
    """The page asked for, 1 if none or nonsense."""
    return whole_number(visit.query.get("page", "1"), 1, 100_000) or 1


def cut(visit: Visit, items: list[Any], base: str, keep: dict[str, str] | None = None) -> Listing:
    """The page of a complete list that is asked for."""
    page = min(page_number(visit), max(1, -(-len(items) // PAGE_SIZE)))
    shown = items[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    return Listing(shown, len(items), page, base, keep=keep or {})


def list_posts(visit: Visit, base: str, sort: str, condition: str = "1", **values: Any) -> Listing:
    """Posts that fit a condition, without those the member has hidden.

    Args:
        visit: Gives the page (`page`) and the time range (`t`) asked for.
        base: Address of the list without its sort.
        sort: Key of `SORTS`.
        condition: SQL about `post`, with named values.
        values: Of the condition.
    """
    _, order, timed = SORTS[sort]
    time = visit.query.get("t", "all") if timed else "all"
    time = time if time in RANGES else "all"
    values |= {"me": visit.me}
    where = f"NOT post.deleted AND ({condition}){_UNWANTED}"
    span = RANGES[time][1]
    if span is not None:
        where += " AND post.created > :since"
        values["since"] = visit.now() - span
    total: int = visit.db.execute(f"SELECT COUNT(*) FROM post WHERE {where}", values).fetchone()[0]
    page = min(page_number(visit), max(1, -(-total // PAGE_SIZE)))
    values |= {"size": PAGE_SIZE, "skip": (page - 1) * PAGE_SIZE}
    rows = visit.db.execute(f"{POSTS} WHERE {where} ORDER BY {order} LIMIT :size OFFSET :skip", values).fetchall()
    address = f"{base.rstrip('/')}/{sort}" if sort != "hot" else base
    return Listing(rows, total, page, address, sort, time, {"t": time if time != "all" else ""})


def find_post(visit: Visit, *, alive: bool = True) -> sqlite3.Row:
    """The post that the address names; its forum must be the right one."""
    sql = f"{POSTS} WHERE post.id = :id AND forum.name = :forum" + (" AND NOT post.deleted" if alive else "")
    values = {"me": visit.me, "id": visit.path("post_id"), "forum": visit.path("forum")}
    row: sqlite3.Row | None = visit.db.execute(sql, values).fetchone()
    if row is None:
        raise HTTPException(404)
    return row


def address_of(post: Any) -> str:
    """Address of a post's page."""
    return f"/f/{post['forum']}/{post['id']}/{post['slug']}"
