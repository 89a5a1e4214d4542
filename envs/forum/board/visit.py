"""One request as a page sees it: the database, the visitor's session, the form, and how to answer."""

import hashlib
import hmac
import json
import secrets
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import FormParser, MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from .ranking import NOW
from .uploads import LARGEST_FILE

COOKIE = "forum_session"
_LARGEST_FORM = 96 * 1024
_LARGEST_UPLOAD = LARGEST_FILE + _LARGEST_FORM
_FIELDS = 40
_TICK = 60
Row = sqlite3.Row
Page = Callable[["Visit"], Response]
_P = TypeVar("_P", bound=Page)


def sign(secret: bytes, value: str) -> str:
    """Return `value.signature`."""
    return f"{value}.{hmac.new(secret, value.encode(), hashlib.sha256).hexdigest()[:32]}"


def unsign(secret: bytes, signed: str) -> str | None:
    """Return the value that `sign` was given, or None if the signature is not ours."""
    value, _, _ = signed.rpartition(".")
    return value if value and hmac.compare_digest(sign(secret, value).encode(), signed.encode()) else None


def iso(seconds: int) -> str:
    """A time as ISO 8601, such as `2026-06-15T12:00:00+00:00`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()


class Visit:
    """What a page function gets; it answers with `show`, `go` or an HTTPException."""

    def __init__(
        self, request: Request, db: sqlite3.Connection, form: dict[str, str], file: bytes | None = None
    ) -> None:
        self.request = request
        self.db = db
        self.form = form
        self.file = file
        self.query = dict(request.query_params)
        self._session_id = unsign(request.app.state.secret, request.cookies.get(COOKIE, ""))
        self.session: dict[str, Any] = {}
        if self._session_id is not None:
            row = db.execute("SELECT data FROM session WHERE id = ?", (self._session_id,)).fetchone()
            self.session = json.loads(row["data"]) if row else {}
        self._before = json.dumps(self.session)
        self.user: Row | None = None
        if "user" in self.session:
            self.user = db.execute("SELECT * FROM user WHERE id = ?", (self.session["user"],)).fetchone()

    @property
    def me(self) -> int:
        """Id of the member who is signed in; 0 for a guest."""
        return int(self.user["id"]) if self.user is not None else 0

    @property
    def posted(self) -> bool:
        """Whether a form was sent."""
        return self.request.method == "POST"

    @property
    def wants_json(self) -> bool:
        """Whether a script asks, which only wants the figures."""
        return "application/json" in self.request.headers.get("accept", "")

    def path(self, name: str) -> Any:
        """A parameter of the route."""
        return self.request.path_params[name]

    def now(self) -> int:
        """The forum's present, in seconds since 1970: it moves on only by what is written."""
        ticks: int = self.db.execute("SELECT ticks FROM clock").fetchone()[0]
        return NOW + ticks * _TICK

    def tick(self) -> int:
        """Move the clock on by a minute and return the new present."""
        self.db.execute("UPDATE clock SET ticks = ticks + 1")
        return self.now()

    def flash(self, text: str, kind: str = "success") -> None:
        """Show a message (kind: success, error or notice) at the top of the next page."""
        self.session.setdefault("flash", []).append([kind, text])

    def show(self, template: str, status: int = 200, **context: Any) -> Response:
        """Answer with a page."""
        unread = 0
        if self.me:
            counted = self.db.execute("SELECT COUNT(*) FROM message WHERE receiver_id = ? AND NOT seen", (self.me,))
            unread = counted.fetchone()[0]
        shown = {
            "visit": self,
            "user": self.user,
            "unread": unread,
            "messages": self.session.pop("flash", []),
            "now": self.now(),
        }
        return self.request.app.state.templates.TemplateResponse(
            self.request, template, shown | context, status_code=status
        )

    def go(self, path: str) -> Response:
        """Answer with a redirect to a path of this site; anything else leads home."""
        local = path.startswith("/") and not path.startswith(("//", "/\\"))
        return RedirectResponse(path if local else "/", status_code=303)

    def back(self, otherwise: str = "/", anchor: str = "") -> Response:
        """Return to the page that a form was sent from, if it is one of ours."""
        parts = urlsplit(self.request.headers.get("referer", ""))
        if parts.netloc != self.request.headers.get("host") or not parts.path:
            return self.go(otherwise)
        return self.go(parts.path + (f"?{parts.query}" if parts.query else "") + (f"#{anchor}" if anchor else ""))

    def json(self, **values: Any) -> Response:
        """Answer a script."""
        return JSONResponse(values)

    def all(self, sql: str, *values: Any) -> list[Row]:
        """The rows of a query."""
        return self.db.execute(sql, values).fetchall()

    def one(self, sql: str, *values: Any) -> Row:
        """The one row of a query; the visitor gets "not found" if there is none."""
        row: Row | None = self.db.execute(sql, values).fetchone()
        if row is None:
            raise HTTPException(404)
        return row

    def sign_in(self, user_id: int) -> None:
        """Start a new session for a member."""
        after = self.session.get("after")
        self.session = {"user": user_id} | ({"after": after} if after else {})
        self._forget_id()

    def sign_out(self) -> None:
        """Forget everything of this session."""
        self.session = {}
        self._forget_id()

    def _forget_id(self) -> None:
        self.db.execute("DELETE FROM session WHERE id = ?", (self._session_id,))
        self._session_id = None
        self._before = ""

    def save(self, response: Response) -> None:
        """Store the session if it changed, and send its cookie."""
        data = json.dumps(self.session)
        if data == self._before or (not self.session and self._session_id is None):
            return
        if self._session_id is None:
            self._session_id = secrets.token_urlsafe(16)
        self.db.execute("INSERT OR REPLACE INTO session VALUES (?, ?)", (self._session_id, data))
        signed = sign(self.request.app.state.secret, self._session_id)
        response.set_cookie(COOKIE, signed, httponly=True, samesite="lax", path="/")


