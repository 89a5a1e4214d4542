"""Put a product on one's wish list, and take one of the older wishes off it."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

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
        return [*adding, *begin(1, [click("button", f"Remove {name}", note)]), stop()]

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
        "By the end my wish list (holds|contains) '{product}' but no longer the {extreme} of the two things that "
        "(are|were) there before.",
        "A friend told me about '{product}', so I wish for it now: on the wish list with it, and (remove|delete) the "
        "{extreme} of my two (earlier|older) wishes.",
        "(Make sure|See to it) that '{product}' is on my wish list and that the {extreme} of the two products now on "
        "it (is gone|is removed).",
        "The {extreme} of the two things on my wish list is to be (removed|deleted), and '{product}' is to be "
        "(added|put there).",
        "'{product}' (onto|to be added to) my wish list, the {extreme} of the two earlier wishes (off it|to be "
        "removed).",
        "Could you (remove|delete) the {extreme} one of the two products on my wish list, and (add|save) '{product}' "
        "to that list?",
        "I would like '{product}' on my wish list. Compare the prices of the two things there now and (delete|remove) "
        "the {extreme} (one|of them).",
        "Which of the two wishes on my wish list is {extreme}? (That one|It) can go; '{product}' (should come|is) in "
        "its place.",
        "Somebody gave me the {extreme} of my two wishes. So (remove|strike) it from the wish list, and (add|put) "
        "'{product}' on the list.",
        "Open the page of '{product}' and add it to my wish list, then go to the list and (remove|take away) the "
        "{extreme} of the two wishes that were there (first|before).",
        "Keep one of the two things on my wish list, (drop|remove) the {extreme} one, and (add|include) '{product}' as "
        "a new wish.",
        "Three wishes are too many for me: with '{product}' (added|put) on the wish list, the {extreme} of the two old "
        "ones (must go|has to be removed).",
    ),
    held_out=(
        "(Swap|Exchange) something on my wish list: out goes the {extreme} of the two products there, in comes "
        "'{product}'.",
        "On my wish list I would rather have '{product}' than the {extreme} one of those that stand there today.",
    ),
    plan="'{product}' on wish list; remove {extreme} of two older",
    draw=draw,
)
