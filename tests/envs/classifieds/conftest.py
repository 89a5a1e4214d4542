from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from PIL import Image
from starlette.testclient import TestClient

from confkv_agents import plugins

SEED = 7


def address(page: str, action: str = "", **parameters: Any) -> str:
    given = {"page": page, "action": action, **parameters}
    return "/index.php?" + "&".join(f"{key}={value}" for key, value in given.items() if value != "")


def photo(size: tuple[int, int] = (400, 300), kind: str = "PNG", colour: str = "teal") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, kind)
    return out.getvalue()


class Neighbour:
    """A visitor with cookies, and the few things that tests do again and again."""

    def __init__(self, app: Any) -> None:
        self.client = TestClient(app)

    def get(self, page: str = "", action: str = "", **parameters: Any) -> str:
        path = address(page, action, **parameters) if page else "/"
        answer = self.client.get(path)
        assert answer.status_code == 200, f"{path}: {answer.status_code}"
        return answer.text

    def post(self, page: str, action: str = "", form: dict[str, str] | None = None, **parameters: Any) -> str:
        """Send a form and follow to the page it leads to."""
        path = address(page, action, **parameters)
        answer = self.client.post(path, data=form or {})
        assert answer.status_code == 200, f"{path}: {answer.status_code}"
        return answer.text

    def upload(self, listing: int, *files: tuple[str, bytes]) -> Any:
        sent = [("photos", (name, data, "image/png")) for name, data in files]
        return self.client.post(address("item", "item_photos", id=listing), files=sent)

    def state(self) -> dict[str, Any]:
        return dict(self.client.get("/__state__").json())

    def listing(self, **facts: Any) -> dict[str, Any]:
        """The first listing of which all of this holds."""
        return next(item for item in self.state()["listings"] if facts.items() <= {**item, **item["facts"]}.items())

    def sign_in(self, email: str = "lena.marsh@kerbside.test", password: str = "Password.123") -> str:
        return self.post("login", form={"email": email, "password": password})

    def draft(self, category: int = 7, **details: str) -> int:
        """Post a listing up to its photos and return its number."""
        answer = self.client.post(address("item", "item_add"), data={"catId": str(category)})
        number = int(str(answer.url).rpartition("id=")[2])
        form = {"title": "Lamp from the attic", "description": "It gives a warm light.", "price": "12.50",
                "cityId": "Ashcombe", "spot": ""} | details  # fmt: skip
        self.post("item", "item_details", form, id=number)
        return number


@pytest.fixture(scope="session")
def site() -> ModuleType:
    """The site's module, loaded the way the environment loads it."""
    return plugins.load_module(plugins.find_env("classifieds"), "envs.classifieds")


@pytest.fixture(scope="session")
def part(site: ModuleType) -> Callable[[str], ModuleType]:
    """A module of the site's private package."""
    return lambda name: importlib.import_module(f"{site.__name__}.kerbside.{name}")


@pytest.fixture(scope="session")
def running(site: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    made = site.create_app(tmp_path_factory.mktemp("site") / "classifieds.sqlite", SEED)
    yield made
    made.state.database.close()


@pytest.fixture
def app(running: Any) -> Any:
    """The application in its seeded state."""
    running.state.database.reset(SEED)
    return running


@pytest.fixture
def guest(app: Any) -> Neighbour:
    return Neighbour(app)


@pytest.fixture
def lena(app: Any) -> Neighbour:
    """The demo user, signed in."""
    neighbour = Neighbour(app)
    neighbour.sign_in()
    return neighbour