async def _bounded(request: Request, most: int) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > most:
            raise HTTPException(413)
        yield chunk


async def _read_form(request: Request) -> tuple[dict[str, str], bytes | None]:
    """The fields of a form, last value of each name, and the one file it may carry."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    declared = request.headers.get("content-length", "0")
    most = _LARGEST_UPLOAD if kind == "multipart/form-data" else _LARGEST_FORM
    if not declared.isdigit() or int(declared) > most:
        raise HTTPException(413 if declared.isdigit() else 400)
    data: FormData
    try:
        if kind == "multipart/form-data":
            parser = MultiPartParser(
                request.headers,
                _bounded(request, most),  # type: ignore[arg-type]
                max_files=1,
                max_fields=_FIELDS,
                max_part_size=_LARGEST_FORM,
            )
            data = await parser.parse()
        else:
            data = await FormParser(request.headers, _bounded(request, most)).parse()  # type: ignore[arg-type]
    except (MultiPartException, ValueError, KeyError) as error:
        raise HTTPException(400) from error
    if len(data.multi_items()) > _FIELDS:
        raise HTTPException(400)
    fields: dict[str, str] = {}
    file: bytes | None = None
    for name, value in data.multi_items():
        if isinstance(value, UploadFile):
            file = await value.read() or None
        else:
            fields[name] = value.strip()
    await data.close()
    return fields, file


def endpoint(page: Page) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    """Make a Starlette endpoint of a page function: one transaction, session loaded and saved around it."""

    async def serve(request: Request) -> Response:
        form: dict[str, str] = {}
        file: bytes | None = None
        if request.method == "POST":
            origin = request.headers.get("origin")
            if origin and urlsplit(origin).netloc != request.headers.get("host"):
                raise HTTPException(403)  # another page than ours has sent the form
            form, file = await _read_form(request)
        with request.app.state.database.transaction() as db:
            visit = Visit(request, db, form, file)
            response = page(visit)
            visit.save(response)
        # Going back must show the present votes, yet a form that was refused cannot be asked for again.
        response.headers["Cache-Control"] = "no-cache" if visit.posted else "no-store"
        return response

    return serve


def member(page: _P) -> Page:
    """Send visitors who are not signed in to the sign-in form first."""

    def guarded(visit: Visit) -> Response:
        if visit.user is None:
            if visit.wants_json:
                return JSONResponse({"go": "/login"}, status_code=401)
            visit.session["after"] = visit.request.url.path if not visit.posted else _referring_path(visit)
            visit.flash("Please log in to do that.", "notice")
            return visit.go("/login")
        return page(visit)

    return guarded


def _referring_path(visit: Visit) -> str:
    parts = urlsplit(visit.request.headers.get("referer", ""))
    return parts.path if parts.netloc == visit.request.headers.get("host") else "/"
