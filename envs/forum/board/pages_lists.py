"""Pages that list: the front page, forums and their posts, search."""

from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from confkv_agents.web.sitekit import whole_number

from .forms import one_line
from .listing import POSTS, Listing, cut, list_posts
from .markdown import to_plain
from .ranking import RANGES, SORTS
from .threads import LISTED_COMMENTS
from .visit import Row, Visit

_FORUM_ORDERS = {
    "by_title": ("Title", "title COLLATE NOCASE"),
    "by_name": ("Name", "forum.name COLLATE NOCASE"),
    "by_subscribers": ("Subscribers", "members DESC"),
    "by_submissions": ("Posts", "posts DESC"),
}
_SCOPES = ("all", "subscribed")
KINDS = {"": "Any kind", "text": "Text", "link": "Links", "picture": "Pictures"}
_SEARCH_SORTS = {"relevance": "Best match", "new": "Newest", "top": "Top", "most_commented": "Most commented"}
_FORUMS = (
    "SELECT forum.*, members + (SELECT COUNT(*) FROM subscription WHERE forum_id = forum.id) AS subscribers,"
    " (SELECT COUNT(*) FROM post WHERE forum_id = forum.id AND NOT deleted) AS posts,"
    " EXISTS (SELECT 1 FROM subscription WHERE forum_id = forum.id AND user_id = :me) AS subscribed,"
    " owner.name AS owner FROM forum JOIN user AS owner ON owner.id = owner_id"
)


def forums(visit: Visit, order: str = "title COLLATE NOCASE", condition: str = "1") -> list[Row]:
    """Forums with their figures."""
    return visit.db.execute(f"{_FORUMS} WHERE {condition} ORDER BY {order}", {"me": visit.me}).fetchall()


def subscribed(visit: Visit) -> list[Row]:
    """The forums that the member has subscribed to, by name."""
    mine = "forum.id IN (SELECT forum_id FROM subscription WHERE user_id = :me)"
    return forums(visit, "forum.name COLLATE NOCASE", mine) if visit.me else []


def find_forum(visit: Visit) -> Row:
    """The forum that the address names."""
    row: Row | None = visit.db.execute(
        f"{_FORUMS} WHERE forum.name = :name", {"me": visit.me, "name": visit.path("forum")}
    ).fetchone()
    if row is None:
        raise HTTPException(404)
    return row


def front(visit: Visit) -> Response:
    """The front page: what the member subscribed to, or everything."""
    mine = subscribed(visit)
    given = [visit.request.path_params[key] for key in ("first", "second") if key in visit.request.path_params]
    named = given.pop(0) if given and given[0] in _SCOPES else ""
    sort = given.pop(0) if given else "hot"
    if given or sort not in SORTS:
        raise HTTPException(404)
    scope = named or ("subscribed" if mine else "all")
    base = f"/{named}" if named else "/"
    condition = "1"
    if scope == "subscribed":
        condition = "forum_id IN (SELECT forum_id FROM subscription WHERE user_id = :me)"
    listing = list_posts(visit, base, sort, condition)
    featured = forums(visit, "members DESC")[:8]
    return visit.show(
        "front.html", listing=listing, scope=scope, base=base, mine=mine, featured=featured, sorts=SORTS, ranges=RANGES
    )


def forum_page(visit: Visit) -> Response:
    """The posts of a forum."""
    forum = find_forum(visit)
    sort = visit.request.path_params.get("sort", "hot")
    if sort not in SORTS:
        raise HTTPException(404)
    base = f"/f/{forum['name']}"
    listing = list_posts(visit, base, sort, "forum_id = :forum", forum=forum["id"])
    return visit.show("forum.html", forum=forum, listing=listing, base=base, sorts=SORTS, ranges=RANGES)


def forum_list(visit: Visit) -> Response:
    """All forums."""
    order = visit.request.path_params.get("order", "by_title")
    if order == "all":
        return visit.show("forums_all.html", forums=forums(visit, "forum.name COLLATE NOCASE"))
    if order not in _FORUM_ORDERS:
        raise HTTPException(404)
    rows = forums(visit, _FORUM_ORDERS[order][1])
    return visit.show("forums.html", forums=rows, order=order, orders=_FORUM_ORDERS)


