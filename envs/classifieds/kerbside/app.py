"""Puts Kerbside together: addresses, pictures, pages for errors, and the doors for tests."""

import functools
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.templating import Jinja2Templates
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from confkv_agents.web.sitekit import door_routes, endpoint

from . import pages_account as account
from . import pages_browse as browse
from . import pages_deal as deal
from . import pages_post as post
from .database import open_database
from .prices import amount, price
from .state import read_state
from .uploads import LARGEST_FILE, MOST_PHOTOS
from .visit import Page, Visit

_HERE = Path(__file__).resolve().parent
_LARGEST_UPLOAD = MOST_PHOTOS * LARGEST_FILE + 64 * 1024
_ERRORS = {
    400: ("Bad request", "We could not read what your browser sent."),
    404: ("Page not found", "This page or listing does not exist, or its owner has taken it down."),
    405: ("This does not work here", "The page cannot be used in this way."),
    413: ("Too large", "What you sent is larger than we can take. A photo may have 5 MB, a text 64 KB."),
    500: ("Something went wrong", "This is our fault, not yours. Please try again."),
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'self'; form-action 'self'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
# (page, action) of the address: page function, and whether it takes a form.
_PAGES: dict[tuple[str, str], tuple[Page, bool]] = {
    ("", ""): (browse.home, False),
    ("search", ""): (browse.search, False),
    ("item", ""): (browse.item, False),
    ("item", "photo"): (browse.photo_page, False),
    ("wanted", ""): (browse.wanted, False),
    ("rules", ""): (browse.rules, False),
    ("tips", ""): (browse.tips, False),
    ("user", "pub_profile"): (browse.profile, False),
    ("item", "add_comment"): (deal.add_comment, True),
    ("item", "contact"): (deal.contact, True),
    ("item", "report"): (deal.report, True),
    ("item", "mark"): (deal.mark, True),
    ("item", "item_add"): (post.choose_category, True),
    ("item", "item_details"): (post.details, True),
    ("item", "item_photos"): (post.photos, True),
    ("item", "item_check"): (post.check_draft, True),
    ("item", "item_edit"): (post.edit, True),
    ("item", "item_delete"): (post.delete, True),
    ("login", ""): (account.sign_in, True),
    ("register", "register"): (account.register, True),
    ("main", "logout"): (account.sign_out, True),
    ("user", "dashboard"): (account.items, False),
    ("user", "items"): (account.items, False),
    ("user", "profile"): (account.edit_profile, True),
    ("user", "favourites"): (account.favourites, False),
    ("user", "messages"): (account.inbox, False),
    ("user", "message"): (account.message, True),
}
_ONLY_POST = {("item", "add_comment"), ("item", "mark"), ("item", "item_delete"), ("main", "logout")}
_UPLOADS = {("item", "item_photos")}


class _Guarded:
    """Adds headers that keep pages from loading anything foreign and from being framed elsewhere."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self.app(scope, receive, guarded if scope["type"] == "http" else send)


def day(text: str) -> str:
    """A date as pages write it: June 3, 2026."""
    when = date.fromisoformat(text)
    return f"{when:%B} {when.day}, {when.year}"


@functools.cache
def _templates() -> Jinja2Templates:
    templates = Jinja2Templates(directory=_HERE / "templates")
    templates.env.filters.update(price=price, amount=amount, day=day)
    templates.env.trim_blocks = True
    templates.env.lstrip_blocks = True
    return templates


async def _dispatch(request: Request) -> Response:
    """Find the page that the address names; all of them lie under one path, as OSClass has it."""
    name = (request.query_params.get("page", ""), request.query_params.get("action", ""))
    if name not in _PAGES:
        raise HTTPException(404)
    page, takes_form = _PAGES[name]
    if (request.method == "POST" and not takes_form) or (request.method != "POST" and name in _ONLY_POST):
        raise HTTPException(405)
    largest = _LARGEST_UPLOAD if name in _UPLOADS else 64 * 1024
    return await endpoint(page, Visit, largest)(request)


async def _http_error(request: Request, error: Exception) -> Response:
    return _error_page(request, error.status_code if isinstance(error, HTTPException) else 500)


async def _crash(request: Request, _: Exception) -> Response:
    return _error_page(request, 500)


def _error_page(request: Request, status: int) -> Response:
    title, text = _ERRORS.get(status, _ERRORS[500])
    with request.app.state.database.transaction() as db:
        return Visit(request, db).show("error.html", status, number=status, title=title, text=text)


def create_app(database: Path, seed: int) -> Starlette:
    """Make the site.

    Args:
        database: the SQLite file to use; whatever it holds is replaced by the seeded state.
        seed: which people, listings, comments and messages to begin with.

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
            Route("/", _dispatch, methods=["GET", "POST"]),
            Route("/index.php", _dispatch, methods=["GET", "POST"]),
            Route("/photo/{photo:int}.webp", browse.picture),
            Route("/icon/{name}.webp", browse.icon),
            Mount("/static", StaticFiles(directory=_HERE / "static"), name="static"),
        ],
        exception_handlers={HTTPException: _http_error, 500: _crash},
        middleware=[Middleware(_Guarded)],
        lifespan=lifespan,
    )
    app.state.database = store
    app.state.secret = secrets.token_bytes(32)
    app.state.templates = _templates()
    return app
