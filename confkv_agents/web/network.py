"""Only the task's own sites are reachable; everything else is refused and told.

Two layers. The context's proxy is a dead address that the allowed hosts bypass, so that nothing gets out
whatever asks for it: redirects, sockets, workers. (Calls between pages would go around a proxy by UDP; the
browser is started with that turned off.) In front of it requests are routed, which gives the refusal a name and
keeps the agent on its page when a link leads outside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from confkv_agents.errors import ConfigError

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Request, Route

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_LOCAL_SCHEMES = ("data:", "blob:", "about:")
_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_HOST = re.compile(r"(\*\.)?[\w.-]+(:\d+)?|\[[0-9a-fA-F:]+\](:\d+)?")
_NOWHERE = "http://127.0.0.1:9"  # the discard port: nothing listens


class AllowList:
    """Hosts that pages may talk to.

    Args:
        addresses: Addresses of sites; host and port count.
        hosts: More hosts: `example.org`, `example.org:8080`, `*.example.org`, or `*` for no limit at all.

    Raises:
        ConfigError: A host has another form.
    """

    def __init__(self, addresses: Iterable[str] = (), hosts: Iterable[str] = ()) -> None:
        self.unlimited = False
        self.hosts: list[str] = []
        self._named: list[str] = []  # as they were given
        for address in addresses:
            parts = urlsplit(address)
            port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 80)
            name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
            names = sorted(_LOOPBACK) if name in _LOOPBACK else [name]
            self.hosts += [f"{each}:{port}" for each in names]
            self._named.append(f"{parts.scheme}://{host_of(address)}")
        for host in hosts:
            if host == "*":
                self.unlimited = True
            elif _HOST.fullmatch(host):
                self.hosts.append(host.lower())
                self._named.append(host)
            else:
                raise ConfigError(
                    f"allow_hosts: {host!r} is not a host such as example.org, *.example.org or host:8080"
                )
        alternatives = "|".join(self._pattern(host) for host in self.hosts) or r"(?!)"
        schemes = "|".join(_LOCAL_SCHEMES)
        self._allowed = rf"(?:https?|wss?)://(?:{alternatives})(?:[/?#]|$)|{schemes}"
        self._match = re.compile(self._allowed, re.IGNORECASE)

    @staticmethod
    def _pattern(host: str) -> str:
        name, _, port = host.rpartition(":") if re.search(r":\d+$", host) else (host, "", "")
        pattern = rf"(?:[\w-]+\.)+{re.escape(name[2:])}" if name.startswith("*.") else re.escape(name)
        if not port:
            return pattern + r"(?::\d+)?"
        return pattern + (f"(?::{port})?" if int(port) in (80, 443) else f":{port}")

    def allows(self, url: str) -> bool:
        """Whether pages may load `url`. `file:`, `chrome:` and `javascript:` never are allowed."""
        if self.unlimited:
            return url.startswith(("http://", "https://", *_LOCAL_SCHEMES))
        return self._match.match(url) is not None

    def describe(self) -> str:
        """The sites' addresses and the allowed hosts, for messages."""
        if self.unlimited:
            return "every host"
        return ", ".join(self._named) or "no host"

    def context_options(self) -> dict[str, Any]:
        """Options for Playwright's `new_context` that enforce the list."""
        options: dict[str, Any] = {"service_workers": "block"}
        if not self.unlimited:
            options["proxy"] = {"server": _NOWHERE, "bypass": ",".join(self.hosts)}
        return options

    def install(self, context: BrowserContext, blocked: list[tuple[str, bool]]) -> None:
        """Route what is not allowed; a refusal appends (address, whether a page was to open) to `blocked`."""
        if self.unlimited:
            return

        def refuse(route: Route, request: Request) -> None:
            page_to_open = request.is_navigation_request() and _is_top(request)
            blocked.append((request.url, page_to_open))
            if page_to_open:
                route.fulfill(status=204)  # "no content": the browser stays on the page it is on
            else:
                route.abort("blockedbyclient")

        context.route(re.compile(rf"^(?!{self._allowed})", re.IGNORECASE), refuse)


def _is_top(request: Request) -> bool:
    from playwright.sync_api import Error

    try:
        return request.frame.parent_frame is None
    except Error:  # the frame of a page that is just opening
        return True


def host_of(url: str) -> str:
    """Host and port of an address, for messages; the scheme where it has no host."""
    parts = urlsplit(url)
    return parts.netloc.rpartition("@")[2] or f"{parts.scheme}:"
