"""A site served by this process.

`site.py` of its folder holds `create_app(database, seed)`, which gives an application (ASGI). Besides its pages it
answers `GET /__health__`, and to evaluators (see `doors.py`) `POST /__reset__ {"seed": n}` and `GET /__state__`
(everything a check needs).
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Self

import psutil

from confkv_agents import plugins
from confkv_agents.errors import PluginError, SiteError
from confkv_agents.web.doors import Locked, new_key, reset_site, site_state
from confkv_agents.web.http import is_healthy
from confkv_agents.web.site_info import site_info

logger = logging.getLogger(__name__)

START_DEADLINE = 20.0
_PREFIX = "confkv-site-"


class SiteServer:
    """One running copy of a site: a thread in this process, a free port, a database of its own.

    A thread starts in milliseconds and cannot outlive the process. The database lies in a temporary folder,
    which `stop` removes; folders left by processes that were killed are removed by the next start.

    Args:
        name: Name under `envs/` or path of the site's folder.
        seed: Seed of the first state.
        port: Port to serve on; 0 takes a free one.
        key: Opens the evaluators' doors; by default a new one.

    Raises:
        PluginError: There is no such site, or it cannot be loaded.
    """

    def __init__(self, name: str | Path, seed: int = 0, port: int = 0, key: str = "") -> None:
        self.info = site_info(name)
        self.seed = seed
        self.url = ""
        self.key = key or new_key()
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
            Locked(app, self.key), log_level="warning", access_log=False, timeout_graceful_shutdown=1, lifespan="auto"
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
        reset_site(self.url, self.seed if seed is None else seed, self.key)

    def state(self) -> dict[str, Any]:
        """Everything a check needs, as the site tells it."""
        return site_state(self.url, self.key)

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


def _remove_leftovers() -> None:
    """Remove database folders of processes that no longer exist."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        pid = folder.name.removeprefix(_PREFIX).split("-")[0]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)
