"""The sites of a run: servers of this process, or addresses of sites that run elsewhere.

A site lies in `envs/<name>/`: `site.py` (see `site_server.py`), and optionally `site.toml` with its title, the
placeholder that task files use for it, and how to log in.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from confkv_agents.errors import SiteError
from confkv_agents.web.doors import ANSWER_DEADLINE, STATE, given_key, reset_site, site_state
from confkv_agents.web.http import is_healthy
from confkv_agents.web.site_info import Login as Login
from confkv_agents.web.site_info import SiteInfo as SiteInfo
from confkv_agents.web.site_info import installed_sites as installed_sites
from confkv_agents.web.site_info import site_info as site_info
from confkv_agents.web.site_server import SiteServer as SiteServer

logger = logging.getLogger(__name__)


def _replace_address(text: str, old: str, new: str) -> str:
    """Replace an address, but not the beginning of a longer one (port 80 in port 8080)."""
    return re.sub(re.escape(old) + r"(?![\w-]|\.\w)", lambda _: new, text)


@dataclass
class _Entry:
    info: SiteInfo
    url: str
    server: SiteServer | None = None
    owned: bool = False


class SiteSet:
    """The sites of a run, by name: started servers, or addresses of sites that run elsewhere.

    Args:
        sites: For each name a `SiteServer` (started here if it is not), or a URL. A name may be that of the
            site (`shop`) or the one task files use (`shopping`).

    Raises:
        SiteError: A value is neither, or two sites claim one placeholder.
    """

    def __init__(self, sites: Mapping[str, str | SiteServer] | None = None) -> None:
        self._entries: dict[str, _Entry] = {}
        for name, value in (sites or {}).items():
            self._add(name, value)

    def _add(self, name: str, value: str | SiteServer, owned: bool = False) -> None:
        if isinstance(value, SiteServer):
            entry = _Entry(value.info, value.start().rstrip("/"), value, owned)
        elif isinstance(value, str) and value.startswith(("http://", "https://")):
            known = next((info for info in installed_sites().values() if name in info.names), None)
            info = known or SiteInfo(name, f"__{name.upper()}__", name)
            entry = _Entry(info, value.rstrip("/"))
        else:
            raise SiteError(f"site {name!r}: give a SiteServer or a http(s) URL, not {value!r}")
        if entry.info.placeholder in self._entries:
            raise SiteError(f"two sites stand for {entry.info.placeholder}")
        self._entries[entry.info.placeholder] = entry

    @classmethod
    def start(cls, names: Mapping[str, str | None] | list[str], seed: int = 0) -> SiteSet:
        """Start installed sites by name; a mapping may give the URL of one that runs elsewhere, or a site's folder.

        Raises:
            SiteError: No installed site serves a name, a folder's site has another name, or one does not start.
        """
        sites = cls()
        try:
            if isinstance(names, Mapping):
                for name, place in names.items():
                    if place is not None:
                        sites._add_from(name, place, seed)
            sites.add_installed([name for name in names if name not in sites], seed)
        except BaseException:
            sites.close()
            raise
        return sites

    def _add_from(self, name: str, place: str, seed: int) -> None:
        """Add a site that runs at an address, or start the one in a folder."""
        if "://" in place:
            self._add(name, place)
            return
        server = SiteServer(Path(place), seed)
        if name not in server.info.names:
            wanted = " or ".join(sorted(server.info.names))
            raise SiteError(f"the site in {place} is called {wanted}, not {name!r}; give it under that name")
        self._add(name, server, owned=True)

    def add_installed(self, names: Iterable[str], seed: int = 0) -> None:
        """Start installed sites and add them; `close` stops them.

        Raises:
            SiteError: No installed site serves a name, or it does not start.
        """
        installed = installed_sites()
        for name in names:
            if name in self:
                continue
            info = next((info for info in installed.values() if name in info.names), None)
            if info is None:
                have = ", ".join(sorted(installed)) or "none"
                raise SiteError(f"no installed site serves {name!r} (installed: {have}); give an address")
            self._add(info.name, SiteServer(info.name, seed), owned=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __contains__(self, name: object) -> bool:
        return any(name in entry.info.names for entry in self._entries.values())

    @property
    def placeholders(self) -> dict[str, str]:
        """Placeholder -> address without a slash at its end, such as `__SHOPPING__` -> `http://127.0.0.1:4`."""
        return {placeholder: entry.url for placeholder, entry in self._entries.items()}

    @property
    def addresses(self) -> list[str]:
        """The addresses of all sites."""
        return [entry.url for entry in self._entries.values()]

    def infos(self) -> dict[str, SiteInfo]:
        """Address -> what is known about the site."""
        return {entry.url: entry.info for entry in self._entries.values()}

    def url(self, name: str) -> str:
        """The address of a site. Raises SiteError when it is not in the set."""
        for entry in self._entries.values():
            if name in entry.info.names:
                return entry.url
        have = sorted(entry.info.name for entry in self._entries.values())
        raise SiteError(f"no site {name!r} here (have: {', '.join(have) or 'none'})")

    def resolve(self, text: str) -> str:
        """Replace placeholders and shown names (`http://shop.test`) by the real addresses."""
        for placeholder, entry in self._entries.items():
            text = _replace_address(text.replace(placeholder, entry.url), self._shown(entry), entry.url)
        return text

    def show(self, text: str) -> str:
        """Replace real addresses by names that are the same in every run, since ports are not."""
        for entry in self._entries.values():
            port = entry.url.rpartition(":")[2]
            for address in (entry.url, f"http://localhost:{port}" if port.isdigit() else entry.url):
                text = _replace_address(text, address, self._shown(entry))
        return text

    @staticmethod
    def _shown(entry: _Entry) -> str:
        return f"http://{entry.info.name.replace('_', '-')}.test"

    def reset(self, seed: int) -> None:
        """Reset every site that offers it; sites given by URL without `/__reset__` are left alone.

        Raises:
            SiteError: A site does not answer in time.
        """
        for entry in self._entries.values():
            if entry.server is not None:
                entry.server.reset(seed)
            elif is_healthy(entry.url, ANSWER_DEADLINE):
                reset_site(entry.url, seed, given_key())
            else:
                logger.info("%s offers no /__health__; it is not reset", entry.url)

    def state(self, name: str) -> dict[str, Any]:
        """`/__state__` of a site."""
        url = self.url(name)
        return site_state(url, self._key(url))

    def behind(self, address: str) -> dict[str, Any] | None:
        """What the evaluators' door at an address tells; None for an address that is no such door.

        Raises:
            SiteError: The site does not answer.
        """
        site = address.removesuffix(STATE)
        if site == address or site not in self.addresses:
            return None
        return site_state(site, self._key(site))

    def _key(self, url: str) -> str:
        """Opens the doors of the site at an address of the set."""
        servers = (entry.server for entry in self._entries.values() if entry.url == url)
        server = next(servers, None)
        return server.key if server is not None else given_key()

    def is_own(self, name: str) -> bool:
        """Whether a site tells its state, as those under `envs/` do. Raises SiteError when it is not in the set."""
        url = self.url(name)
        return self.started(url) or is_healthy(url, 2.0)

    def started(self, url: str) -> bool:
        """Whether the site at an address of the set is a server of this process."""
        return any(entry.url == url and entry.server is not None for entry in self._entries.values())

    def health(self) -> dict[str, bool]:
        """Site name -> whether it answers."""
        return {entry.info.name: is_healthy(entry.url, 2.0) for entry in self._entries.values()}

    def close(self) -> None:
        """Stop the sites that `start` started."""
        for entry in self._entries.values():
            if entry.owned and entry.server is not None:
                entry.server.stop()
        self._entries.clear()
