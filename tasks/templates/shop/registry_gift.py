"""Read a wish and an address in a gift registry, and fill in the checkout with them some pages later."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin
from confkv_agents.web.tasks.worlds import Row

from ._shop import by_price, cart_holds, click, fill, only, registry_wishes, stop, two_registries

METHODS = {
    "standard": "Standard, $5, 3 to 5 days",
    "express": "Express, $15, next day",
}
GUESTS = ("otto.lind", "ida.berg", "tom.sand", "eva.holm", "ben.frey", "lea.toth", "max.weiss", "nora.dahl")
SHIP_TO = "document.querySelector('.ship-to').innerText"


def draw(drawing: Drawing) -> Draft:
    """A registry with a cheaper and a dearer wish, and another registry whose street would be wrong."""
    registry, other = two_registries(drawing)
    extreme = drawing.rng.choice(("cheaper", "dearer"))
    gift = by_price(registry_wishes(drawing, registry), extreme)
    method = drawing.rng.choice(list(METHODS))
    email = f"{drawing.rng.choice(GUESTS)}@mail.test"
    if registry["street"] == other["street"]:
        raise Unfit("both live there")
    where = ", ".join(f"'{registry[part]}'" for part in ("first", "last", "street", "city", "postcode"))
    chosen = f"'{gift['name']}' is {extreme}; to {where}"

    def order(place: Row) -> list[dict[str, object]]:
        return [
            click("link", "Gift Registry"),
            click("link", registry["title"]),
            *begin(1, [click("link", gift["name"], note=chosen), click("button", "Add to Cart")]),
            *begin(2, [click("link", "Cart (1)"), click("link", "Proceed to Checkout")]),
            *begin(3, [fill("Email", email)]),
            *begin(4, [fill("First name", registry["first"]), fill("Last name", registry["last"])]),
            fill("Street address", place["street"]),
            fill("City", place["city"]),
            fill("Postcode", place["postcode"]),
            *begin(5, [click("radio", METHODS[method])]),
            *begin(6, [click("button", "Next")]),
            stop(),
        ]

    return Draft(
        values={"registry": registry["title"], "extreme": extreme, "method": method, "email": email},
        evaluation=only(
            cart_holds(gift["name"]),
            {
                "url": "__SHOPPING__/checkout/",
                "locator": SHIP_TO,
                "required_contents": {
                    "must_include": [
                        f"{registry['first']} {registry['last']}",
                        registry["street"],
                        f"{registry['city']}, {registry['postcode']}",
                        f"{method.title()} shipping",
                    ]
                },
            },
        ),
        oracle=order(registry),
        near_miss=order(other),
    )


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "Buy the {extreme} of the two wishes in the gift registry of {registry}, with {method} shipping to the "
        "address given (there|in the registry). My email is {email}. (Stop|Finish) when the payment method is asked "
        "for; I pay myself.",
        "I want to give {registry} the {extreme} of the two things wished for in the gift registry. Go through the "
        "checkout up to the payment (page|step): {method} delivery to the registry's address, my email {email}.",
        "(Look up|Find) the gift registry of {registry}, put one piece of the {extreme} wish into the cart and check "
        "out with its delivery address, {method} shipping and the email {email}. Do not place the order yet; stay on "
        "the payment step.",
        "For {registry}: the {extreme} wish of the gift registry shall go to the address that stands there, {method} "
        "shipping. (Fill in|Complete) the shipping step of the checkout (email {email}) and leave the payment to me.",
        "(Please prepare|Prepare) an order of one present, the {extreme} wish of {registry} in the gift registry: "
        "{method} shipping, the registry's own address, email {email}. The last thing you do is press Next.",
        "I would like to give a present for {registry}: the {extreme} of the two wishes in the gift registry. Have "
        "it shipped ({method}) to the address of the registry, with {email} as my email, and (stop|halt) at the "
        "payment step.",
        "Look at the two wishes in the gift registry of {registry} and prepare an order of the {extreme} one, one "
        "piece, to the address there. Shipping is {method}, my email {email}. Go (no further than|only as far as) "
        "the choice of payment.",
        "A friend told me of the gift registry of {registry}. (Get|Take) the {extreme} of its two wishes, one piece, "
        "and go through the checkout with the address given there, {method} shipping and my email {email}, (as far "
        "as|up to) the payment step.",
        "By the end the checkout stands at the payment step: one piece of the {extreme} wish in the gift registry of "
        "{registry}, {method} shipping, (addressed|going) to where the registry says, email {email}. (Place no "
        "order|Do not place the order).",
        "(See|Learn) from the gift registry of {registry} which of the two wishes is {extreme} and where it is to be "
        "sent. Put it into the cart, fill in the shipping step with that address, {method} shipping and {email}, and "
        "(press Next, no more|end by pressing Next).",
        "My email is {email}. I want the {extreme} wish in the gift registry of {registry} sent by {method} shipping "
        "to the address (found|named) there: fill in the checkout and (leave off|wait) where one chooses how to pay.",
        "With {method} shipping, to the delivery address in the gift registry of {registry}: one piece of the "
        "{extreme} wish there. (Enter|Use) {email} as my email in the checkout and (stay|remain) at the payment step.",
        "Could you (prepare|get ready) the order of the {extreme} wish from the gift registry of {registry}? The name "
        "and address are the registry's, shipping is {method}, the email is {email}; I (do|will do) the payment step "
        "myself.",
        "Make sure that the {extreme} wish of {registry}, see the gift registry, is in the cart, and that the "
        "(shipping step|first step) of the checkout is filled in with the registry's address, {email} and {method} "
        "shipping, then (press|click) Next and stop.",
        "The present for {registry} is the {extreme} of the two wishes in the gift registry. Add one to the cart and "
        "(start|begin) the checkout: registry's name and address, my email {email}, {method} shipping. (Payment|The "
        "payment step) is not your part.",
        "For {registry} I would like to have the {extreme} wish of the gift registry sent, one piece, ({method} "
        "shipping|by {method} shipping) to the registry's address. My email is {email}. (Halt|Stop) before anything is "
        "paid, at the payment step.",
        "One piece of the {extreme} wish goes from my cart to the address in the gift registry of {registry}, {method} "
        "shipping. (Do|Fill in) the checkout until the payment step is (shown|reached), with {email} as the email, and "
        "order nothing.",
        "Put the {extreme} wish from the gift registry of {registry} into my basket, then enter the email {email} and "
        "the registry's own name and address in the checkout, (choose|select) {method} shipping, and go on to the "
        "payment step, (no further|not beyond it).",
        "Where the gift registry of {registry} says, there the {extreme} of its two wishes (should|is to) go, one "
        "piece, {method} shipping, email {email}. The checkout is yours (up to|until) the payment step; the rest is "
        "mine.",
    ),
    held_out=(
        "One gift for {registry}, please: the {extreme} of the wishes in the registry, with {method} shipping to "
        "where the registry says. Use {email} as my email and get as far as the choice of payment.",
        "Take me to the payment step with the {extreme} wish of {registry} in the order. It goes to the address in "
        "their gift registry, {method} shipping; my email address is {email}.",
    ),
    plan="gift registry of {registry}: name, address; {extreme} wish into cart; checkout; email {email}; "
    "registry's name, address; {method} shipping; next, stop at payment",
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
