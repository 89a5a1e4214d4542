"""Larkspur Market, the shop: `create_app` is what the environment starts (see README.md)."""

from .store import create_app

__all__ = ["create_app"]
