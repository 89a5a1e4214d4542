"""One request as a page sees it: the shop's database, the visitor's session, the form, and how to answer."""

import hashlib
import hmac
import json
import secrets
import sqlite3
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from .baskets import basket_count, merge_guest_cart

COOKIE = "shop_session"
_LARGEST_FORM = 64 * 1024
_Row = sqlite3.Row
Page = Callable[["Visit"], Response]
_P = TypeVar("_P", bound=Page)


def sign(secret: bytes, value: str) -> str:
    """Return `value.signature`."""
    return f"{value}.{hmac.new(secret, value.encode(), hashlib.sha256).hexdigest()[:32]}"


def unsign(secret: bytes, signed: str) -> str | None:
    """Return the value that `sign` was given, or None if the signature is not ours."""
    value, _, _ = signed.rpartition(".")
    return value if value and hmac.compare_digest(sign(secret, value).encode(), signed.encode()) else None


class Visit:
    """What a page function gets; it answers with `show`, `go` or an HTTPException."""

    def __init__(self, request: Request, db: sqlite3.Connection, form: dict[str, str]) -> None:
        self.request = request
        self.db = db
        self.form = form
        self.query = dict(request.query_params)
        self._session_id = unsign(request.app.state.secret, request.cookies.get(COOKIE, ""))
        self.session: dict[str, Any] = {}
        if self._session_id is not None:
            row = db.execute("SELECT data FROM session WHERE id = ?", (self._session_id,)).fetchone()
            self.session = json.loads(row["data"]) if row else {}
        self._before = json.dumps(self.session)
        self.customer: _Row | None = None
        if "customer" in self.session:
            found = db.execute("SELECT * FROM customer WHERE id = ?", (self.session["customer"],))
            self.customer = found.fetchone()

    @property
    def posted(self) -> bool:
        """Whether a form was sent."""
        return self.request.method == "POST"

    def path(self, name: str) -> str:
        """A parameter of the route."""
        return str(self.request.path_params[name])

    def flash(self, text: str, kind: str = "success") -> None:
        """Show a message (kind: success, error or notice) at the top of the next page."""
        self.session.setdefault("flash", []).append([kind, text])

    def show(self, template: str, status: int = 200, **context: Any) -> Response:
        """Answer with a page."""
        shown = {
            "visit": self,
            "customer": self.customer,
            "cart_count": basket_count(self.db, self.session.get("cart")),
            "compare_count": len(self.session.get("compare", [])),
            "messages": self.session.pop("flash", []),
            "seed": self.request.app.state.database.seed,
        }
        return self.request.app.state.templates.TemplateResponse(
            self.request, template, shown | context, status_code=status
        )

    def go(self, path: str) -> Response:
        """Answer with a redirect to a path of this site; anything else leads home."""
        local = path.startswith("/") and not path.startswith(("//", "/\\"))
        return RedirectResponse(path if local else "/", status_code=303)

    def one(self, sql: str, *values: Any) -> _Row:
        """The one row of a query; the visitor gets "not found" if there is none."""
        row: _Row | None = self.db.execute(sql, values).fetchone()
        if row is None:
            raise HTTPException(404)
        return row

    def sign_in(self, customer_id: int) -> None:
        """Start a new session for the customer that keeps the guest's cart."""
        self.session["customer"] = customer_id
        self.session["cart"] = merge_guest_cart(self.db, self.session.get("cart"), customer_id)
        self.session.pop("checkout", None)
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


async def _read_form(request: Request) -> dict[str, str]:
    """The fields of an urlencoded form, last value of each name, stripped."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST_FORM:
            raise HTTPException(413)
    try:
        fields = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=200)
    except ValueError as error:
        raise HTTPException(400) from error
    return {name: values[-1].strip() for name, values in fields.items()}


def endpoint(page: Page) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    """Make a Starlette endpoint of a page function: one transaction, session loaded and saved around it."""

    async def serve(request: Request) -> Response:
        form = await _read_form(request) if request.method == "POST" else {}
        with request.app.state.database.transaction() as db:
            visit = Visit(request, db, form)
            response = page(visit)
            visit.save(response)
        # Going back must show the present cart, yet a form that was refused cannot be asked for again.
        response.headers["Cache-Control"] = "no-cache" if visit.posted else "no-store"
        return response

    return serve


def signed_in(page: _P) -> Page:
    """Send visitors who are not signed in to the sign-in form first."""

    def guarded(visit: Visit) -> Response:
        if visit.customer is None:
            visit.session["after_sign_in"] = visit.request.url.path
            visit.flash("Please sign in to continue.", "notice")
            return visit.go("/customer/account/login/")
        return page(visit)

    return guarded
