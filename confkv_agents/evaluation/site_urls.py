"""Reads `--site name=url`."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from confkv_agents.errors import ConfigError


def site_urls(pairs: Sequence[str]) -> dict[str, str]:
    """Addresses of sites by name.

    Raises:
        ConfigError: An entry is not `name=url`.
    """
    sites = {}
    for pair in pairs:
        name, equals, url = pair.partition("=")
        if not equals or not name.strip() or not _is_address(url.strip()):
            raise ConfigError(f"--site {pair!r}: write name=url, such as shop=http://127.0.0.1:8000")
        sites[name.strip()] = url.strip()
    return sites


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, brackets that do not match
        return False
