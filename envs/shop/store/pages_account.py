"""Pages of a customer: sign in, register, orders, addresses, wish list, profile."""

import json
import secrets
import sqlite3

from starlette.exceptions import HTTPException
from starlette.responses import Response

from confkv_agents.web.sitekit import Field, check, check_new_password, check_password, hash_password

from .forms import ADDRESS, COUNTRY, EMAIL
from .listing import products_where
from .visit import Visit, signed_in

_NAME = (
    Field("first", "First name", autocomplete="given-name", longest=40),
    Field("last", "Last name", autocomplete="family-name", longest=40),
)
_ACCOUNT = "/customer/account/"
_ADDRESSES = "/customer/address/"


def sign_in(visit: Visit) -> Response:
    """The sign-in form and its receiver."""
    if visit.customer is not None:
        return visit.go(_ACCOUNT)
    values: dict[str, str] = {}
    errors: dict[str, str] = {}
    if visit.posted:
        values, errors = check((EMAIL,), visit.form)
        password = visit.form.get("password", "")
        if not password:
            errors["password"] = "Password is a required field."
        if not errors:
            row = visit.db.execute("SELECT * FROM customer WHERE email = ?", (values["email"].lower(),)).fetchone()
            if row is not None and check_password(password[:200], row["password"]):
                goal = visit.session.pop("after_sign_in", _ACCOUNT)
                visit.sign_in(row["id"])
                return visit.go(goal)
            visit.flash("The email or the password is not right. Please try again.", "error")
            return visit.show("sign_in.html", values=values, errors={})
    return visit.show("sign_in.html", values=values, errors=errors)


def register(visit: Visit) -> Response:
    """The form for a new account and its receiver."""
    fields = (*_NAME, EMAIL)
    values: dict[str, str] = {}
    errors: dict[str, str] = {}
    if visit.posted:
        values, errors = check(fields, visit.form)
        errors |= check_new_password(visit.form.get("password", ""), visit.form.get("password2", ""))
        email = values["email"].lower()
        if "email" not in errors and _taken(visit, email, 0):
            errors["email"] = "There is already an account with this email address."
        if not errors:
            made = visit.db.execute(
                "INSERT INTO customer (email, first, last, password, newsletter) VALUES (?, ?, ?, ?, ?)",
                (
                    email, values["first"], values["last"],
                    hash_password(visit.form["password"], secrets.token_bytes(8)), "newsletter" in visit.form,
                ),
            ).lastrowid  # fmt: skip
            visit.sign_in(int(made or 0))
            visit.flash("Thank you for registering with Larkspur Market.")
            return visit.go(_ACCOUNT)
    return visit.show("register.html", fields=fields, values=values, errors=errors)


def _taken(visit: Visit, email: str, by_other_than: int) -> bool:
    row = visit.db.execute("SELECT id FROM customer WHERE email = ? AND id != ?", (email, by_other_than))
    return row.fetchone() is not None


def sign_out(visit: Visit) -> Response:
    """End the session."""
    visit.sign_out()
    visit.flash("You are signed out.")
    return visit.go("/")


@signed_in
def dashboard(visit: Visit) -> Response:
    """The account's overview."""
    return visit.show("account.html", addresses=_addresses(visit), orders=_orders(visit)[:3])


def _orders(visit: Visit) -> list[sqlite3.Row]:
    return visit.db.execute(
        "SELECT orders.*, json_extract(shipping_address, '$.first') || ' ' ||"
        " json_extract(shipping_address, '$.last') AS ship_to FROM orders WHERE customer_id = ?"
        " ORDER BY id DESC",
        (visit.session["customer"],),
    ).fetchall()


def _addresses(visit: Visit) -> list[sqlite3.Row]:
    return visit.db.execute(
        "SELECT * FROM address WHERE customer_id = ? ORDER BY id", (visit.session["customer"],)
    ).fetchall()


@signed_in
def orders(visit: Visit) -> Response:
    """All orders of the customer."""
    return visit.show("orders.html", orders=_orders(visit))


def order(visit: Visit) -> Response:
    """One order; shown to its customer, and to the guest who has just placed it."""
    row = visit.one("SELECT * FROM orders WHERE id = ?", visit.request.path_params["order_id"])
    mine = row["customer_id"] is not None and row["customer_id"] == visit.session.get("customer")
    if not mine and row["id"] != visit.session.get("last_order"):
        raise HTTPException(404)
    items = visit.db.execute(
        "SELECT order_item.*, slug FROM order_item JOIN product ON product.id = product_id WHERE order_id = ?"
        " ORDER BY order_item.id",
        (row["id"],),
    ).fetchall()
    shipping = json.loads(row["shipping_address"])
    billing = json.loads(row["billing_address"])
    return visit.show("order.html", order=row, items=items, shipping=shipping, billing=billing)


@signed_in
def addresses(visit: Visit) -> Response:
    """The address book."""
    return visit.show("addresses.html", addresses=_addresses(visit))


