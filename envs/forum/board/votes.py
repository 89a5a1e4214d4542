"""Votes: one for each member and thing, counted at once."""

import sqlite3
from typing import Literal

from .ranking import hot, split

Thing = Literal["post", "comment"]


def cast(db: sqlite3.Connection, thing: Thing, thing_id: int, user_id: int, choice: int) -> int:
    """Set a member's vote and return the new score.

    Args:
        db: Inside a transaction.
        thing: What is voted on.
        thing_id: Its id.
        user_id: Who votes.
        choice: 1, -1, or 0 to take the vote back. Voting the same twice changes nothing.
    """
    table, column = f"{thing}_vote", f"{thing}_id"
    row = db.execute(f"SELECT value FROM {table} WHERE user_id = ? AND {column} = ?", (user_id, thing_id)).fetchone()
    before = row[0] if row else 0
    ups = (choice == 1) - (before == 1)
    downs = (choice == -1) - (before == -1)
    db.execute(f"DELETE FROM {table} WHERE user_id = ? AND {column} = ?", (user_id, thing_id))
    if choice:
        db.execute(f"INSERT INTO {table} VALUES (?, ?, ?)", (user_id, thing_id, choice))
    db.execute(
        f"UPDATE {thing} SET ups = ups + ?, downs = downs + ?, score = score + ? WHERE id = ?",
        (ups, downs, ups - downs, thing_id),
    )
    now = db.execute(f"SELECT * FROM {thing} WHERE id = ?", (thing_id,)).fetchone()
    if thing == "post":
        rank = (hot(now["ups"], now["downs"], now["created"]), split(now["ups"], now["downs"]))
        db.execute("UPDATE post SET hot = ?, split = ? WHERE id = ?", (*rank, thing_id))
    return int(now["score"])
