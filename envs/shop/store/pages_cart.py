"""Pages of the cart: add, change, remove, coupon."""

import json

from starlette.responses import Response

from confkv_agents.web.sitekit import whole_number

from .baskets import MOST, Basket, add_to_cart, coupon_problem, find_coupon, load_basket, open_cart
from .visit import Visit

CART = "/checkout/cart/"


def show_cart(visit: Visit) -> Response:
    """The cart."""
    basket = load_basket(visit.db, visit.session.get("cart"))
    return visit.show("cart.html", basket=basket, problem=_coupon_note(basket), most=MOST)


def _coupon_note(basket: Basket) -> str | None:
    return coupon_problem(basket.coupon, basket.lines) if basket.coupon is not None and basket.lines else None


def add(visit: Visit) -> Response:
    """Put a product into the cart and go back to its page, or say why it cannot be done."""
    product = visit.one("SELECT * FROM product WHERE slug = ?", visit.form.get("product", ""))
    page = f"/{product['slug']}.html"
    quantity = whole_number(visit.form.get("qty", "1"), 1, 10**6)
    sizes = json.loads(product["sizes"])
    size = visit.form.get("size", "")
    if sizes and size not in sizes:
        visit.flash("Please choose a size.", "error")
        return visit.go(page)
    if quantity is None:
        visit.flash("Please enter a quantity of 1 or more.", "error")
        return visit.go(page)
    cart_id = open_cart(visit.db, visit.session.get("cart"), visit.session.get("customer"))
    visit.session["cart"] = cart_id
    problem = add_to_cart(visit.db, cart_id, product, size if sizes else "", quantity)
    if problem:
        visit.flash(problem, "error")
        return visit.go(page)
    visit.flash(f"You added {product['name']} to your shopping cart.")
    if visit.form.get("from") == "wishlist":
        visit.db.execute(
            "DELETE FROM wish WHERE customer_id = ? AND product_id = ?",
            (visit.session.get("customer"), product["id"]),
        )
        return visit.go(CART)
    return visit.go(page)


def update(visit: Visit) -> Response:
    """Take over the quantities of all lines; 0 removes a line."""
    basket = load_basket(visit.db, visit.session.get("cart"))
    changes: list[tuple[int, int]] = []
    for line in basket.lines:
        text = visit.form.get(f"qty-{line['line_id']}")
        if text is None:
            continue
        limit = min(line["stock"], MOST)
        quantity = whole_number(text, 0, 10**6)
        if quantity is None:
            visit.flash(f"Please enter a whole number for {line['name']}.", "error")
            return visit.go(CART)
        if quantity > limit:
            visit.flash(f"You can order {limit} of {line['name']} at most.", "error")
            return visit.go(CART)
        changes.append((quantity, line["line_id"]))
    visit.db.executemany("UPDATE cart_item SET quantity = ? WHERE id = ?", changes)
    visit.db.execute("DELETE FROM cart_item WHERE quantity = 0")
    visit.flash("Your cart was updated.")
    return visit.go(CART)


def remove(visit: Visit) -> Response:
    """Take a line out of the cart."""
    line = visit.one(
        "SELECT cart_item.id, name FROM cart_item JOIN product ON product.id = product_id"
        " WHERE cart_item.id = ? AND cart_id = ?",
        visit.form.get("line", ""),
        visit.session.get("cart"),
    )
    visit.db.execute("DELETE FROM cart_item WHERE id = ?", (line["id"],))
    visit.flash(f"You removed {line['name']} from your cart.")
    return visit.go(CART)


def coupon(visit: Visit) -> Response:
    """Use a coupon code, or stop using it."""
    cart_id = open_cart(visit.db, visit.session.get("cart"), visit.session.get("customer"))
    visit.session["cart"] = cart_id
    if visit.form.get("action") == "cancel":
        visit.db.execute("UPDATE cart SET coupon = NULL WHERE id = ?", (cart_id,))
        visit.flash("You canceled the coupon code.")
        return visit.go(CART)
    code = visit.form.get("coupon_code", "")
    found = find_coupon(visit.db, code)
    problem = coupon_problem(found, load_basket(visit.db, cart_id).lines)
    if not code:
        problem = "Please enter a coupon code."
    if problem or found is None:
        visit.flash(problem or "", "error")
        return visit.go(CART)
    visit.db.execute("UPDATE cart SET coupon = ? WHERE id = ?", (found["code"], cart_id))
    visit.flash(f"You used coupon code {found['code']}.")
    return visit.go(CART)
