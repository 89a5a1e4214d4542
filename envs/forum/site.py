"""Gatherwell, the forum: `create_app` is what the environment starts (see README.md)."""

from .board import create_app
from .board.database import build_pristine as seeded_database

__all__ = ["create_app", "seeded_database"]
