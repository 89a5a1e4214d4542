"""Comments as a tree."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .visit import Visit

DEEPEST = 6  # levels on one page; what is below has a page of its own
_COLUMNS = (
    "SELECT comment.*, user.name AS author,"
    " COALESCE((SELECT value FROM comment_vote WHERE comment_id = comment.id AND user_id = :me), 0) AS vote,"
    " EXISTS (SELECT 1 FROM blocked WHERE user_id = :me AND other_id = comment.user_id) AS blocked"
)
_JOINED = " FROM comment JOIN user ON user.id = comment.user_id"
COMMENTS = _COLUMNS + _JOINED
# Outside their post: with its title and address.
LISTED_COMMENTS = (
    f"{_COLUMNS}, post.title, post.slug, forum.name AS forum{_JOINED}"
    " JOIN post ON post.id = post_id JOIN forum ON forum.id = post.forum_id"
    " WHERE NOT comment.deleted AND NOT post.deleted"
)


@dataclass
class Node:
    """A comment and what was answered to it; `level` counts from 1."""

    row: Any
    level: int = 1
    children: list["Node"] = field(default_factory=list)

    @property
    def hidden_replies(self) -> int:
        """How many comments lie below the deepest level that a page shows."""
        return self.size - 1 if self.level >= DEEPEST else 0

    @property
    def size(self) -> int:
        """This comment and all below it."""
        return 1 + sum(child.size for child in self.children)


def _order(nodes: list[Node], sort: str) -> list[Node]:
    if sort == "new":
        return sorted(nodes, key=lambda node: -node.row["id"])
    if sort == "old":
        return sorted(nodes, key=lambda node: node.row["id"])
    return sorted(nodes, key=lambda node: (-node.row["score"], node.row["id"]))


def build(rows: Iterable[Any], sort: str, root: int | None = None) -> list[Node]:
    """The tree of a post's comments, or the part below (and with) the comment `root`.

    Best: higher scores first, the older of two equals first. Deleted comments stay only where they were answered.
    """
    nodes = {row["id"]: Node(row) for row in rows}
    tops: list[Node] = []
    for node in nodes.values():
        parent = nodes.get(node.row["parent_id"])
        (tops if parent is None else parent.children).append(node)
    if root is not None:
        tops = [nodes[root]] if root in nodes else []

    def settle(level_nodes: list[Node], level: int) -> list[Node]:
        kept = []
        for node in _order(level_nodes, sort):
            node.level = level
            node.children = settle(node.children, level + 1)
            if node.children or not node.row["deleted"]:
                kept.append(node)
        return kept

    return settle(tops, 1)


def comments_of(visit: Visit, post_id: int, sort: str, root: int | None = None) -> list[Node]:
    """The comments of a post as the visitor wants to see them."""
    rows = visit.db.execute(f"{COMMENTS} WHERE post_id = :post ORDER BY comment.id", {"me": visit.me, "post": post_id})
    return build(rows.fetchall(), sort, root)
