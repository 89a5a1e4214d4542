"""Web applications that tasks run on: started here, or running elsewhere and given by URL.

A site lies in `envs/<name>/`: `site.py` with `create_app(database, seed)`, and optionally `site.toml` with
its title, the placeholder that task files use for it, and how to log in. Besides its pages it answers `POST
/__reset__ {"seed": n}`, `GET /__state__` (everything a check needs) and `GET /__health__`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import socket
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psutil

from confkv_agents import plugins
from confkv_agents.errors import PluginError, SiteError
from confkv_agents.web.http import fetch_json, is_healthy

logger = logging.getLogger(__name__)

START_DEADLINE = 20.0
ANSWER_DEADLINE = 10.0
_PREFIX = "confkv-site-"


@dataclass(frozen=True)
class Login:
    """How to sign in: a form posted to `path`. Values are literal."""

    path: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class SiteInfo:
    """What is known about a site before it runs.

    Attributes:
        name: Folder name under `envs/`, or the name it was given with its URL.
        placeholder: How task files write its address, such as `__SHOPPING__`.
        title: For people.
        login: How to sign in for tasks that require it; None where sites need none.
    """

    name: str
    placeholder: str
    title: str = ""
    login: Login | None = None

    @property
    def names(self) -> frozenset[str]:
        """Every name a task may list this site under: its own and its placeholder's."""
        return frozenset({self.name, self.placeholder.strip("_").lower()})


def site_info(name_or_path: str | Path) -> SiteInfo:
    """Read `site.toml` of a site; without the file, as for a benchmark, the placeholder is `__NAME__`.

    Raises:
        PluginError: There is no such site.
        SiteError: `site.toml` is not valid.
    """
    folder = plugins.find_env(name_or_path)
    if folder.is_file():  # a benchmark
        return SiteInfo(folder.stem, f"__{folder.stem.upper()}__", folder.stem)
    file = folder / "site.toml"
    if not file.is_file():
        return SiteInfo(folder.name, f"__{folder.name.upper()}__", folder.name)
    try:
        raw = tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SiteError(f"{file}: {error}") from error
    login = None
    if "login" in raw:
        try:
            fields = {str(key): str(value) for key, value in raw["login"]["fields"].items()}
            login = Login(str(raw["login"]["path"]), fields)
        except (KeyError, TypeError, AttributeError) as error:
            raise SiteError(f"{file}: [login] needs a path and a table of fields ({error})") from error
    return SiteInfo(
        name=folder.name,
        placeholder=str(raw.get("placeholder", f"__{folder.name.upper()}__")),
        title=str(raw.get("title", folder.name)),
        login=login,
    )


def installed_sites() -> dict[str, SiteInfo]:
    """The sites under `envs/`, by folder name."""
    found = {}
    with contextlib.suppress(PluginError):
        for name in plugins.available("envs"):
            with contextlib.suppress(PluginError):
                found[name] = site_info(name)
    return found


class SiteServer:
    """One running copy of a site: a thread in this process, a free port, a database of its own.

    A thread starts in milliseconds and cannot outlive the process. The database lies in a temporary folder,
    which `stop` removes; folders left by processes that were killed are removed by the next start.

    Args:
        name: Name under `envs/` or path of the site's folder.
        seed: Seed of the first state.
        port: Port to serve on; 0 takes a free one.

    Raises:
        PluginError: There is no such site, or it cannot be loaded.
    """

    def __init__(self, name: str | Path, seed: int = 0, port: int = 0) -> None:
        self.info = site_info(name)
        self.seed = seed
        self.url = ""
        self._port = port
        self._folder = plugins.find_env(name)
        self._server: Any = None
        self._thread: threading.Thread | None = None
        self._data: Path | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> str:
        """Start serving and return the address, such as `http://127.0.0.1:41234`. Harmless when it runs.

        Raises:
            PluginError: `site.py` fails to load or lacks `create_app`.
            SiteError: The application raises, or does not answer in time.
        """
        if self._server is None:
            try:
                self._start()
            except BaseException:  # Ctrl-C too leaves no folder behind
                self.stop()
                raise
        return self.url

    def _start(self) -> None:
        import uvicorn

        module = plugins.load_module(self._folder, f"envs.{self.info.name}")
        create_app = getattr(module, "create_app", None)
        if create_app is None:
            raise PluginError(f"{module.__file__} has no create_app(database, seed)")
        _remove_leftovers()
        self._data = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        try:
            app = create_app(self._data / "site.sqlite", self.seed)
        except Exception as error:
            raise SiteError(f"site {self.info.name!r} does not start: {error}") from error
        try:
            listener = socket.create_server(("127.0.0.1", self._port))
        except OSError as error:
            raise SiteError(f"port {self._port} cannot be used: {error.strerror or error}") from error
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=1, lifespan="auto"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run,
            kwargs={"sockets": [listener]},
            name=f"confkv-site-{self.info.name}",
            daemon=True,
        )
        self._thread.start()
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        deadline = time.monotonic() + START_DEADLINE
        while not is_healthy(self.url, 1.0):
            if time.monotonic() > deadline or not self._thread.is_alive():
                raise SiteError(f"site {self.info.name!r} did not answer within {START_DEADLINE:.0f} s")
            time.sleep(0.02)

    def reset(self, seed: int | None = None) -> None:
        """Restore the state that `seed` gives (default: the seed of the server)."""
        reset_site(self.url, self.seed if seed is None else seed)

    def state(self) -> dict[str, Any]:
        """Everything a check needs, as the site tells it."""
        return site_state(self.url)

    def stop(self) -> None:
        """Stop serving and remove the database. Calling it again does nothing."""
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(3)
            if self._thread.is_alive():
                self._server.force_exit = True
                self._thread.join(2)
        self._server = self._thread = None
        if self._data is not None:
            shutil.rmtree(self._data, ignore_errors=True)
            self._data = None


def reset_site(url: str, seed: int) -> None:
    """`POST /__reset__`. Raises SiteError when the site does not answer or refuses."""
    fetch_json(f"{url}/__reset__", {"seed": seed}, deadline=ANSWER_DEADLINE)


def site_state(url: str) -> dict[str, Any]:
    """`GET /__state__`. Raises SiteError when the site does not answer."""
    state = fetch_json(f"{url}/__state__", deadline=ANSWER_DEADLINE)
    if not isinstance(state, dict):
        raise SiteError(f"{url}/__state__ did not answer with a JSON object")
    return state


def _remove_leftovers() -> None:
    """Remove database folders of processes that no longer exist."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        pid = folder.name.removeprefix(_PREFIX).split("-")[0]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


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
                reset_site(entry.url, seed)
            else:
                logger.info("%s offers no /__health__; it is not reset", entry.url)

    def state(self, name: str) -> dict[str, Any]:
        """`/__state__` of a site."""
        return site_state(self.url(name))

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
