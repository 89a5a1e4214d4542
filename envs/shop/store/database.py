"""The shop's database: one SQLite file per site instance, restored from a pristine copy in memory."""

import sqlite3
from pathlib import Path

from confkv_agents.web import sitekit

from .seeding import seed_catalogue, seed_database

_SCHEMA = (Path(__file__).resolve().parent / "schema.sql").read_text(encoding="utf-8")


def build_pristine(seed: int) -> sqlite3.Connection:
    """Make the seeded state in memory."""
    return sitekit.build_pristine(_SCHEMA, seed_database, seed)


def build_catalogue(seed: int) -> sqlite3.Connection:
    """Make the seeded categories and products in memory, for those who need no more (the forum)."""
    return sitekit.build_pristine(_SCHEMA, seed_catalogue, seed)


def open_database(path: Path, seed: int) -> sitekit.Database:
    """Open a live database in the state of `seed`; whatever the file holds is replaced."""
    return sitekit.Database(path, seed, _SCHEMA, seed_database)
