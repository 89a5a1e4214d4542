"""Kerbside, the classifieds site: `create_app` is what the environment starts (see README.md)."""

from .kerbside import create_app
from .kerbside.database import build_pristine as seeded_database

__all__ = ["create_app", "seeded_database"]
