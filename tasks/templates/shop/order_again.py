"""Order again what was ordered once: names, numbers and sizes of a past order are kept while its things are bought."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin
from confkv_agents.web.tasks.worlds import Row

from ._shop import cart_is, cart_line, click, only, quantity, search, stop

MOST_STEPS = 15


def draw(drawing: Drawing) -> Draft:
    """An order of the demo user with several things that can be had again, and a thing of another order."""
    things = drawing.rows(
        "shop",
        "SELECT order_item.*, number, created, stock FROM order_item JOIN orders ON orders.id = order_id"
        " JOIN product ON product.id = product_id WHERE customer_id = 1 ORDER BY order_item.id",
    )
    chosen = drawing.rng.choice(sorted({row["order_id"] for row in things}))
    items = [row for row in things if row["order_id"] == chosen]
    names = [row["name"] for row in items]
    others = [row for row in things if row["name"] not in names and row["stock"] and not row["size"]]
    if len(items) < 2 or any(row["stock"] < row["quantity"] for row in items) or not others:
        raise Unfit("one thing only, sold out, or nothing to take for it")
    opening = [
        click("link", "My Account"),
        click("link", "My Orders"),
        click("link", items[0]["number"], note=f"order of '{items[0]['created']}'"),
    ]

    def buy(wanted: list[Row]) -> list[dict[str, object]]:
        first, *rest = wanted
        others = [step for row in rest for step in (search(row["name"]), click("link", row["name"]), *_add(row))]
        return [
            *opening,
            *begin(1, [click("link", first["name"], note="; ".join(_described(row) for row in items)), *_add(first)]),
            *begin(2, others),
            stop(),
        ]

    oracle = buy(items)
    if len(oracle) > MOST_STEPS:
        raise Unfit("too much to buy")
    return Draft(
        values={"order": items[0]["created"]},
        evaluation=only(cart_is(*(cart_line(row["name"], row["quantity"], row["size"]) for row in items))),
        oracle=oracle,
        near_miss=buy([*items[:-1], drawing.rng.choice(others)]),
        login=True,
    )


def _described(row: Row) -> str:
    size = f" size '{row['size']}'" if row["size"] else ""
    return f"'{row['name']}'{size} {row['quantity']}"


def _add(row: Row) -> list[dict[str, object]]:
    size = [{"action": "select", "role": "combobox", "name": "Size", "option": row["size"]}] if row["size"] else []
    return [*size, *quantity(row["quantity"]), click("button", "Add to Cart")]


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "(Put|Place) everything that I ordered on {order} into my cart again, in the same numbers and sizes.",
        "I want to order once more what I ordered on {order}. (Fill|Please fill) the cart with the same things: same "
        "numbers, same sizes. Do not check out.",
        "(Look up|Find) my order of {order} and add all of its items to the cart, as many as I had then, in the size "
        "that I had.",
        "My order of {order} was just right. My cart should now hold (exactly the same|the very same things), number "
        "and size included.",
        "What did I buy on {order}? (Add|Put) all of it (to|into) the cart again, with the quantities and sizes of "
        "then.",
        "Remember my order of {order}? (Put|Place) the same things into the cart once more, as many of each and in "
        "the same sizes.",
        "Go to my orders, open the one of {order} and add (each|every one) of its items to the cart in the quantity "
        "and size it had.",
        "I liked what came with my order of {order}. Please (fill|load) my cart with all of it again: number and "
        "size as before, and no checkout.",
        "All that was in my order of {order} (should|is to) be in my cart once more: the same (pieces|quantities) of "
        "each thing, the same sizes.",
        "By the end my cart (holds|contains) what I ordered on {order}, every item in its old quantity and, where "
        "there is one, its old size, and (nothing else|no more).",
        "On {order} I placed an order. (Open|Look at) it and put its items into the basket, each in the "
        "(number|quantity) and size ordered at that time.",
        "I would like the order of {order} (a second time|once again). (Put|Lay) its items into the cart in the "
        "quantities and sizes it lists, but do not order.",
        "Could you (rebuild|make up) my order of {order} in the cart, item by item, with the numbers and sizes (it "
        "had|ordered)?",
        "Make sure that everything from my order of {order} (is|lies) in the cart again, (in|with) the right number of "
        "pieces and the right size.",
        "My neighbour wants just what I bought on {order}. (Load|Fill) the cart with each item of that order, "
        "(number|quantity) and size unchanged.",
        "Which things, how many and in what size did I order on {order}? The same ones (shall|should) go into my "
        "(cart|basket) now.",
        "From my account, take the order of {order} and (copy|move) its contents to the cart: every item, with its "
        "quantity and its size (as ordered|kept).",
        "Into the (cart|basket) with the items of my order of {order}, in the quantities and sizes (of that "
        "day|ordered then); I check out myself.",
        "Take my order of {order} as a shopping list: (get|pick) each item on it, in the quantity and the size that it "
        "(names|shows), for my cart.",
        "Please (see|check) in my account what I ordered on {order}, and have every item of it added to the cart, with "
        "(quantity and size|size and quantity) the same as there.",
    ),
    held_out=(
        "Repeat my order of {order}: (all of it|each of its items) into the shopping cart, as many pieces as last "
        "time and in the same size.",
        "The things from my {order} order are used up. Have them all in my cart again, same count, same size.",
    ),
    plan="my order of {order}; first thing into cart, same number, size; other things into cart, same numbers, sizes",
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
