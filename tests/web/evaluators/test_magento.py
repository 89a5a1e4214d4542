"""Orders and reviews asked of a server that answers as Magento's REST interface does."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from confkv_agents.errors import ConfigError, InfraError
from confkv_agents.web.evaluators import EvaluationInput, Means, ShopAccess
from confkv_agents.web.evaluators.calls import parse_call
from confkv_agents.web.evaluators.helpers import call_helper
from confkv_agents.web.evaluators.magento import Magento
from confkv_agents.web.sites import SiteSet
from confkv_agents.web.surroundings import Surroundings
from confkv_agents.web.tasks import Task
from tests.web.conftest import Pages

REVIEWS = [
    {"nickname": "Ada", "title": "Old", "detail": "was fine", "ratings": [{"rating_name": "Rating", "percent": 80}]},
    {"nickname": "Ben", "title": "New", "detail": "is bad", "ratings": [{"rating_name": "Rating", "percent": 20}]},
]


class Shop:
    """The parts of the interface that checks use; wants the token `secret`."""

    def __init__(self, pages: Pages) -> None:
        self.orders: list[dict[str, Any]] = [{"increment_id": "000000190"}]
        self.reviews: Any = REVIEWS
        self.asked: list[str] = []
        pages.pages |= {
            "/rest/default/V1/integration/admin/token": self._token,
            "/rest/V1/orders": self._orders,
            "/rest/V1/products/A%2F1/reviews": self._reviews,
            "/__health__": "",
        }

    def _token(self, handler: BaseHTTPRequestHandler) -> None:
        self._answer(handler, "secret", needs_token=False)

    def _orders(self, handler: BaseHTTPRequestHandler) -> None:
        wanted = parse_qs(urlsplit(handler.path).query)
        assert wanted["searchCriteria[sortOrders][0][direction]"] == ["DESC"]
        assert wanted["searchCriteria[sortOrders][0][field]"] == ["created_at"]
        self._answer(handler, {"items": self.orders})

    def _reviews(self, handler: BaseHTTPRequestHandler) -> None:
        self._answer(handler, self.reviews)

    def _answer(self, handler: BaseHTTPRequestHandler, content: Any, *, needs_token: bool = True) -> None:
        allowed = not needs_token or handler.headers["Authorization"] == "Bearer secret"
        data = json.dumps(content if allowed else {"message": "The consumer isn't authorized"}).encode()
        handler.send_response(200 if allowed else 401)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)


@pytest.fixture
def shop(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> Shop:
    for module in ("sites", "surroundings"):  # a real shop has no such page; the server of the tests answers it always
        monkeypatch.setattr(f"confkv_agents.web.{module}.is_healthy", lambda *_: False)
    return Shop(pages)


def ask(pages: Pages, call: str, access: ShopAccess | None = None) -> Any:
    given = EvaluationInput(
        sites=SiteSet({"shopping": pages.url}), means=Means(shop_access=access or ShopAccess("secret"))
    )
    return call_helper(parse_call(call), given)


def test_the_newest_order_is_found_by_its_number(pages: Pages, shop: Shop) -> None:
    assert ask(pages, "shopping_get_latest_order_url()") == f"{pages.url}/sales/order/view/order_id/190/"
    shop.orders = []
    assert ask(pages, "shopping_get_latest_order_url()") == ""


def test_reviews_come_oldest_first_and_the_last_counts(pages: Pages, shop: Shop) -> None:
    values = {
        part: ask(pages, f"shopping_get_sku_latest_review_{part}('A/1')")
        for part in ("author", "rating", "text", "title")
    }
    assert values == {"author": "Ben", "rating": "20", "text": "is bad", "title": "New"}
    shop.reviews = []
    assert ask(pages, "shopping_get_sku_latest_review_author('A/1')") == ""


def test_a_token_is_asked_for_by_name_and_password_once(pages: Pages, shop: Shop) -> None:
    magento = Magento(pages.url + "/", ShopAccess(user="admin", password="admin1234"))
    assert magento.latest_order_url().endswith("/190/") and magento.latest_review("A/1", "author") == "Ben"
    told = [body for method, path, body in pages.requests if method == "POST"]
    assert [json.loads(body) for body in told] == [{"username": "admin", "password": "admin1234"}]


def test_no_message_and_no_representation_tells_the_token(pages: Pages, shop: Shop) -> None:
    access = ShopAccess("hidden-token", "admin", "hidden-pass")
    with pytest.raises(InfraError, match="answered 401") as caught:
        ask(pages, "shopping_get_latest_order_url()", access)
    assert "hidden" not in str(caught.value) + repr(access) + repr(Means(shop_access=access))


def test_an_answer_of_another_form_is_an_infra_error(pages: Pages, shop: Shop) -> None:
    shop.orders = [{"id": 1}]
    with pytest.raises(InfraError, match="unknown form"):
        ask(pages, "shopping_get_latest_order_url()")
    shop.reviews = [{"nickname": "x"}]
    with pytest.raises(InfraError, match="the reviews of A/1 have an unknown form"):
        ask(pages, "shopping_get_sku_latest_review_rating('A/1')")


def order_task() -> Task:
    target = {
        "url": "func:shopping_get_latest_order_url()",
        "locator": "",
        "required_contents": {"must_include": ["x"]},
    }
    raw = {
        "sites": ["shopping"],
        "intent": "x",
        "start_url": "__SHOPPING__",
        "eval": {"eval_types": ["program_html"], "program_html": [target]},
    }
    return Task.read(raw, source=Path("task.json"))


def test_a_shop_by_address_needs_access_and_one_of_ours_none(pages: Pages, shop: Shop) -> None:
    given = {"shopping": pages.url}
    (reason,) = Surroundings.of(given).unmet(order_task())
    assert reason.startswith("magento-api: ") and "CONFKV_SHOP_TOKEN" in reason
    assert Surroundings.of(given, Means(shop_access=ShopAccess("secret"))).unmet(order_task()) == []
    assert Surroundings.of({}).unmet(order_task()) == []


@pytest.mark.parametrize("access", [{}, {"token": " "}, {"user": "admin"}, {"password": "x"}, {"token": "a\nb"}])
def test_what_gives_no_access_is_refused(access: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        ShopAccess(**access)
