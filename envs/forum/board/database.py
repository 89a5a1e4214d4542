"""The forum's database: one SQLite file per site instance, restored from a pristine copy in memory."""

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .seeding import seed_database

_SCHEMA = Path(__file__).resolve().parent / "schema.sql"
_KEPT_SEEDS = 8


def build_pristine(seed: int) -> sqlite3.Connection:
    """Make the seeded state in memory."""
    pristine = sqlite3.connect(":memory:", check_same_thread=False)
    pristine.row_factory = sqlite3.Row
    pristine.executescript(_SCHEMA.read_text(encoding="utf-8"))
    with pristine:
        seed_database(pristine, seed)
    return pristine


class Database:
    """The live database of one site instance.

    All access goes through `transaction`, which takes a lock: a site serves one person in a test or an
    episode. Nothing is shared between instances.
    """

    def __init__(self, path: Path, seed: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._pristine: OrderedDict[int, sqlite3.Connection] = OrderedDict()
        self._live = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._live.row_factory = sqlite3.Row
        # The file lives as long as one episode and is restored before each: durability would only cost time.
        self._live.execute("PRAGMA journal_mode = MEMORY")
        self._live.execute("PRAGMA synchronous = OFF")
        self.seed = seed
        self.reset(seed)

    def reset(self, seed: int) -> None:
        """Restore the state that `seed` stands for; everything written since is gone."""
        with self._lock:
            if seed not in self._pristine:
                self._pristine[seed] = build_pristine(seed)
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
