"""Puts the forum together: routes, pages for errors, headers, and the doors for tests (`/__reset__`, `/__state__`)."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

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

from confkv_agents.web.sitekit import door_routes

from . import pages_lists as lists
from . import pages_post as post
from . import pages_user as people
from . import pages_write as write
from .database import open_database
from .markdown import to_html, to_plain
from .state import read_state
from .visit import LARGEST_FORM, LARGEST_UPLOAD, Page, Visit, endpoint, iso

_HERE = Path(__file__).resolve().parent
_ERRORS = {
    400: ("Bad request", "We could not read what your browser sent."),
    403: ("Not allowed", "This is not yours to change."),
    404: ("Page not found", "There is nothing here. It may have been deleted."),
    405: ("This does not work here", "The page cannot be used in this way."),
    413: ("Too large", "What you sent is larger than we can take. Pictures may have 5 MB."),
    500: ("Something went wrong", "This is our fault, not yours. Please try again."),
}
# Nothing comes from elsewhere, and nothing that a member writes can run.
_POLICY = (
    "default-src 'self'; img-src 'self'; style-src 'self'; script-src 'self'; object-src 'none'; base-uri 'none';"
    " form-action 'self'; frame-src 'self'; frame-ancestors 'self'"
)


class SafeHeaders:
    """Adds the headers that forbid foreign scripts, frames and guesses about types."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("Content-Security-Policy", _POLICY)
                headers.setdefault("X-Content-Type-Options", "nosniff")
                headers.setdefault("Referrer-Policy", "same-origin")
            await send(message)

        await self._app(scope, receive, send_with_headers)


def ago(then: int, now: int) -> str:
    """A time in words, such as `3 hours ago`; a date when it is more than 30 days."""
    seconds = max(0, now - then)
    if seconds < 60:
        return "just now"
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            if unit == "day" and count > 30:
                break
            return f"{count} {unit}{'s' if count != 1 else ''} ago"
    return f"on {datetime.fromtimestamp(then, UTC):%-d %B %Y}"


def _templates() -> Jinja2Templates:
    templates = Jinja2Templates(directory=_HERE / "templates")
    templates.env.filters |= {"markdown": to_html, "plain": to_plain, "iso": iso}
    templates.env.globals["ago"] = ago
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
        visit = Visit(request, db, {})
        return visit.show("error.html", status, title=title, text=text)


def _route(path: str, page: Page, *methods: str) -> Route:
    largest = LARGEST_UPLOAD if page is write.submit else LARGEST_FORM
    return Route(path, endpoint(page, largest), methods=list(methods) or ["GET"])


_BOTH = ("GET", "POST")
_POST = "/f/{forum}/{post_id:int}"
_ROUTES: tuple[tuple[Any, ...], ...] = (
    ("/", lists.front),
    ("/search", lists.search),
    ("/forums", lists.forum_list),
    ("/forums/{order}", lists.forum_list),
    ("/create_forum", write.create_forum, *_BOTH),
    ("/submit", write.submit, *_BOTH),
    ("/submit/{forum}", write.submit, *_BOTH),
    ("/login", people.log_in, *_BOTH),
    ("/registration", people.register, *_BOTH),
    ("/log_out", people.log_out, "POST"),
    ("/messages", people.inbox),
    ("/messages/thread/{thread_id:int}", people.thread, *_BOTH),
    ("/sv/{thing_id:int}", post.vote_post, "POST"),
    ("/cv/{thing_id:int}", post.vote_comment, "POST"),
    ("/save/{post_id:int}", write.save, "POST"),
    ("/hide/{post_id:int}", write.hide, "POST"),
    ("/report/{thing}/{thing_id:int}", write.report, *_BOTH),
    ("/polls/{poll_id:int}", post.poll, *_BOTH),
    ("/picture/{post_id:int}", post.lightbox),
    ("/saved_copy/{post_id:int}", post.article),
    ("/user/{name}", people.user_page),
    ("/user/{name}/edit_biography", people.edit_biography, *_BOTH),
    ("/user/{name}/account", people.account, *_BOTH),
    ("/user/{name}/block_list", people.block_list),
    ("/user/{name}/block_user", people.block, "POST"),
    ("/user/{name}/compose_message", people.compose, *_BOTH),
    ("/f/{forum}", lists.forum_page),
    ("/f/{forum}/edit", write.edit_forum, *_BOTH),
    ("/f/{forum}/subscribe", write.subscribe, "POST"),
    (f"{_POST}/-/edit", write.edit_post, *_BOTH),
    (f"{_POST}/-/delete", write.delete_post, "POST"),
    (f"{_POST}/-/comment", post.comment, "POST"),
    (f"{_POST}/-/comment/{{comment_id:int}}", post.show_post),
    (f"{_POST}/-/comment/{{comment_id:int}}/edit", post.edit_comment, *_BOTH),
    (f"{_POST}/-/comment/{{comment_id:int}}/delete", post.delete_comment, "POST"),
    (_POST, post.show_post),
    (f"{_POST}/{{slug}}", post.show_post),
    ("/f/{forum}/{sort}", lists.forum_page),
    ("/{post_id:int}", lists.shortcut),
    ("/{first}", lists.front),
    ("/{first}/{second}", lists.front),
)


def _special(path: str, page: Page, **fixed: str) -> Route:
    """A route with parameters that its path does not hold."""

    def with_parameters(visit: Visit) -> Response:
        visit.request.path_params.update(fixed)
        return page(visit)

    return Route(path, endpoint(with_parameters), methods=["GET"])


def create_app(database: Path, seed: int) -> Starlette:
    """Make the forum.

    Args:
        database: the SQLite file to use; whatever it holds is replaced by the seeded state.
        seed: which posts, comments and pictures to begin with; those that name goods fit the shop of this seed.

    Returns:
        A Starlette application that shares nothing with other applications made here.
    """
    board = open_database(database, seed)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        board.close()

    app = Starlette(
        routes=[
            *door_routes(read_state),
            Route("/submission_images/{name}.webp", post.picture),
            Route("/submission_images/{small}/{name}.webp", post.picture),
            Mount("/static", StaticFiles(directory=_HERE / "static"), name="static"),
            *(_special(f"/user/{{name}}/{what}", people.user_page, what=what) for what in ("submissions", "comments")),
            *(_special(f"/user/{{name}}/{what}", people.kept, kept=what) for what in ("saved", "hidden")),
            *(_route(path, page, *methods) for path, page, *methods in _ROUTES),
        ],
        middleware=[Middleware(SafeHeaders)],
        exception_handlers={HTTPException: _http_error, 500: _crash},
        lifespan=lifespan,
    )
    app.state.database = board
    app.state.secret = secrets.token_bytes(32)
    app.state.templates = _templates()
    return app
