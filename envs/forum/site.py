"""Gatherwell, the forum: `create_app` is what the environment starts (see README.md)."""

from .board import create_app

__all__ = ["create_app"]
