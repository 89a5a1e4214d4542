"""What the shop's templates share: how one gets to a product, what the cart holds, and how amounts are written."""

from __future__ import annotations

from typing import Any

from confkv_agents.web.tasks import Drawing
from confkv_agents.web.tasks.worlds import Row

CART = (
    "[...document.querySelectorAll('#shopping-cart-table tbody tr')].map(row => "
    "row.querySelector('a').textContent + ' x' + row.querySelector('input.qty').value).sort().join('; ')"
)
"""Locator of the cart's lines on the cart page, `Name x1; Name x2`, sorted."""


def click(role: str, name: str, note: str = "", **more: Any) -> dict[str, Any]:
    """A scripted click."""
    return _step(note, {"action": "click", "role": role, "name": name} | more)


def stop(answer: str = "", note: str = "") -> dict[str, Any]:
    """The scripted end."""
    return _step(note, {"action": "stop", "answer": answer})


def search(words: str, note: str = "") -> dict[str, Any]:
    """Look for something with the field at the top of every page."""
    return _step(note, {"action": "type", "role": "textbox", "name": "Search", "text": words, "enter": True})


def fill(name: str, text: str, note: str = "") -> dict[str, Any]:
    """Write into a field."""
    return _step(note, {"action": "type", "role": "textbox", "name": name, "text": text})


def open_product(name: str, note: str = "") -> list[dict[str, Any]]:
    """Search for a product by its name and open its page."""
    return [search(name, note), click("link", name)]


def put_into_cart(name: str, note: str = "") -> list[dict[str, Any]]:
    """Search for a product by its name and put one into the cart."""
    return [*open_product(name, note), click("button", "Add to Cart")]


def dollars(cents: int) -> str:
    """An amount as the shop writes it: `$58`, `$58.50`, `$1,058`."""
    whole, rest = divmod(cents, 100)
    return f"${whole:,}" + (f".{rest:02d}" if rest else "")


def amounts(cents: int) -> str:
    """The ways in which an answer may write an amount, for `must_include`."""
    whole, rest = divmod(cents, 100)
    if rest:
        return f"{whole}.{rest:02d}"
    return f"{whole} |OR| {whole}.00"


def cart_holds(*names: str) -> dict[str, Any]:
    """A check that the cart holds one of each and nothing else."""
    return {
        "url": "__SHOPPING__/checkout/cart/",
        "locator": CART,
        "required_contents": {"exact_match": "; ".join(sorted(f"{name} x1" for name in names))},
    }


def plain_products(drawing: Drawing, where: str = "1") -> list[Row]:
    """Products in stock that need no size and hide nothing, with the name of their category.

    Args:
        drawing: The drawing.
        where: A further condition on the table `product`.
    """
    return drawing.rows(
        "shop",
        "SELECT product.*, category.name AS category FROM product JOIN category ON category.id = category_id"
        f" WHERE stock > 0 AND sizes = '[]' AND pieces = 1 AND motif IS NULL AND {where} ORDER BY product.id",
    )


def _step(note: str, step: dict[str, Any]) -> dict[str, Any]:
    return ({"note": note} if note else {}) | step
