"""Carts: lines, stock limits, coupons and totals. All amounts are in cents."""

import sqlite3
from dataclasses import dataclass
from typing import Any

# Method name: (price in cents, when it comes).
SHIPPING: dict[str, tuple[int, str]] = {
    "Standard": (500, "3 to 5 days"),
    "Express": (1500, "next day"),
    "Pickup": (0, "at our store"),
}
PAYMENT = ("Cash on Delivery", "Bank Transfer", "Pay by Invoice")
MOST = 20


@dataclass(frozen=True)
class Basket:
    """A cart with its sums."""

    lines: list[sqlite3.Row]
    coupon: sqlite3.Row | None
    subtotal: int
    discount: int
    shipping: int | None

    @property
    def total(self) -> int:
        """What is to be paid, without shipping while no method is chosen."""
        return self.subtotal - self.discount + (self.shipping or 0)

    @property
    def count(self) -> int:
        """Number of pieces."""
        return sum(line["quantity"] for line in self.lines)


def basket_count(db: sqlite3.Connection, cart_id: int | None) -> int:
    """Number of pieces in a cart."""
    row = db.execute("SELECT COALESCE(SUM(quantity), 0) FROM cart_item WHERE cart_id = ?", (cart_id,)).fetchone()
    return int(row[0])


def load_basket(db: sqlite3.Connection, cart_id: int | None, method: str | None = None) -> Basket:
    """Read a cart and work out its sums; `method` is a shipping method's name."""
    lines = db.execute(
        "SELECT cart_item.id AS line_id, cart_item.size, cart_item.quantity, product.* FROM cart_item"
        " JOIN product ON product.id = product_id WHERE cart_id = ? ORDER BY cart_item.id",
        (cart_id,),
    ).fetchall()
    cart = db.execute("SELECT coupon FROM cart WHERE id = ?", (cart_id,)).fetchone()
    coupon = find_coupon(db, cart["coupon"]) if cart and cart["coupon"] else None
    subtotal = sum(line["price"] * line["quantity"] for line in lines)
    discount = 0
    if coupon is not None and coupon_problem(coupon, lines) is None:
        base = sum(line["price"] * line["quantity"] for line in lines if _covers(coupon, line))
        discount = (base * coupon["percent"] + 50) // 100
    shipping = SHIPPING[method][0] if method in SHIPPING else None
    if shipping and coupon is not None and coupon["free_shipping"]:
        shipping = 0
    return Basket(lines, coupon, subtotal, discount, shipping)


def _covers(coupon: sqlite3.Row, line: Any) -> bool:
    return coupon["category_id"] is None or coupon["category_id"] == line["category_id"]


def find_coupon(db: sqlite3.Connection, code: str) -> sqlite3.Row | None:
    """The coupon with this code, whatever the case of its letters."""
    row: sqlite3.Row | None = db.execute("SELECT * FROM coupon WHERE code = ?", (code.strip().upper(),)).fetchone()
    return row


def coupon_problem(coupon: sqlite3.Row | None, lines: list[sqlite3.Row]) -> str | None:
    """Why a coupon does not apply to a cart, in words for the visitor; None if it does."""
    if coupon is None:
        return "The coupon code is not valid."
    if coupon["expired"]:
        return f"The coupon code {coupon['code']} has expired."
    if not any(_covers(coupon, line) for line in lines):
        return f"The coupon code {coupon['code']} does not apply to anything in your cart."
    if sum(line["price"] * line["quantity"] for line in lines) < coupon["minimum"]:
        return f"The coupon code {coupon['code']} is for orders of ${coupon['minimum'] // 100} or more."
    return None


def open_cart(db: sqlite3.Connection, cart_id: int | None, customer_id: int | None) -> int:
    """The visitor's cart, made if there is none yet."""
    if cart_id is not None and db.execute("SELECT 1 FROM cart WHERE id = ?", (cart_id,)).fetchone():
        return cart_id
    made = db.execute("INSERT INTO cart (customer_id) VALUES (?)", (customer_id,)).lastrowid
    assert made is not None
    return made


def add_to_cart(db: sqlite3.Connection, cart_id: int, product: sqlite3.Row, size: str, quantity: int) -> str | None:
    """Put pieces of a product into a cart; returns what is wrong, or None."""
    there = db.execute(
        "SELECT COALESCE(SUM(quantity), 0) FROM cart_item WHERE cart_id = ? AND product_id = ?",
        (cart_id, product["id"]),
    ).fetchone()[0]
    if product["stock"] == 0:
        return f"{product['name']} is out of stock."
    limit = min(product["stock"], MOST)
    if there + quantity > limit:
        return f"You can order {limit} of {product['name']} at most."
    db.execute(
        "INSERT INTO cart_item (cart_id, product_id, size, quantity) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (cart_id, product_id, size) DO UPDATE SET quantity = quantity + excluded.quantity",
        (cart_id, product["id"], size, quantity),
    )
    return None


def merge_guest_cart(db: sqlite3.Connection, guest_cart: int | None, customer_id: int) -> int:
    """Move what a guest collected into the customer's own cart, and return that cart."""
    own = db.execute("SELECT id FROM cart WHERE customer_id = ?", (customer_id,)).fetchone()
    own_id = open_cart(db, None, customer_id) if own is None else int(own["id"])
    if guest_cart is None or guest_cart == own_id:
        return own_id
    for line in load_basket(db, guest_cart).lines:
        add_to_cart(db, own_id, line, line["size"], line["quantity"])
    db.execute(
        "UPDATE cart SET coupon = COALESCE((SELECT coupon FROM cart WHERE id = ?), coupon) WHERE id = ?",
        (guest_cart, own_id),
    )
    db.execute("DELETE FROM cart_item WHERE cart_id = ?", (guest_cart,))
    db.execute("DELETE FROM cart WHERE id = ?", (guest_cart,))
    return own_id
