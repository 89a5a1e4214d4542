"""What the shop's templates share: how one gets to a product, what the cart holds, and how amounts are written."""

from __future__ import annotations

import re
from typing import Any

from confkv_agents.web.tasks import Drawing, Unfit
from confkv_agents.web.tasks.worlds import Row

CART = (
    "[...document.querySelectorAll('#shopping-cart-table tbody tr')].map(row => row.querySelector('a').textContent"
    " + [...row.querySelectorAll('dd')].map(size => ' ' + size.textContent).join('')"
    " + ' x' + row.querySelector('input.qty').value).sort().join('; ')"
)
"""Locator of the cart's lines on the cart page, `Name x1; Name 41 x2` (with the size, if any), sorted."""
COLOURS = ("Red", "Orange", "Yellow", "Green", "Blue", "Purple", "Pink", "Black")
"""What pictures may be tinted with."""
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven")
"""Numbers of pieces in words, by the number."""
NOT_POSSIBLE = {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": "N/A"}}
"""The `eval` of a task that cannot be done."""


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


def quantity(number: int) -> list[dict[str, Any]]:
    """On a product's page, ask for several pieces; no step for one."""
    if number == 1:
        return []
    return [{"action": "type", "role": "spinbutton", "name": "Qty", "text": str(number)}]


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


def cart_line(name: str, quantity: int = 1, size: str = "") -> str:
    """A line of the cart as `CART` gives it."""
    return f"{name}{' ' + size if size else ''} x{quantity}"


def cart_is(*lines: str) -> dict[str, Any]:
    """A check that the cart holds these lines (`cart_line`) and nothing else."""
    return {
        "url": "__SHOPPING__/checkout/cart/",
        "locator": CART,
        "required_contents": {"exact_match": "; ".join(sorted(lines))},
    }


def cart_holds(*names: str) -> dict[str, Any]:
    """A check that the cart holds one of each and nothing else."""
    return cart_is(*(cart_line(name) for name in names))


def only(*checks: dict[str, Any]) -> dict[str, Any]:
    """An `eval` of nothing but checks of pages."""
    return {"eval_types": ["program_html"], "program_html": list(checks)}


def in_order(*answers: str) -> str:
    """An entry of `must_include` for several short answers in the order asked for, however they are joined."""
    *some, last = answers
    ways = (", ".join(answers), " ".join(answers), f"{', '.join(some)} and {last}", f"{', '.join(some)}, and {last}")
    return " |OR| ".join(ways)


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


def every_product(drawing: Drawing, where: str = "1") -> list[Row]:
    """Products with the name of their category, what their page shows as `rating` (`4.3`, or empty) and `tag`.

    `tag` is a price as the page writes it.
    """
    rows = drawing.rows(
        "shop",
        "SELECT product.*, category.name AS category,"
        " (SELECT AVG(rating) FROM review WHERE product_id = product.id) AS mean"
        f" FROM product JOIN category ON category.id = category_id WHERE {where} ORDER BY product.id",
    )
    for row in rows:
        row["rating"] = "" if row["mean"] is None else f"{row['mean']:.1f}"
        row["tag"] = dollars(row["price"])
    return rows


def colour_hidden(drawing: Drawing) -> list[Row]:
    """Products whose colour only their picture tells."""
    return every_product(drawing, "colour IS NULL AND tint IS NOT NULL AND motif IS NULL AND pieces = 1")


def sets(drawing: Drawing, where: str = "1") -> list[Row]:
    """Sets whose number of pieces only their picture tells; no number of the kind is spoken of on their page."""
    telling = re.compile(rf"\b({'|'.join(NUMBERS[2:])})\b", re.IGNORECASE)
    return [row for row in every_product(drawing, f"pieces > 1 AND {where}") if not telling.search(row["description"])]


def offers(drawing: Drawing) -> list[Row]:
    """Offers that still run and ask for no least amount, with the name of their category (None: for every order)."""
    return drawing.rows(
        "shop",
        "SELECT coupon.*, category.name AS category FROM coupon LEFT JOIN category ON category.id = category_id"
        " WHERE NOT expired AND minimum = 0 ORDER BY coupon.title",
    )


def coupon_is(code: str) -> dict[str, Any]:
    """A check that the cart uses a coupon code; comes after `cart_is`, whose page it looks at."""
    return {
        "url": "last",
        "locator": "document.querySelector('#discount-coupon-form strong').textContent",
        "required_contents": {"exact_match": code},
    }


def registry_wishes(drawing: Drawing, registry: Row) -> list[Row]:
    """The products wished for in a gift registry, each with `wanted`, in no particular order."""
    return drawing.rows(
        "shop",
        "SELECT product.*, quantity AS wanted FROM registry_item JOIN product ON product.id = product_id"
        " WHERE registry_id = ? ORDER BY product.id",
        registry["id"],
    )


def two_registries(drawing: Drawing) -> tuple[Row, Row]:
    """A registry whose title belongs to the split, and any other one."""
    registries = drawing.rows("shop", "SELECT * FROM registry ORDER BY id")
    registry = drawing.choose(registries, "title")
    return registry, drawing.rng.choice([each for each in registries if each["id"] != registry["id"]])


def by_price(wishes: list[Row], extreme: str) -> Row:
    """The `cheaper` or `dearer` of two products.

    Raises:
        Unfit: They cost the same.
    """
    low, high = sorted(wishes, key=lambda wish: int(wish["price"]))
    if low["price"] == high["price"]:
        raise Unfit("two wishes cost the same")
    return low if extreme == "cheaper" else high


def _step(note: str, step: dict[str, Any]) -> dict[str, Any]:
    return ({"note": note} if note else {}) | step
