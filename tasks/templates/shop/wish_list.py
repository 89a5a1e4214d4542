"""Put a product on one's wish list, and take one of the older wishes off it."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit

from ._shop import by_price, click, every_product, only, open_product, stop

WISHES = (
    "[...document.querySelectorAll('.wishlist .product-item-link')].map(each => each.textContent).sort().join('; ')"
)


def draw(drawing: Drawing) -> Draft:
    """A new wish, and the cheaper or dearer of the demo user's two wishes."""
    wishes = drawing.rows(
        "shop",
        "SELECT product.* FROM wish JOIN product ON product.id = product_id WHERE customer_id = 1 ORDER BY added",
    )
    product = drawing.choose(every_product(drawing))
    if product["id"] in [wish["id"] for wish in wishes]:
        raise Unfit("it is wished for already")
    extreme = drawing.rng.choice(("cheaper", "dearer"))
    gone = by_price(wishes, extreme)
    (kept,) = (wish for wish in wishes if wish != gone)
    adding = [*open_product(product["name"]), click("button", "Add to Wish List")]

    def remove(name: str, note: str = "") -> list[dict[str, object]]:
        return [*adding, click("button", f"Remove {name}", note), stop()]

    return Draft(
        values={"product": product["name"], "extreme": extreme},
        evaluation=only(
            {
                "url": "__SHOPPING__/wishlist/",
                "locator": WISHES,
                "required_contents": {"exact_match": "; ".join(sorted((product["name"], kept["name"])))},
            }
        ),
        oracle=remove(gone["name"], f"'{gone['name']}' is {extreme}"),
        near_miss=remove(kept["name"]),
        login=True,
    )


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "Put '{product}' on my wish list and (remove|take off) the {extreme} of the two things that are on it now.",
        "(Add|Please add) '{product}' to my wish list. Of the two older wishes, remove the {extreme} one.",
        "There are two products on my wish list. Replace the {extreme} one (by|with) '{product}'.",
        "I no longer want the {extreme} of my two wishes; I want '{product}' instead. (Change|Update) my wish list.",
        "My wish list should get '{product}' and lose the {extreme} of the other two (things|products).",
        "I changed my mind about the {extreme} of the two products on my wish list: take it off and (add|put on) "
        "'{product}'.",
        "Please edit my wish list. '{product}' is new on it, and of the two things there so far the {extreme} one "
        "(goes|has to go).",
        "Take the {extreme} of my two wishes from the wish list and have '{product}' there (instead|in its place).",
    ),
    held_out=(
        "(Swap|Exchange) something on my wish list: out goes the {extreme} of the two products there, in comes "
        "'{product}'.",
        "On my wish list I would rather have '{product}' than the {extreme} one of those that stand there today.",
    ),
    draw=draw,
)
