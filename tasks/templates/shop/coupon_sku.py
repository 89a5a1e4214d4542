"""As `coupon_order`, but the SKUs of the two products are asked for: a code and two facts are to be kept."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit

from ._shop import cart_holds, click, coupon_is, fill, offers, open_product, plain_products, put_into_cart, stop


def draw(drawing: Drawing) -> Draft:
    """An offer on a category, two of its products, and a third one whose SKU would be wrong."""
    offer = drawing.rng.choice([each for each in offers(drawing) if each["category"]])
    goods = plain_products(drawing, f"category_id = {offer['category_id']}")
    first, second = drawing.sample(goods, 2)
    others = [row for row in goods if row not in (first, second)]
    if not others:
        raise Unfit("nothing else is in stock there")
    other = drawing.rng.choice(others)
    names = first["name"], second["name"]
    reading = [click("link", "Offers"), click("link", offer["title"])]
    using = [
        click("link", "Cart (2)", note=f"SKU '{second['sku']}'"),
        fill("Coupon code", offer["code"]),
        click("button", "Apply"),
    ]
    return Draft(
        values={"offer": offer["category"], "first": names[0], "second": names[1]},
        evaluation={
            "eval_types": ["string_match", "program_html"],
            "reference_answers": {"must_include": [first["sku"], second["sku"]]},
            "program_html": [cart_holds(*names), coupon_is(offer["code"])],
        },
        oracle=[
            *reading,
            *put_into_cart(names[0], note=f"code '{offer['code']}'"),
            *put_into_cart(names[1], note=f"SKU '{first['sku']}'"),
            *using,
            stop(f"{first['sku']}, {second['sku']}"),
        ],
        near_miss=[
            *reading,
            *open_product(other["name"]),
            *put_into_cart(names[0]),
            *put_into_cart(names[1]),
            *using,
            stop(f"{other['sku']}, {second['sku']}"),
        ],
    )


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "(Read|Get) the code of the offer on {offer} first. Then put '{first}' and '{second}' into the cart, apply "
        "the code (there|in the cart) and tell me the SKUs of the two.",
        "I need '{first}' and '{second}' with the {offer} coupon. (Look its code up|Find its code), fill the cart, "
        "use the code, and report both SKUs.",
        "There is a discount on {offer} with a coupon code. Apply it to a cart with one '{first}' and one '{second}', "
        "(and answer with|then give me) the SKUs of both.",
        "Use the coupon for {offer} on '{first}' and '{second}': one of each in the cart, code applied. Which SKUs "
        "(do they have|have the two products)? Do not check out.",
        "(Prepare|Make ready) a cart for me with '{first}', '{second}' and the code of the offer on {offer}. I also "
        "want to know the SKU of each.",
        "I am making a cart with one '{first}' and one '{second}' and want to use the coupon of the offer on "
        "{offer}. (Do that|See to that) and tell me both SKUs.",
        "Look among the offers for the code on {offer}. Put '{first}' and '{second}' into the cart, note their SKUs "
        "on the way, apply the code, and (report|list) the SKUs.",
        "Please add '{first}' and '{second}' to the cart with the code for {offer} (applied|entered). My answer from "
        "you: the two SKUs.",
    ),
    held_out=(
        "An offer on {offer} runs this week. Redeem its code for one '{first}' and one '{second}' in my cart and note "
        "down the two SKUs for me.",
        "What are the SKUs of '{first}' and '{second}'? While you are there, put (both|one of each) into the cart, "
        "with the coupon that is offered on {offer}.",
    ),
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
