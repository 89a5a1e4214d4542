"""Read the coupon code of an offer, fill the cart, use the code: the code is needed many pages after it was read."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit

from ._shop import amounts, cart_holds, click, dollars, fill, plain_products, put_into_cart, stop


def draw(drawing: Drawing) -> Draft:
    """An offer on a category with two of its products, and another offer whose code would be wrong."""
    offers = drawing.rows(
        "shop",
        "SELECT coupon.*, category.name AS category FROM coupon JOIN category ON category.id = category_id"
        " WHERE NOT expired AND minimum = 0 AND percent > 0 ORDER BY coupon.title",
    )
    offer, other = drawing.rng.sample(offers, 2)
    goods = plain_products(drawing, f"category_id = {offer['category_id']}")
    first, second = drawing.sample(goods, 2)
    total = first["price"] + second["price"]
    if total * offer["percent"] % 100:
        raise Unfit("the discount is not a whole number of cents")
    discount = total * offer["percent"] // 100
    names = first["name"], second["name"]
    filling = [*put_into_cart(names[0], note=f"code '{offer['code']}'"), *put_into_cart(names[1])]

    def using(code: str) -> list[dict[str, object]]:
        return [click("link", "Cart (2)"), fill("Coupon code", code), click("button", "Apply")]

    return Draft(
        values={"offer": offer["category"], "first": names[0], "second": names[1]},
        evaluation={
            "eval_types": ["string_match", "program_html"],
            "reference_answers": {"must_include": [amounts(total - discount)]},
            "program_html": [
                cart_holds(*names),
                {
                    "url": "last",
                    "locator": "document.querySelector('.cart-summary').outerText",
                    "required_contents": {"must_include": [offer["code"]]},
                },
            ],
        },
        oracle=[
            click("link", "Offers"),
            click("link", offer["title"]),
            *filling,
            *using(offer["code"]),
            stop(dollars(total - discount)),
        ],
        near_miss=[
            click("link", "Offers"),
            click("link", other["title"]),
            *filling,
            *using(other["code"]),
            stop(dollars(total)),
        ],
    )


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "(Look up|Find) the coupon code of this week's offer on {offer}, put one '{first}' and one '{second}' into the "
        "cart, (use|enter) the code there and tell me the order total. Do not check out.",
        "I want a '{first}' and a '{second}' with the discount on {offer}. (Get|Read) the coupon code first, fill the "
        "cart, apply the code (there|in the cart) and report the total, without ordering.",
        "There is a coupon for {offer}. (Note|Remember) its code, add '{first}' and '{second}' to the cart and apply "
        "it. What is the order total (then|now)?",
        "What do '{first}' and '{second}' cost together once the coupon for {offer} is used? (Put both into|Add both "
        "to) the cart and apply the coupon's code; leave them there.",
        "I am going to buy '{first}' and '{second}' and heard of a coupon for {offer}. Find its code (in|among) the "
        "offers, put one of each into the cart, apply the code, and tell me the order total (before I pay|without "
        "ordering).",
        "Please prepare my cart: one '{first}', one '{second}', and the coupon code of the offer on {offer} applied. "
        "(How much is the order total?|Report the order total.)",
        "Start with the offers and note the code for {offer}. Then fill the cart with '{first}' and '{second}', one "
        "of each, enter the code and (say|report) what the order total is.",
        "With the {offer} coupon, what is the order total for one '{first}' and one '{second}'? (Do it in the "
        "cart|Try it in the cart), and place no order.",
    ),
    held_out=(
        "The offers page has a code for {offer}. Use it on a cart with '{first}' and '{second}' in it and give me the "
        "(total|order total).",
        "Fill a cart with '{first}' and '{second}', redeem the code that is offered on {offer}, and say what the order "
        "comes to.",
    ),
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
