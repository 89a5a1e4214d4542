"""The checkout: address and shipping method, then payment, then the order."""

import json
from typing import Any

from starlette.responses import Response

from confkv_agents.web.sitekit import Field, check

from .baskets import PAYMENT, SHIPPING, Basket, coupon_problem, load_basket
from .forms import ADDRESS, COUNTRY, EMAIL
from .seeding import TODAY
from .visit import Visit

_CART = "/checkout/cart/"
_PAYMENT = "/checkout/#payment"


def checkout(visit: Visit) -> Response:
    """Show the step that is due: shipping first, payment once shipping is known."""
    known: dict[str, Any] = visit.session.get("checkout", {})
    basket = load_basket(visit.db, visit.session.get("cart"), known.get("method"))
    if not basket.lines:
        visit.flash("Your cart is empty.", "notice")
        return visit.go(_CART)
    if known.get("address") and visit.query.get("step") != "shipping":
        return _show_payment(visit, basket, known)
    values = {"email": known.get("email", ""), "method": known.get("method", ""), "country": COUNTRY}
    return _show_shipping(visit, basket, values | known.get("address", {}), {})


def _addresses(visit: Visit) -> list[Any]:
    if visit.customer is None:
        return []
    return visit.db.execute(
        "SELECT * FROM address WHERE customer_id = ? ORDER BY shipping DESC, id", (visit.customer["id"],)
    ).fetchall()


def _show_shipping(visit: Visit, basket: Basket, values: dict[str, str], errors: dict[str, str]) -> Response:
    return visit.show(
        "checkout_shipping.html",
        basket=basket,
        values=values,
        errors=errors,
        fields=ADDRESS,
        addresses=_addresses(visit),
        methods=SHIPPING,
    )


def _show_payment(visit: Visit, basket: Basket, known: dict[str, Any], error: str = "") -> Response:
    return visit.show(
        "checkout_payment.html",
        basket=basket,
        known=known,
        methods=PAYMENT,
        error=error,
    )


def save_shipping(visit: Visit) -> Response:
    """Check address and shipping method, and go on to payment."""
    basket = load_basket(visit.db, visit.session.get("cart"))
    if not basket.lines:
        return visit.go(_CART)
    fields: tuple[Field, ...] = () if visit.customer else (EMAIL,)
    saved = {str(a["id"]): a for a in _addresses(visit)}
    choice = visit.form.get("address", "")
    values, errors = check(fields, visit.form)
    if choice in saved:
        address = {field.name: saved[choice][field.name] for field in ADDRESS}
    else:
        address, wrong = check(ADDRESS, visit.form)
        errors |= wrong
    method = visit.form.get("method", "")
    if method not in SHIPPING:
        errors["method"] = "Please choose a shipping method."
    if errors:
        return _show_shipping(visit, basket, values | address | {"method": method, "address": choice}, errors)
    email = visit.customer["email"] if visit.customer else values["email"]
    visit.session["checkout"] = {"email": email, "address": address, "method": method}
    return visit.go(_PAYMENT)


def place_order(visit: Visit) -> Response:
    """Make an order of the cart."""
    known: dict[str, Any] = visit.session.get("checkout", {})
    cart_id = visit.session.get("cart")
    basket = load_basket(visit.db, cart_id, known.get("method"))
    if not basket.lines:
        return visit.go(_CART)
    if not known.get("address"):
        return visit.go("/checkout/")
    payment = visit.form.get("payment", "")
    if payment not in PAYMENT:
        return _show_payment(visit, basket, known, "Please choose a payment method.")
    short = [line for line in basket.lines if _ordered_pieces(basket, line["id"]) > line["stock"]]
    if short:
        visit.flash(f"Only {short[0]['stock']} of {short[0]['name']} are left.", "error")
        return visit.go(_CART)
    order_id = _write_order(visit, basket, known, payment)
    visit.db.execute("DELETE FROM cart_item WHERE cart_id = ?", (cart_id,))
    visit.db.execute("UPDATE cart SET coupon = NULL WHERE id = ?", (cart_id,))
    visit.session.pop("checkout", None)
    visit.session["last_order"] = order_id
    return visit.go("/checkout/onepage/success/")


def _ordered_pieces(basket: Basket, product_id: int) -> int:
    return sum(line["quantity"] for line in basket.lines if line["id"] == product_id)


def _write_order(visit: Visit, basket: Basket, known: dict[str, Any], payment: str) -> int:
    last = visit.db.execute("SELECT id, number FROM orders ORDER BY id DESC LIMIT 1").fetchone()
    order_id = last["id"] + 1
    # Numbers rise by uneven steps, so that the next one cannot be guessed without reading the page.
    number = int(last["number"]) + 7 + (int(last["number"]) * 31 + order_id) % 83
    coupon = basket.coupon
    used = coupon["code"] if coupon is not None and coupon_problem(coupon, basket.lines) is None else None
    address = json.dumps(known["address"])
    visit.db.execute(
        "INSERT INTO orders VALUES (?, ?, ?, ?, ?, 'Pending', ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            order_id, str(number), visit.session.get("customer"), known["email"], TODAY.isoformat(), address,
            address, known["method"], payment, used, basket.subtotal, basket.discount, basket.shipping or 0,
            basket.total,
        ),
    )  # fmt: skip
    for line in basket.lines:
        visit.db.execute(
            "INSERT INTO order_item (order_id, product_id, sku, name, size, price, quantity)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (order_id, line["id"], line["sku"], line["name"], line["size"], line["price"], line["quantity"]),
        )
        visit.db.execute("UPDATE product SET stock = stock - ? WHERE id = ?", (line["quantity"], line["id"]))
    return int(order_id)


def success(visit: Visit) -> Response:
    """Thanks, with the order's number."""
    if "last_order" not in visit.session:
        return visit.go(_CART)
    order = visit.one("SELECT * FROM orders WHERE id = ?", visit.session["last_order"])
    return visit.show("success.html", order=order)
