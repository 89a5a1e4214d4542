"""A coupon code, a wish and an address are read first; all three are needed many pages later."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

from ._shop import (
    by_price,
    cart_holds,
    click,
    coupon_is,
    fill,
    offers,
    plain_products,
    put_into_cart,
    registry_wishes,
    stop,
    two_registries,
)


def draw(drawing: Drawing) -> Draft:
    """An offer with a product that it covers, a registry with its wishes, and another offer with a wrong code."""
    registry, _ = two_registries(drawing)
    extreme = drawing.rng.choice(("cheaper", "dearer"))
    gift = by_price(registry_wishes(drawing, registry), extreme)
    offer, other = drawing.rng.sample(offers(drawing), 2)
    goods = plain_products(drawing, f"category_id = {offer['category_id']}" if offer["category"] else "1")
    product = drawing.choose(goods)
    if product["id"] == gift["id"]:
        raise Unfit("the product is wished for already")
    names = product["name"], gift["name"]
    chosen = f"'{gift['name']}' is {extreme}; to '{registry['street']}'"

    def shop(title: str, code: str) -> list[dict[str, object]]:
        return [
            click("link", "Offers"),
            click("link", title),
            *begin(1, [click("link", "Gift Registry", note=f"code '{code}'"), click("link", registry["title"])]),
            *begin(2, [click("link", gift["name"], note=chosen), click("button", "Add to Cart")]),
            *begin(3, put_into_cart(product["name"])),
            *begin(4, [click("link", "Cart (2)"), fill("Coupon code", code), click("button", "Apply")]),
            *begin(5, [stop(registry["street"])]),
        ]

    return Draft(
        values={
            "offer": f"'{offer['title']}'",
            "registry": registry["title"],
            "extreme": extreme,
            "product": product["name"],
        },
        evaluation={
            "eval_types": ["string_match", "program_html"],
            "reference_answers": {"must_include": [registry["street"]]},
            "program_html": [cart_holds(*names), coupon_is(offer["code"])],
        },
        oracle=shop(offer["title"], offer["code"]),
        near_miss=shop(other["title"], other["code"]),
    )


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "(Read|Get) the code of the offer {offer}, then put the {extreme} wish of {registry} (see the gift registry) "
        "and one '{product}' into the cart and apply the code. (In which street|At which street and number) is the "
        "present to be delivered?",
        "I have two things to buy: the {extreme} of the wishes in the gift registry of {registry}, and one "
        "'{product}'. Put one of each into the cart with the code of {offer}, and tell me the street (and house "
        "number |)of the registry.",
        "Use the coupon of the offer {offer} on a cart with '{product}' and the {extreme} wish of {registry} in the "
        "gift registry. (Answer with|Then tell me) the street address that the registry gives.",
        "(Note|Remember) the code of {offer} and the street in the gift registry of {registry}. Fill the cart with "
        "one piece of the {extreme} wish there and one '{product}', use the code, and answer with the street.",
        "I have a coupon in mind, that of the offer {offer}, and a present: the {extreme} wish in the gift registry "
        "of {registry}. Put the present and one '{product}' into the cart, (apply|enter) the code, and tell me the "
        "street of the registry's address.",
        "Please fill my cart with one '{product}' and one piece of the {extreme} wish of {registry} (gift registry), "
        "then use the code of the offer {offer}. (What street|Which street and number) does the registry give?",
        "First the offers: note the code of {offer}. Then the gift registry of {registry}: (see|note) its street and "
        "which wish is the {extreme} one. My cart should hold that wish and one '{product}', with the code used; "
        "answer with the street.",
        "(Take|Get) the coupon code from the offer {offer}. Into the cart go one '{product}' and the {extreme} wish in "
        "the gift registry of {registry}, and the code is applied; (your answer|what you tell me) is the street of "
        "that registry.",
        "By the end my cart holds one '{product}' and one piece of the {extreme} wish in the gift registry of "
        "{registry}, with the code of {offer} (applied|in use), and you (tell|have told) me the street and number in "
        "the registry.",
        "(What|Which) street and number does the gift registry of {registry} have? And (please |)put the {extreme} "
        "wish there and one '{product}' into my cart, with the code of the offer {offer} applied.",
        "One '{product}' for me, and for {registry} the {extreme} wish of the gift registry: put both into the "
        "(cart|basket), enter the code of {offer}, and (report|state) the street of the registry's address.",
        "A friend pointed me to the offer {offer}. (Apply|Enter) its code to a cart of one '{product}' and one piece "
        "of the {extreme} wish in the gift registry of {registry}, and (reply|answer) with the street and number given "
        "there.",
        "Make sure that the {extreme} wish in the gift registry of {registry} and one '{product}' are in my cart and "
        "that the code of {offer} is (applied|used). I also (need|want) the street of the address in the registry.",
        "I would like to know the street that the gift registry of {registry} (has|gives), and to have in my cart the "
        "{extreme} wish there and one '{product}', with the code of the offer {offer} (applied|entered).",
        "Go to the gift registry of {registry} and see the street and the {extreme} wish; go to the offers and "
        "(see|get) the code of {offer}. Cart: that wish, one '{product}', the code (applied|in use). Answer: the "
        "street.",
        "Would you put one '{product}' and one of the {extreme} wish of {registry}, see the gift registry, into my "
        "basket and use the code of the offer {offer} on it? Then (write|tell) me the street (for the parcel|of the "
        "registry).",
        "With the code of {offer} applied, my cart should (contain|have) two things: one '{product}', and the "
        "{extreme} wish from the gift registry of {registry}. (Which|What) street and number does that registry name?",
        "The offer {offer} has a code, the gift registry of {registry} has a street and wishes. (Lay|Put) the "
        "{extreme} wish and one '{product}' into the cart, apply the code, and (let me know|give me) the street.",
        "'{product}', one piece, and the {extreme} wish in the gift registry of {registry} (belong|are to be) in the "
        "cart, and the code of {offer} is to be applied. (Finish|End) with the registry's street as the answer.",
    ),
    held_out=(
        "The cart needs one '{product}' and the {extreme} of the two wishes of {registry} from the gift registry, "
        "plus the coupon code of {offer}. To which street does the gift go?",
        "(In which street|At which street address) does the registry of {registry} want its presents? Before you "
        "answer, fill the cart with the {extreme} wish and one '{product}' and redeem the code of the offer {offer}.",
    ),
    plan="code in offer {offer}; gift registry of {registry}: street; {extreme} wish into cart; "
    "'{product}' into cart; use code in cart; answer street",
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
