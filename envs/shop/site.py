"""Larkspur Market, the shop: `create_app` is what the environment starts (see README.md)."""

from .store import create_app
from .store.database import build_pristine as seeded_database

__all__ = ["create_app", "seeded_database"]
