"""A coupon is to be used for which there is no offer: the right answer is that it cannot be done."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit

from ._shop import NOT_POSSIBLE, click, fill, offers, plain_products, put_into_cart, stop


def draw(drawing: Drawing) -> Draft:
    """A product of a category on which no offer runs, and a coupon for every order, which is another one."""
    running = offers(drawing)
    product = drawing.choose(plain_products(drawing))
    if product["category"] in [offer["category"] for offer in running]:
        raise Unfit("an offer runs on it")
    (general,) = (offer for offer in running if not offer["category"])
    adding = put_into_cart(product["name"])
    return Draft(
        values={"offer": product["category"], "product": product["name"]},
        evaluation=NOT_POSSIBLE | {"string_note": f"No offer runs on {product['category']}."},
        oracle=[
            *adding,
            click("link", "Offers"),
            {
                "action": "fail",
                "reason": f"there is no offer on {product['category']}",
                "note": f"no offer on '{product['category']}'",
            },
        ],
        near_miss=[
            *adding,
            click("link", "Offers"),
            click("link", general["title"]),
            click("link", "Cart (1)"),
            fill("Coupon code", general["code"]),
            click("button", "Apply"),
            stop("done"),
        ],
    )


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "Put one '{product}' into the cart and (use|apply) the coupon of this week's offer on {offer}.",
        "I want one '{product}' with the discount on {offer}. (Get|Read) the coupon code and use it in the cart.",
        "There should be a coupon for {offer}. Add '{product}' to (my|the) cart and apply its code.",
        "(Fill the cart with|Add to the cart) one '{product}' and redeem the code that is offered on {offer}.",
        "Buy '{product}' (at the reduced price|with the coupon) of the offer on {offer}: product in the cart, code "
        "applied.",
        "I would like to save on '{product}' with the coupon for {offer}. (Put|Place) one into the cart and apply "
        "the code.",
        "Look for the code of the offer on {offer}, add one '{product}' to my cart and (use|enter) that code.",
        "My cart should hold one '{product}', with the coupon of the offer on {offer} (used|applied).",
    ),
    held_out=(
        "The offers page must have a code for {offer}. Use it on a cart with one '{product}' in it.",
        "Have '{product}' in my cart with the {offer} coupon on it(.|, please.)",
    ),
    draw=draw,
)
