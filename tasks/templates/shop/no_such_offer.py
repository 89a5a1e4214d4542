"""A coupon is to be used for which there is no offer: the right answer is that it cannot be done."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

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
            *begin(1, [click("link", "Offers")]),
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
        "A friend told me of a coupon for {offer}. (Find|Get) its code, put one '{product}' into my (basket|cart) and "
        "apply it.",
        "By the end the cart (holds|contains) one '{product}', and the coupon of the offer on {offer} is (applied|in "
        "use).",
        "'{product}', one piece, into the (cart|basket), and then (enter|apply) the code of the offer on {offer}.",
        "(See|Learn) from the offers which code is good for {offer}. Then one '{product}' goes into the cart, with "
        "that code (applied|entered).",
        "Make sure that one '{product}' is in my (cart|basket) and the coupon code for {offer} is (applied|used) "
        "there.",
        "Would you (take|fetch) the code of the {offer} offer and apply it after putting one '{product}' into my "
        "(cart|basket)?",
        "On {offer} one saves with a code, (I hear|so I heard). Put '{product}' into the cart and apply (it|that "
        "code).",
        "I would like one '{product}' in my basket, and the {offer} coupon (applied to it|used there). (No checkout|No "
        "order), please.",
        "First read the coupon code for {offer}, then (pick up|take) one '{product}', then (apply|enter) the code in "
        "the cart.",
        "The coupon for {offer} should be on my cart, and in the cart one '{product}'; (please see to it|arrange "
        "that)(| without ordering).",
        "Money is short, so use the offer on {offer}: its code (applied|entered) in the cart, one '{product}' (in "
        "it|inside).",
        "(Drop|Lay) one '{product}' into the basket, and do not forget to apply the (code|coupon) that the offer on "
        "{offer} gives.",
    ),
    held_out=(
        "The offers page must have a code for {offer}. Use it on a cart with one '{product}' in it.",
        "Have '{product}' in my cart with the {offer} coupon on it(.|, please.)",
    ),
    plan="'{product}' into cart; code in offer on {offer}; use code in cart",
    draw=draw,
)
