from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from starlette.testclient import TestClient

from confkv_agents import plugins

SEED = 7


class Shopper:
    """A visitor with cookies, and the few things that tests do again and again."""

    def __init__(self, app: Any) -> None:
        self.client = TestClient(app)

    def get(self, path: str) -> str:
        answer = self.client.get(path)
        assert answer.status_code == 200, f"{path}: {answer.status_code}"
        return answer.text

    def post(self, path: str, **form: str) -> str:
        """Send a form and follow to the page it leads to."""
        answer = self.client.post(path, data={key.rstrip("_"): value for key, value in form.items()})
        assert answer.status_code == 200, f"{path}: {answer.status_code}"
        return answer.text

    def state(self) -> dict[str, Any]:
        return dict(json.loads(self.client.get("/__state__").text))

    def add(self, slug: str, qty: str = "1", **more: str) -> str:
        return self.post("/checkout/cart/add/", product=slug, qty=qty, **more)

    def sign_in(self, email: str = "emma.lopez@shop.test", password: str = "Password.123") -> str:
        return self.post("/customer/account/login/", email=email, password=password)


@pytest.fixture(scope="session")
def site() -> ModuleType:
    """The site's module, loaded the way the environment loads it."""
    return plugins.load_module(plugins.find_env("shop"), "envs.shop")


@pytest.fixture(scope="session")
def part(site: ModuleType) -> Callable[[str], ModuleType]:
    """A module of the site's private package."""
    return lambda name: importlib.import_module(f"{site.__name__}.store.{name}")


@pytest.fixture
def shop(site: ModuleType, tmp_path: Path) -> Iterator[Shopper]:
    app = site.create_app(tmp_path / "shop.sqlite", SEED)
    yield Shopper(app)
    app.state.database.close()


@pytest.fixture
def rows(shop: Shopper) -> Callable[..., list[Any]]:
    """Query the shop's database."""

    def query(sql: str, *values: Any) -> list[Any]:
        with shop.client.app.state.database.transaction() as db:  # type: ignore[attr-defined]
            return list(db.execute(sql, values).fetchall())

    return query
