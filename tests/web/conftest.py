"""A loopback server for tiny pages, one browser for all tests, and an environment on both."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from confkv_agents.web.browser import Browser
from confkv_agents.web.env import WebEnv
from confkv_agents.web.observation import Observation
from confkv_agents.web.settle import SettleLimits
from confkv_agents.web.sites import SiteSet
from confkv_agents.web.tasks import Task


@dataclass
class Pages:
    """Pages by path; a page may be a function that writes the answer itself."""

    pages: dict[str, str | Callable[[BaseHTTPRequestHandler], None]] = field(default_factory=dict)
    requests: list[tuple[str, str, str]] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def paths(self) -> list[str]:
        return [path for _, path, _ in self.requests]


def hang(pages: Pages) -> Callable[[BaseHTTPRequestHandler], None]:
    """A page that never answers while the test runs."""
    return lambda handler: void(pages.release.wait(60))


def void(_: object) -> None:
    return None


def serve(pages: Pages) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer("")

        def do_POST(self) -> None:
            self.answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())

        def answer(self, body: str) -> None:
            path = self.path.partition("?")[0]
            pages.requests.append((self.command, self.path, body))
            if path in ("/__health__", "/__reset__"):
                self.send_response(200 if path == "/__health__" else 204)
                self.end_headers()
                return
            page = pages.pages.get(path)
            if callable(page):
                page(self)
                return
            data = (page or "<title>Missing</title>").encode("utf-8", "surrogatepass")
            self.send_response(404 if page is None else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = void  # type: ignore[method-assign,assignment]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    pages.url = f"http://127.0.0.1:{server.server_port}"
    return server


@pytest.fixture
def pages() -> Iterator[Pages]:
    served = Pages()
    server = serve(served)
    yield served
    served.release.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def other_pages() -> Iterator[Pages]:
    served = Pages()
    server = serve(served)
    yield served
    served.release.set()
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with Browser() as shared:
        yield shared


def task_on(path: str = "/", **fields: Any) -> Task:
    raw = {
        "sites": ["pages"],
        "task_id": 0,
        "intent": "Do what the test does.",
        "start_url": f"__PAGES__{path}",
        "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "done"}},
    } | fields
    return Task.read(raw, source=Path(__file__))


@dataclass
class Driver:
    """The environment with a shorthand for pages."""

    env: WebEnv
    pages: Pages

    def open(self, html: str, **fields: Any) -> Observation:
        self.pages.pages["/"] = html
        return self.env.reset(task_on(**fields))

    def id_of(self, name: str, role: str | None = None) -> int:
        observation = self.env._observation
        assert observation is not None
        for element in observation.elements:
            if element.name == name and role in (None, element.role):
                return element.id
        raise AssertionError(f"no {role or 'element'} {name!r} in:\n{observation.text}")


@pytest.fixture
def driver(browser: Browser, pages: Pages) -> Iterator[Driver]:
    limits = SettleLimits(navigation=3.0, still=0.5)
    with WebEnv(browser, SiteSet({"pages": pages.url}), limits=limits) as env:
        yield Driver(env, pages)
