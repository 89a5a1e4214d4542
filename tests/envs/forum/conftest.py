from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from starlette.testclient import TestClient

from confkv_agents import plugins

SEED = 7
PASSWORD = "Password.123"


class Member:
    """A visitor with cookies, and the few things that tests do again and again."""

    def __init__(self, app: Any) -> None:
        self.client = TestClient(app)

    def get(self, path: str, status: int = 200) -> str:
        answer = self.client.get(path)
        assert answer.status_code == status, f"{path}: {answer.status_code}"
        return answer.text

    def post(self, path: str, status: int = 200, files: Any = None, **form: Any) -> str:
        """Send a form and follow to the page it leads to."""
        answer = self.client.post(path, data=form, files=files)
        assert answer.status_code == status, f"{path}: {answer.status_code}"
        return answer.text

    def state(self) -> dict[str, Any]:
        return dict(json.loads(self.client.get("/__state__").text))

    def log_in(self, name: str = "wren_hollis", password: str = PASSWORD) -> Member:
        self.post("/login", _username=name, _password=password)
        return self

    def submit(self, title: str = "A title", forum: str = "birds", kind: str = "text", **more: Any) -> str:
        return self.post("/submit", title=title, forum=forum, kind=kind, **more)

    def newest(self) -> dict[str, Any]:
        return dict(max(self.state()["posts"], key=lambda post: post["id"]))


def titles(page: str) -> list[str]:
    """The titles of the posts that a page lists, in order."""
    found = re.findall(r'<h2 class="submission__title"><a class="submission__link"[^>]*>(.*?)</a>', page)
    return [title.replace("&#39;", "'").replace("&#34;", '"') for title in found]


@pytest.fixture(scope="session")
def site() -> ModuleType:
    """The site's module, loaded the way the environment loads it."""
    return plugins.load_module(plugins.find_env("forum"), "envs.forum")


@pytest.fixture(scope="session")
def part(site: ModuleType) -> Callable[[str], ModuleType]:
    """A module of the site's private package."""
    return lambda name: importlib.import_module(f"{site.__name__}.board.{name}")


@pytest.fixture(scope="module")
def app(site: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    made = site.create_app(tmp_path_factory.mktemp("forum") / "forum.sqlite", SEED)
    yield made
    made.state.database.close()


@pytest.fixture
def guest(app: Any) -> Member:
    app.state.database.reset(SEED)
    return Member(app)


@pytest.fixture
def wren(guest: Member) -> Member:
    return guest.log_in()


@pytest.fixture
def rows(app: Any) -> Callable[..., list[Any]]:
    """Query the forum's database."""

    def query(sql: str, *values: Any) -> list[Any]:
        with app.state.database.transaction() as db:
            return list(db.execute(sql, values).fetchall())

    return query


@pytest.fixture
def picture_file() -> bytes:
    import io

    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (90, 60), (20, 160, 60)).save(out, "PNG")
    return out.getvalue()


def path_of(folder: str) -> Path:
    return plugins.find_env("forum") / folder
