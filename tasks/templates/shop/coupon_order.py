"""Read the coupon code of an offer, fill the cart, use the code: the code is needed many pages after it was read."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

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
    filling = [
        *begin(1, put_into_cart(names[0], note=f"code '{offer['code']}'")),
        *begin(2, put_into_cart(names[1])),
    ]

    def using(code: str) -> list[dict[str, object]]:
        return begin(3, [click("link", "Cart (2)"), fill("Coupon code", code), click("button", "Apply")])

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
            *begin(4, [stop(dollars(total - discount))]),
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
        "A friend told me that {offer} is cheaper with a coupon this week. (Find|Get) its code, put one '{first}' and "
        "one '{second}' into my cart, apply the code, and (let me know|tell me) the order total; no checkout.",
        "By the end the cart holds one '{first}' and one '{second}' with the coupon for {offer} (applied|in use), and "
        "I know the order total (from you|from your answer). Nothing is ordered.",
        "(See|Learn) among the offers what the coupon code for {offer} is. One '{first}' and one '{second}' go into "
        "the basket, the code too; what is the order total (after that|with it)? Do not order.",
        "'{first}' and '{second}', one of each, into my cart, (then|and then) the code of the {offer} offer on top. "
        "(Tell me|Answer with) the order total and leave the cart as it is.",
        "How much do I pay for a '{first}' and a '{second}' in one order with the {offer} coupon? (Fill|Load) the "
        "cart, enter the code that the (offers show|offer shows), and read the order total; do not check out.",
        "I would like to know the order total of my cart (once|when) it holds one '{first}' and one '{second}' and the "
        "code of the offer on {offer} is applied. Please (set it up so|do all that), without checking out.",
        "Make sure that my basket has one '{first}', one '{second}' and the {offer} coupon code (on it|entered). What "
        "order total does it (show|give)? I do the ordering myself.",
        "On {offer} there is money off with a code. (Take|Grab) the code from its offer, put '{first}' and '{second}' "
        "into the cart, enter the code, and (reply with|give) the order total. Stop before the checkout.",
        "The code comes first, it is the one for {offer}; then the goods, one '{first}' and one '{second}', into the "
        "cart; then (apply|enter) the code. (Which|What) order total do you see? Leave it at that.",
        "Would you (fetch|look for) the coupon code for {offer} and apply it to a cart of one '{first}' and one "
        "'{second}'? (What I need is|I am waiting for) the order total, not the order itself.",
        "Before I order '{first}' and '{second}', I want to see the price with the {offer} coupon. (Put|Lay) one of "
        "each into the cart, apply the coupon's code and (report|state) the order total.",
        "One '{first}' plus one '{second}', less the coupon of the offer on {offer}: put them into my (cart|basket), "
        "have the code applied, and answer with the order total that (results|then stands there).",
    ),
    held_out=(
        "The offers page has a code for {offer}. Use it on a cart with '{first}' and '{second}' in it and give me the "
        "(total|order total).",
        "Fill a cart with '{first}' and '{second}', redeem the code that is offered on {offer}, and say what the order "
        "comes to.",
    ),
    plan="code in offer on {offer}; '{first}' into cart; '{second}' into cart; use code in cart; answer total",
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
