"""One request as a page of the shop sees it: sitekit's visit, with the customer and the cart."""

import functools
import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.responses import Response

from confkv_agents.web import sitekit

from .baskets import basket_count, merge_guest_cart

Page = Callable[["Visit"], Response]
_P = TypeVar("_P", bound=Page)


class Visit(sitekit.Visit):
    """What a page function gets; it answers with `show`, `go` or an HTTPException."""

    cookie = "shop_session"
    customer: sqlite3.Row | None

    def load(self) -> None:
        """Find the customer whose session this is."""
        found = self.db.execute("SELECT * FROM customer WHERE id = ?", (self.session.get("customer"),))
        self.customer = found.fetchone()

    def common(self) -> dict[str, Any]:
        """What every template may use."""
        return {
            "customer": self.customer,
            "cart_count": basket_count(self.db, self.session.get("cart")),
            "compare_count": len(self.session.get("compare", [])),
            "seed": self.request.app.state.database.seed,
        }

    def path(self, name: str) -> str:
        """A parameter of the route."""
        return str(self.request.path_params[name])

    def sign_in(self, customer_id: int) -> None:
        """Start a new session for the customer that keeps the guest's cart."""
        self.session["customer"] = customer_id
        self.session["cart"] = merge_guest_cart(self.db, self.session.get("cart"), customer_id)
        self.session.pop("checkout", None)
        self.forget_id()

    def sign_out(self) -> None:
        """Forget everything of this session."""
        self.session = {}
        self.forget_id()


def signed_in(page: _P) -> Page:
    """Send visitors who are not signed in to the sign-in form first."""

    @functools.wraps(page)
    def guarded(visit: Visit) -> Response:
        if visit.customer is None:
            visit.session["after_sign_in"] = visit.request.url.path
            visit.flash("Please sign in to continue.", "notice")
            return visit.go("/customer/account/login/")
        return page(visit)

    return guarded
