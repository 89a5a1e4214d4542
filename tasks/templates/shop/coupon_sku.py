"""As `coupon_order`, but the SKUs of the two products are asked for: a code and two facts are to be kept."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

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
    using = begin(
        3,
        [
            click("link", "Cart (2)", note=f"SKU '{second['sku']}'"),
            fill("Coupon code", offer["code"]),
            click("button", "Apply"),
        ],
    )
    return Draft(
        values={"offer": offer["category"], "first": names[0], "second": names[1]},
        evaluation={
            "eval_types": ["string_match", "program_html"],
            "reference_answers": {"must_include": [first["sku"], second["sku"]]},
            "program_html": [cart_holds(*names), coupon_is(offer["code"])],
        },
        oracle=[
            *reading,
            *begin(1, put_into_cart(names[0], note=f"code '{offer['code']}'")),
            *begin(2, put_into_cart(names[1], note=f"SKU '{first['sku']}'")),
            *using,
            *begin(4, [stop(f"{first['sku']}, {second['sku']}")]),
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
        "A friend told me of a coupon for {offer}. (Find|Get) its code, put one '{first}' and one '{second}' into my "
        "basket, apply the code, and (tell|let) me know both SKUs.",
        "By the end the cart holds one '{first}' and one '{second}', the coupon for {offer} is (applied|in use), and I "
        "know the SKUs of the two (from you|from your answer).",
        "'{first}' and '{second}', one of each, into the (cart|basket), with the code from the offer on {offer} "
        "applied. The SKUs of the two are (what I want as answer|the answer).",
        "(See|Learn) from the offers which code is good for {offer}. One '{first}' and one '{second}' go into the "
        "cart, the code is entered there, and you (give|write) me the two SKUs.",
        "I would like both SKUs, that of '{first}' and that of '{second}', and a cart with one of each to which the "
        "{offer} coupon (has been|is) applied. (No checkout|No order), please.",
        "Make sure that '{first}' and '{second}' are in my cart, one piece each, and the coupon code for {offer} is "
        "(applied|used). (Which|What) SKUs do their pages give?",
        "Would you (take|fetch) the code of the {offer} offer, load my cart with one '{first}' and one '{second}', "
        "enter the code and (send|tell) me the SKU of each?",
        "For the bookkeeping I need the SKUs of '{first}' and '{second}'; for the cart I need one of each, with the "
        "code of the offer on {offer} (applied|entered). (Do both|See to both), but do not order.",
        "On {offer} one saves with a code; it (is|stands) among the offers. Apply it after you have put '{first}' and "
        "'{second}' into the cart, and (answer|reply) with the SKUs of these two.",
        "First read the coupon code for {offer}, then (pick up|take) '{first}' and '{second}', looking at their SKUs, "
        "then apply the code in the cart. (Finish|End) with both SKUs as your answer.",
        "The coupon for {offer} should be on my cart, and in the cart one '{first}' and one '{second}'. (Once|When) "
        "that is done, (state|name) the SKU of the one and of the other.",
        "Two products, '{first}' and '{second}', (are to be|must be) in my basket with the {offer} code applied, and "
        "their two SKUs in your (answer|reply).",
    ),
    held_out=(
        "An offer on {offer} runs this week. Redeem its code for one '{first}' and one '{second}' in my cart and note "
        "down the two SKUs for me.",
        "What are the SKUs of '{first}' and '{second}'? While you are there, put (both|one of each) into the cart, "
        "with the coupon that is offered on {offer}.",
    ),
    plan="code in offer on {offer}; '{first}' into cart, SKU; '{second}' into cart, SKU; use code in cart; answer SKUs",
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
