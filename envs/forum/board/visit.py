"""One request as the forum's pages see it: who asks, what time it is, where to go back to."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from confkv_agents.web import sitekit

from .ranking import NOW
from .uploads import LARGEST_FILE

LARGEST_FORM = 96 * 1024
LARGEST_UPLOAD = LARGEST_FILE + LARGEST_FORM
_TICK = 60
Row = sqlite3.Row
Page = Callable[["Visit"], Response]


def iso(seconds: int) -> str:
    """A time as ISO 8601, such as `2026-06-15T12:00:00+00:00`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


class Visit(sitekit.Visit):
    """What a page function gets; it answers with `show`, `go` or an HTTPException."""

    cookie = "forum_session"
    user: Row | None = None

    def load(self) -> None:
        """Find out who is signed in."""
        if "user" in self.session:
            self.user = self.db.execute("SELECT * FROM user WHERE id = ?", (self.session["user"],)).fetchone()

    def common(self) -> dict[str, Any]:
        """Who is signed in, how many messages wait, and the present time."""
        unread = 0
        if self.me:
            unread = self.one("SELECT COUNT(*) FROM message WHERE receiver_id = ? AND NOT seen", self.me)[0]
        return {"user": self.user, "unread": unread, "now": self.now()}

    @property
    def me(self) -> int:
        """Id of the member who is signed in; 0 for a guest."""
        return int(self.user["id"]) if self.user is not None else 0

    @property
    def wants_json(self) -> bool:
        """Whether a script asks, which only wants the figures."""
        return "application/json" in self.request.headers.get("accept", "")

    def path(self, name: str) -> Any:
        """A parameter of the route."""
        return self.request.path_params[name]

    def now(self) -> int:
        """The forum's present, in seconds since 1970: it moves on only by what is written."""
        return NOW + int(self.one("SELECT ticks FROM clock")[0]) * _TICK

    def tick(self) -> int:
        """Move the clock on by a minute and return the new present."""
        self.db.execute("UPDATE clock SET ticks = ticks + 1")
        return self.now()

    def back(self, otherwise: str = "/", anchor: str = "") -> Response:
        """Return to the page that a form was sent from, if it is one of ours."""
        path = self.came_from()
        return self.go(path + (f"#{anchor}" if anchor else "") if path else otherwise)

    def came_from(self) -> str:
        """Path and query of the page that a form was sent from; empty if it is none of ours."""
        parts = urlsplit(self.request.headers.get("referer", ""))
        if parts.netloc != self.request.headers.get("host"):
            return ""
        return parts.path + (f"?{parts.query}" if parts.query else "")

    def sign_in(self, user_id: int) -> None:
        """Start a new session for a member."""
        after = self.session.get("after")
        self.session = {"user": user_id} | ({"after": after} if after else {})
        self.forget_id()

    def sign_out(self) -> None:
        """Forget everything of this session."""
        self.session = {}
        self.forget_id()


def endpoint(page: Page, largest: int = LARGEST_FORM) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    """Make a Starlette endpoint of a page function; forms sent from other sites' pages are refused."""
    serve = sitekit.endpoint(page, Visit, largest)

    async def guarded(request: Request) -> Response:
        origin = request.headers.get("origin")
        if request.method == "POST" and origin and urlsplit(origin).netloc != request.headers.get("host"):
            raise HTTPException(403)
        return await serve(request)

    return guarded


def member(page: Page) -> Page:
    """Send visitors who are not signed in to the sign-in form first."""

    def guarded(visit: Visit) -> Response:
        if visit.user is None:
            if visit.wants_json:
                return JSONResponse({"go": "/login"}, status_code=401)
            visit.session["after"] = visit.came_from() or "/" if visit.posted else visit.request.url.path
            visit.flash("Please log in to do that.", "notice")
            return visit.go("/login")
        return page(visit)

    return guarded
