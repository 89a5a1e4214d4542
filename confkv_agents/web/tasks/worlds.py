"""The seeded state of the sites, for those who write tasks about it: SQL instead of a browser.

A site that tasks are made for has, beside `create_app`, a function `seeded_database(seed)` in its `site.py`, which
returns a fresh SQLite database in memory with the rows of that seed. Nothing is served and nothing can be changed
for a running site.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import Any

from confkv_agents import plugins
from confkv_agents.errors import PluginError

Row = dict[str, Any]


class World:
    """Every site in the state of one seed.

    Args:
        seed: Which state; the same as `x_confkv.seed` of a task.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._open: dict[str, sqlite3.Connection] = {}

    def rows(self, site: str, sql: str, *values: Any) -> list[Row]:
        """Rows of a query on a site's database, each a dict by column.

        Args:
            site: Folder name under `envs/`, such as `shop`.
            sql: A SELECT; write an ORDER BY, the order of rows must not depend on anything else.
            values: For the placeholders `?` of the statement.

        Raises:
            PluginError: There is no such site, or it cannot be asked.
        """
        cursor = self._database(site).execute(sql, values)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def row(self, site: str, sql: str, *values: Any) -> Row:
        """The only row of a query.

        Raises:
            LookupError: There is none, or more than one.
        """
        found = self.rows(site, sql, *values)
        if len(found) != 1:
            raise LookupError(f"{len(found)} rows of {site!r} where one was expected: {sql}")
        return found[0]

    def close(self) -> None:
        """Close the databases."""
        while self._open:
            self._open.popitem()[1].close()

    def __del__(self) -> None:
        with suppress(AttributeError):  # a constructor that failed
            self.close()

    def _database(self, site: str) -> sqlite3.Connection:
        if site not in self._open:
            folder = plugins.find_env(site)
            module = plugins.load_module(folder, f"envs.{folder.name}")
            make = getattr(module, "seeded_database", None)
            if make is None:
                raise PluginError(f"{folder / 'site.py'} has no seeded_database(seed), so no tasks can be made for it")
            self._open[site] = make(self.seed)
        return self._open[site]
