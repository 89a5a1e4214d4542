"""Puts the shop together: routes, pages for errors, and the doors for tests (`/__reset__`, `/__state__`)."""

import functools
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.templating import Jinja2Templates

from confkv_agents.web.sitekit import door_routes, endpoint

from . import pages_account as account
from . import pages_cart as cart
from . import pages_checkout as buy
from . import pages_help as more
from . import pages_shelves as shelves
from .database import open_database
from .pictures import render
from .state import read_state
from .visit import Page, Visit

_HERE = Path(__file__).resolve().parent
_ERRORS = {
    400: ("Bad request", "We could not read what your browser sent."),
    404: ("Page not found", "We looked everywhere, but this page is not in our shop."),
    405: ("This does not work here", "The page cannot be used in this way."),
    413: ("Too long", "What you sent is longer than we can take."),
    500: ("Something went wrong", "This is our fault, not yours. Please try again."),
}


def money(cents: int) -> str:
    """Dollars as the shop writes them: $34, or $34.99."""
    sign, cents = ("-", -cents) if cents < 0 else ("", cents)
    dollars, rest = divmod(cents, 100)
    return f"{sign}${dollars:,}" + (f".{rest:02d}" if rest else "")


def _templates() -> Jinja2Templates:
    templates = Jinja2Templates(directory=_HERE / "templates")
    templates.env.filters["money"] = money
    templates.env.trim_blocks = True
    templates.env.lstrip_blocks = True
    return templates


async def _http_error(request: Request, error: Exception) -> Response:
    return _error_page(request, error.status_code if isinstance(error, HTTPException) else 500)


async def _crash(request: Request, _: Exception) -> Response:
    return _error_page(request, 500)


def _error_page(request: Request, status: int) -> Response:
    title, text = _ERRORS.get(status, _ERRORS[500])
    with request.app.state.database.transaction() as db:
        visit = Visit(request, db)
        return visit.show("error.html", status, title=title, text=text)


def _route(path: str, page: Page, *methods: str) -> Route:
    return Route(path, endpoint(page, Visit), methods=list(methods) or ["GET"])


_ROUTES: tuple[tuple[Any, ...], ...] = (
    ("/", shelves.home),
    ("/catalogsearch/result/", shelves.search_page),
    ("/catalog/product_compare/", shelves.compare),
    ("/catalog/product_compare/change/", shelves.compare_change, "POST"),
    ("/reviews/{slug}/", shelves.reviews_page),
    ("/reviews/{slug}/write/", shelves.write_review, "GET", "POST"),
    ("/checkout/cart/", cart.show_cart),
    ("/checkout/cart/add/", cart.add, "POST"),
    ("/checkout/cart/update/", cart.update, "POST"),
    ("/checkout/cart/remove/", cart.remove, "POST"),
    ("/checkout/cart/coupon/", cart.coupon, "POST"),
    ("/checkout/", buy.checkout),
    ("/checkout/shipping/", buy.save_shipping, "POST"),
    ("/checkout/order/", buy.place_order, "POST"),
    ("/checkout/onepage/success/", buy.success),
    ("/customer/account/", account.dashboard),
    ("/customer/account/login/", account.sign_in, "GET", "POST"),
    ("/customer/account/create/", account.register, "GET", "POST"),
    ("/customer/account/logout/", account.sign_out, "POST"),
    ("/customer/account/edit/", account.edit_profile, "GET", "POST"),
    ("/customer/address/", account.addresses),
    ("/customer/address/new/", account.edit_address, "GET", "POST"),
    ("/customer/address/edit/id/{address_id:int}/", account.edit_address, "GET", "POST"),
    ("/customer/address/delete/id/{address_id:int}/", account.delete_address, "POST"),
    ("/sales/order/history/", account.orders),
    ("/sales/order/view/order_id/{order_id:int}/", account.order),
    ("/wishlist/", account.wish_list),
    ("/wishlist/change/", account.wish_change, "POST"),
    ("/offers/", more.offers),
    ("/offers/{slug}/", more.offer),
    ("/gift-registry/", more.registries),
    ("/gift-registry/{slug}/", more.registry),
    ("/size-guide/", more.size_guide),
    ("/delivery/", more.delivery),
    ("/contact/", more.contact, "GET", "POST"),
    ("/{slug}.html", shelves.by_slug),
)


def create_app(database: Path, seed: int) -> Starlette:
    """Make the shop.

    Args:
        database: the SQLite file to use; whatever it holds is replaced by the seeded state.
        seed: which catalogue, people, orders and offers to begin with.

    Returns:
        A Starlette application that shares nothing with other applications made here.
    """
    store = open_database(database, seed)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        store.close()

    app = Starlette(
        routes=[
            *door_routes(read_state),
            Route("/media/{slug}.webp", shelves.picture),
            Mount("/static", StaticFiles(directory=_HERE / "static"), name="static"),
            *(_route(path, page, *methods) for path, page, *methods in _ROUTES),
        ],
        exception_handlers={HTTPException: _http_error, 500: _crash},
        lifespan=lifespan,
    )
    app.state.database = store
    app.state.secret = secrets.token_bytes(32)
    app.state.templates = _templates()
    app.state.draw = functools.lru_cache(maxsize=400)(render)
    return app
