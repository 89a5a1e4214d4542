"""The state that checks read: everything a visitor can change, as plain JSON."""

import json
import sqlite3
from typing import Any


def _rows(db: sqlite3.Connection, sql: str, *values: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in db.execute(sql, values)]


def read_state(db: sqlite3.Connection, seed: int) -> dict[str, Any]:
    """Orders, carts, wish lists, reviews, users, addresses and contact messages; passwords are left out."""
    orders = _rows(db, "SELECT * FROM orders ORDER BY id")
    for order in orders:
        order["url"] = f"/sales/order/view/order_id/{order['id']}/"
        order["shipping_address"] = json.loads(order["shipping_address"])
        order["billing_address"] = json.loads(order["billing_address"])
        order["items"] = _rows(
            db,
            "SELECT product_id, sku, name, size, price, quantity FROM order_item WHERE order_id = ? ORDER BY id",
            order["id"],
        )
    carts = _rows(db, "SELECT cart.*, email FROM cart LEFT JOIN customer ON customer.id = customer_id ORDER BY cart.id")
    for cart in carts:
        cart["items"] = _rows(
            db,
            "SELECT sku, name, size, quantity, price FROM cart_item JOIN product ON product.id = product_id"
            " WHERE cart_id = ? ORDER BY cart_item.id",
            cart["id"],
        )
    wishes: dict[str, list[str]] = {}
    for row in db.execute(
        "SELECT email, sku FROM wish JOIN customer ON customer.id = customer_id"
        " JOIN product ON product.id = product_id ORDER BY customer_id, added"
    ):
        wishes.setdefault(row["email"], []).append(row["sku"])
    return {
        "seed": seed,
        "orders": orders,
        "carts": carts,
        "wishlists": wishes,
        "reviews": _rows(
            db,
            "SELECT review.id, sku, product.name AS product, author, rating, title, body, created,"
            " customer_id FROM review JOIN product ON product.id = product_id ORDER BY review.id",
        ),
        "users": _rows(db, "SELECT id, email, first, last, newsletter FROM customer ORDER BY id"),
        "addresses": _rows(db, "SELECT * FROM address ORDER BY id"),
        "messages": _rows(db, "SELECT * FROM message ORDER BY id"),
        "stock": dict(tuple(row) for row in db.execute("SELECT sku, stock FROM product ORDER BY id")),
    }
