"""A site's database: one SQLite file per running copy, restored from a pristine copy in memory."""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_KEPT_SEEDS = 8
Fill = Callable[[sqlite3.Connection, int], None]


def build_pristine(schema: str, fill: Fill, seed: int) -> sqlite3.Connection:
    """Make the state of `seed` in memory.

    Args:
        schema: SQL statements that create the tables.
        fill: Writes the seeded rows, given the connection and the seed; the same seed must give the same rows.
        seed: Which state.
    """
    pristine = sqlite3.connect(":memory:", check_same_thread=False)
    pristine.executescript(schema)
    with pristine:
        fill(pristine, seed)
    return pristine


class Database:
    """The live database of one copy of a site.

    All access goes through `transaction`, which takes a lock: a site serves one person in a test or an
    episode, so a queue is cheaper than a pool. Nothing is shared between copies.

    Args:
        path: The SQLite file; whatever it holds is replaced.
        seed: The first state.
        schema: SQL statements that create the tables.
        fill: Writes the seeded rows, see `build_pristine`.
    """

    def __init__(self, path: Path, seed: int, schema: str, fill: Fill) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._schema = schema
        self._fill = fill
        self._lock = threading.Lock()
        self._pristine: OrderedDict[int, sqlite3.Connection] = OrderedDict()
        self._live = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._live.row_factory = sqlite3.Row
        # Durability is not wanted: the file lives as long as one episode and is restored before each.
        self._live.execute("PRAGMA journal_mode = MEMORY")
        self._live.execute("PRAGMA synchronous = OFF")
        self.seed = seed
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Restore the state that `seed` stands for; everything written since is gone."""
        with self._lock:
            if seed not in self._pristine:
                self._pristine[seed] = build_pristine(self._schema, self._fill, seed)
                while len(self._pristine) > _KEPT_SEEDS:
                    self._pristine.popitem(last=False)[1].close()
            self._pristine.move_to_end(seed)
            self._pristine[seed].backup(self._live)
            self._live.execute("PRAGMA foreign_keys = ON")
            self.seed = seed

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The live connection inside one transaction, rolled back if the block raises."""
        with self._lock:
            self._live.execute("BEGIN")
            try:
                yield self._live
            except BaseException:
                self._live.execute("ROLLBACK")
                raise
            self._live.execute("COMMIT")

    def close(self) -> None:
        """Close the live database and the pristine copies."""
        with self._lock:
            self._live.close()
            while self._pristine:
                self._pristine.popitem()[1].close()