@signed_in
def edit_address(visit: Visit) -> Response:
    """The form for a new or a known address, and its receiver."""
    customer = visit.session["customer"]
    address_id = visit.request.path_params.get("address_id")
    values: dict[str, str] = {}
    errors: dict[str, str] = {}
    if address_id is not None:
        values = dict(visit.one("SELECT * FROM address WHERE id = ? AND customer_id = ?", address_id, customer))
    if visit.posted:
        known = values
        values, errors = check(ADDRESS, visit.form)
        flags = {flag: flag in visit.form or bool(known.get(flag)) for flag in ("billing", "shipping")}
        if not errors:
            for flag, on in flags.items():
                if on:
                    visit.db.execute(f"UPDATE address SET {flag} = 0 WHERE customer_id = ?", (customer,))
            row = values | flags | {"customer": customer, "id": address_id}
            if address_id is None:
                visit.db.execute(
                    "INSERT INTO address (customer_id, first, last, street, city, postcode, country,"
                    " telephone, billing, shipping) VALUES (:customer, :first, :last, :street, :city,"
                    " :postcode, :country, :telephone, :billing, :shipping)",
                    row,
                )
            else:
                visit.db.execute(
                    "UPDATE address SET first = :first, last = :last, street = :street, city = :city,"
                    " postcode = :postcode, country = :country, telephone = :telephone, billing = :billing,"
                    " shipping = :shipping WHERE id = :id",
                    row,
                )
            visit.flash("You saved the address.")
            return visit.go(_ADDRESSES)
        values |= {flag: "1" if on else "" for flag, on in flags.items()}
    elif address_id is None and visit.customer is not None:
        values = {"first": visit.customer["first"], "last": visit.customer["last"], "country": COUNTRY}
    return visit.show("address.html", fields=ADDRESS, values=values, errors=errors, known=address_id)


@signed_in
def delete_address(visit: Visit) -> Response:
    """Take an address that is no default out of the address book."""
    address = visit.one(
        "SELECT * FROM address WHERE id = ? AND customer_id = ?",
        visit.request.path_params["address_id"],
        visit.session["customer"],
    )
    if address["billing"] or address["shipping"]:
        visit.flash("A default address cannot be deleted.", "error")
    else:
        visit.db.execute("DELETE FROM address WHERE id = ?", (address["id"],))
        visit.flash("You deleted the address.")
    return visit.go(_ADDRESSES)


@signed_in
def edit_profile(visit: Visit) -> Response:
    """Name, email, newsletter and password."""
    customer = visit.one("SELECT * FROM customer WHERE id = ?", visit.session["customer"])
    fields = (*_NAME, EMAIL)
    values = dict(customer)
    errors: dict[str, str] = {}
    if visit.posted:
        values, errors = check(fields, visit.form)
        values["newsletter"] = "1" if "newsletter" in visit.form else ""
        email = values["email"].lower()
        if "email" not in errors and _taken(visit, email, customer["id"]):
            errors["email"] = "There is already an account with this email address."
        new = visit.form.get("password", "")
        if new:
            errors |= check_new_password(new, visit.form.get("password2", ""))
        if (new or email != customer["email"]) and not check_password(
            visit.form.get("current", "")[:200], customer["password"]
        ):
            errors["current"] = "Please enter your current password to change email or password."
        if not errors:
            password = hash_password(new, secrets.token_bytes(8)) if new else customer["password"]
            visit.db.execute(
                "UPDATE customer SET first = ?, last = ?, email = ?, newsletter = ?, password = ? WHERE id = ?",
                (
                    values["first"],
                    values["last"],
                    email,
                    bool(values["newsletter"]),
                    password,
                    customer["id"],
                ),
            )
            visit.flash("You saved the account information.")
            return visit.go(_ACCOUNT)
    return visit.show("profile.html", fields=fields, values=values, errors=errors)


@signed_in
def wish_list(visit: Visit) -> Response:
    """The wish list."""
    products = products_where(
        visit.db,
        "product.id IN (SELECT product_id FROM wish WHERE customer_id = ?)",
        visit.session["customer"],
    )
    return visit.show("wish_list.html", products=products)


def wish_change(visit: Visit) -> Response:
    """Put a product on the wish list or take it off."""
    product = visit.one("SELECT * FROM product WHERE slug = ?", visit.form.get("product", ""))
    if visit.customer is None:
        visit.session["after_sign_in"] = f"/{product['slug']}.html"
        visit.flash("Please sign in to use your wish list.", "notice")
        return visit.go("/customer/account/login/")
    customer = visit.customer["id"]
    if visit.form.get("action") == "remove":
        visit.db.execute("DELETE FROM wish WHERE customer_id = ? AND product_id = ?", (customer, product["id"]))
        visit.flash(f"{product['name']} was removed from your wish list.")
    else:
        visit.db.execute(
            "INSERT OR IGNORE INTO wish SELECT ?, ?, COALESCE(MAX(added), 0) + 1 FROM wish",
            (customer, product["id"]),
        )
        visit.flash(f"{product['name']} was added to your wish list.")
    return visit.go("/wishlist/")
