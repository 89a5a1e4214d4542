"""One request on Kerbside: who asks, what every page shows, and which pages need a signed-in visitor."""

import functools
import sqlite3
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.responses import Response

from confkv_agents.web import sitekit
from confkv_agents.web.sitekit import whole_number

Page = Callable[["Visit"], Response]


def link(page: str, action: str = "", **parameters: Any) -> str:
    """The address of a page, in OSClass's form: `/index.php?page=item&id=7`."""
    given = {"page": page, "action": action, **parameters}
    return "/index.php?" + urlencode({key: value for key, value in given.items() if value not in ("", None)})


class Visit(sitekit.Visit):
    """What a page function gets."""

    cookie = "kerbside_session"
    user: sqlite3.Row | None

    def load(self) -> None:
        """Find the user whose session this is."""
        found = self.db.execute("SELECT * FROM user WHERE id = ?", (self.session.get("user"),))
        self.user = found.fetchone()

    def common(self) -> dict[str, Any]:
        """What every template may use."""
        unread = 0
        if self.user is not None:
            (unread,) = self.one("SELECT COUNT(*) FROM message WHERE to_user = ? AND unread", self.user["id"])
        return {
            "user": self.user,
            "unread": unread,
            "seed": self.request.app.state.database.seed,
            "all_categories": self.rows("SELECT * FROM category ORDER BY id"),
            "link": link,
        }

    @property
    def me(self) -> sqlite3.Row:
        """The signed-in user; pages that use it are wrapped in `signed_in`."""
        if self.user is None:
            raise HTTPException(404)
        return self.user

    def number(self, name: str = "id") -> int:
        """A number of the address; the visitor gets "not found" if there is none."""
        number = whole_number(self.query.get(name, ""), 0, 10**9 - 1)
        if number is None:
            raise HTTPException(404)
        return number

    def sign_in(self, user_id: int) -> None:
        """Start a new session for the user."""
        after = self.session.get("after_sign_in")
        self.session = {"user": user_id} | ({"after_sign_in": after} if after else {})
        self.forget_id()

    def sign_out(self) -> None:
        """Forget everything of this session."""
        self.session = {}
        self.forget_id()


def signed_in(page: Page) -> Page:
    """Send visitors who are not signed in to the sign-in form first."""

    @functools.wraps(page)
    def guarded(visit: Visit) -> Response:
        if visit.user is None:
            if not visit.posted:
                visit.session["after_sign_in"] = str(visit.request.url.path) + "?" + str(visit.request.url.query)
            visit.flash("Please sign in to continue.", "notice")
            return visit.go(link("login"))
        return page(visit)

    return guarded
