"""Kerbside, the classifieds site: `create_app` is what the environment starts (see README.md)."""

from .kerbside import create_app

__all__ = ["create_app"]
