"""One request as a page sees it: the database, the visitor's session, the form, and how to answer."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar
from urllib.parse import parse_qs

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

LARGEST_FORM = 64 * 1024
_DRAINED = 64 * 1024 * 1024
_V = TypeVar("_V", bound="Visit")
Page = Callable[[_V], Response]


def sign(secret: bytes, value: str) -> str:
    """Return `value.signature`."""
    return f"{value}.{hmac.new(secret, value.encode(), hashlib.sha256).hexdigest()[:32]}"


def unsign(secret: bytes, signed: str) -> str | None:
    """Return the value that `sign` was given, or None if the signature is not ours."""
    value, _, _ = signed.rpartition(".")
    return value if value and hmac.compare_digest(sign(secret, value).encode(), signed.encode()) else None


@dataclass(frozen=True)
class Upload:
    """A file that came with a form. Its name is the visitor's and must not become a path."""

    name: str
    data: bytes


class Visit:
    """What a page function gets; it answers with `show`, `go` or an HTTPException.

    Sites derive from it: `cookie` names the session's cookie, `load` reads who is signed in, `common` gives
    what every template may use. The application's state holds `database`, `secret` and `templates`; the
    schema has the table `session (id TEXT PRIMARY KEY, data TEXT)`.
    """

    cookie: ClassVar[str] = "session"

    def __init__(
        self,
        request: Request,
        db: sqlite3.Connection,
        form: dict[str, str] | None = None,
        files: dict[str, list[Upload]] | None = None,
    ) -> None:
        self.request = request
        self.db = db
        self.form = form or {}
        self.files = files or {}
        self.query = dict(request.query_params)
        self._session_id = unsign(request.app.state.secret, request.cookies.get(self.cookie, ""))
        self.session: dict[str, Any] = {}
        if self._session_id is not None:
            row = db.execute("SELECT data FROM session WHERE id = ?", (self._session_id,)).fetchone()
            self.session = json.loads(row["data"]) if row else {}
        self._before = json.dumps(self.session)
        self.load()

    def load(self) -> None:
        """Read what the session stands for."""

    def common(self) -> dict[str, Any]:
        """What every template may use."""
        return {}

    @property
    def posted(self) -> bool:
        """Whether a form was sent."""
        return self.request.method == "POST"

    def flash(self, text: str, kind: str = "success") -> None:
        """Show a message (kind: success, error or notice) at the top of the next page."""
        self.session.setdefault("flash", []).append([kind, text])

    def show(self, template: str, status: int = 200, **context: Any) -> Response:
        """Answer with a page."""
        shown = {"visit": self, "messages": self.session.pop("flash", []), **self.common(), **context}
        answer: Response = self.request.app.state.templates.TemplateResponse(
            self.request, template, shown, status_code=status
        )
        return answer

    def go(self, path: str) -> Response:
        """Answer with a redirect to a path of this site; anything else leads home."""
        local = path.startswith("/") and not path.startswith(("//", "/\\"))
        return RedirectResponse(path if local else "/", status_code=303)

    def one(self, sql: str, *values: Any) -> sqlite3.Row:
        """The one row of a query; the visitor gets "not found" if there is none."""
        row: sqlite3.Row | None = self.db.execute(sql, values).fetchone()
        if row is None:
            raise HTTPException(404)
        return row

    def rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """All rows of a query."""
        return self.db.execute(sql, values).fetchall()

    def forget_id(self) -> None:
        """Give the session a new id at the next `save`: after signing in or out the old one must not work."""
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
        response.set_cookie(self.cookie, signed, httponly=True, samesite="lax", path="/")


async def _bounded(request: Request, largest: int) -> AsyncIterator[bytes]:
    """The body in chunks. What is too long is still taken in, unkept, since browsers read no answer before."""
    seen = 0
    async for chunk in request.stream():
        seen += len(chunk)
        if seen > _DRAINED:
            raise HTTPException(413)
        if seen <= largest:
            yield chunk
    if seen > largest:
        raise HTTPException(413)


async def read_form(request: Request, largest: int = LARGEST_FORM) -> tuple[dict[str, str], dict[str, list[Upload]]]:
    """The fields of a form, last value of each name, stripped; and the files that came with it.

    Args:
        request: A POST with an urlencoded or multipart body.
        largest: Most bytes of the whole body.

    Raises:
        HTTPException: 413 for a longer body, 400 for one that is no form.
    """
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        return await _read_multipart(request, largest)
    body = b"".join([chunk async for chunk in _bounded(request, largest)])
    try:
        fields = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=200)
    except ValueError as error:
        raise HTTPException(400) from error
    return {name: values[-1].strip() for name, values in fields.items()}, {}


async def _read_multipart(request: Request, largest: int) -> tuple[dict[str, str], dict[str, list[Upload]]]:
    async def stream() -> Any:
        async for chunk in _bounded(request, largest):
            yield chunk

    try:
        parsed = await MultiPartParser(
            request.headers, stream(), max_files=20, max_fields=100, max_part_size=LARGEST_FORM
        ).parse()
    except (MultiPartException, ValueError, KeyError) as error:
        raise HTTPException(400) from error
    fields: dict[str, str] = {}
    files: dict[str, list[Upload]] = {}
    try:
        for name, value in parsed.multi_items():
            if not isinstance(value, UploadFile):
                fields[name] = value.strip()
            elif value.filename:
                files.setdefault(name, []).append(Upload(value.filename, await value.read()))
    finally:
        await parsed.close()
    return fields, files


def endpoint(
    page: Callable[[_V], Response], visit_class: type[_V], largest: int = LARGEST_FORM
) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    """Make a Starlette endpoint of a page function: one transaction, session loaded and saved around it."""

    async def serve(request: Request) -> Response:
        form, files = await read_form(request, largest) if request.method == "POST" else ({}, {})
        with request.app.state.database.transaction() as db:
            visit = visit_class(request, db, form, files)
            response = page(visit)
            visit.save(response)
        # Going back must show the present state, yet a form that was refused cannot be asked for again.
        response.headers["Cache-Control"] = "no-cache" if visit.posted else "no-store"
        return response

    return serve