def _words(text: str) -> list[str]:
    return "".join(character if character.isalnum() else " " for character in text.lower()).split()


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _points(wanted: list[str], title: str, body: str) -> int:
    """How well a text fits: every word must occur (as a word or its beginning); in the title it counts more."""
    heads, tails = [_stem(w) for w in _words(title)], [_stem(w) for w in _words(body)]
    points = 0
    for word in wanted:
        stem = _stem(word)
        best = 6 if stem in heads else 4 if any(w.startswith(word) for w in heads) else 0
        best = best or (2 if stem in tails else 1 if any(w.startswith(word) for w in tails) else 0)
        if not best:
            return 0
        points += best
    return points


def _search_posts(visit: Visit, wanted: list[str], chosen: dict[str, str]) -> list[Row]:
    where = "NOT post.deleted"
    values: dict[str, Any] = {"me": visit.me}
    if chosen["forum"]:
        where += " AND forum.name = :forum"
        values["forum"] = chosen["forum"]
    if chosen["kind"]:
        where += " AND post.kind = :kind"
        values["kind"] = chosen["kind"]
    span = RANGES[chosen["t"]][1]
    if span is not None:
        where += " AND post.created > :since"
        values["since"] = visit.now() - span
    order = SORTS.get(chosen["sort"], SORTS["new"])[1]
    rows = visit.db.execute(f"{POSTS} WHERE {where} ORDER BY {order}", values).fetchall()
    found = [(_points(wanted, f"{row['title']} {row['author']}", to_plain(row["body"])), row) for row in rows]
    found = [item for item in found if item[0]]
    if chosen["sort"] == "relevance":
        found.sort(key=lambda item: -item[0])
    return [row for _, row in found]


def _search_comments(visit: Visit, wanted: list[str], chosen: dict[str, str]) -> list[Row]:
    rows = visit.db.execute(
        f"{LISTED_COMMENTS} AND (:forum = '' OR forum.name = :forum) ORDER BY comment.id DESC",
        {"me": visit.me, "forum": chosen["forum"]},
    ).fetchall()
    return [row for row in rows if _points(wanted, "", to_plain(row["body"]))]


def search(visit: Visit) -> Response:
    """Search posts or comments, with filters."""
    text = one_line(visit.query.get("q", ""), 100)
    names = {row["name"]: row["title"] for row in forums(visit)}
    chosen = {key: visit.query.get(key, "") for key in ("forum", "kind", "t", "sort", "in")}
    chosen["forum"] = chosen["forum"] if chosen["forum"] in names else ""
    chosen["kind"] = chosen["kind"] if chosen["kind"] in KINDS else ""
    chosen["t"] = chosen["t"] if chosen["t"] in RANGES else "all"
    chosen["sort"] = chosen["sort"] if chosen["sort"] in _SEARCH_SORTS else "relevance"
    chosen["in"] = "comments" if chosen["in"] == "comments" else ""
    keep = {"q": text} | {k: v for k, v in chosen.items() if v not in ("all", "relevance")}
    wanted = _words(text)[:8]
    listing: Listing | None = None
    if wanted:
        found = (_search_comments if chosen["in"] else _search_posts)(visit, wanted, chosen)
        listing = cut(visit, found, "/search", keep)
    return visit.show(
        "search.html", listing=listing, searched=text, chosen=chosen, names=names, kinds=KINDS, ranges=RANGES,
        sorts=_SEARCH_SORTS,
    )  # fmt: skip


def shortcut(visit: Visit) -> Response:
    """`/1234` leads to the post of that number."""
    number = whole_number(str(visit.path("post_id")), 1, 10**9)
    row = visit.one(
        "SELECT post.*, forum.name AS forum FROM post JOIN forum ON forum.id = forum_id WHERE post.id = ?", number
    )
    return visit.go(f"/f/{row['forum']}/{row['id']}/{row['slug']}")
