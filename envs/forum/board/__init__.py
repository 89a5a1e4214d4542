"""The forum's application: data, pictures, pages. Loaded by path through `site.py`, never imported by name."""

from .app import create_app

__all__ = ["create_app"]
