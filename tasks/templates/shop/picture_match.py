"""See in a picture which colour something has, do something else, then buy a thing of the same colour."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin
from confkv_agents.web.tasks.worlds import Row

from ._shop import (
    cart_holds,
    click,
    colour_hidden,
    every_product,
    only,
    open_product,
    plain_products,
    put_into_cart,
    search,
    stop,
)


def draw(drawing: Drawing) -> Draft:
    """A thing whose colour only its picture tells, a kind sold in that colour and in others, and an errand.

    No two of a kind are of one colour, so that the named colours of the thing's own kind rule themselves out.
    """
    owned = drawing.choose(colour_hidden(drawing))
    kinds: dict[str, list[Row]] = {}
    for row in every_product(drawing, "colour IS NOT NULL AND sizes = '[]'"):
        kinds.setdefault(row["noun"], []).append(row)
    ruled_out = {row["tint"] for row in every_product(drawing, "colour IS NOT NULL") if row["noun"] == owned["noun"]}
    fitting = [
        (row, other)
        for noun, goods in kinds.items()
        for row in goods
        for other in goods
        if noun != owned["noun"] and row["tint"] == owned["tint"] and row["stock"]
        if other["stock"] and other["tint"] not in {row["tint"], *ruled_out}
    ]
    if not fitting:
        raise Unfit("nothing is sold in the same colour and in another")
    match, other = drawing.rng.choice(fitting)
    noun = match["noun"]
    errand = drawing.choose([row for row in plain_products(drawing) if not row["colour"] and row["noun"] != noun])
    colour = owned["tint"].lower()

    def buy(name: str) -> list[dict[str, object]]:
        return [
            *open_product(owned["name"]),
            *begin(1, put_into_cart(errand["name"], note=f"{colour} {owned['noun'].lower()}")),
            *begin(2, [search(noun.lower())]),
            *begin(3, [click("link", name), click("button", "Add to Cart")]),
            stop(),
        ]

    return Draft(
        values={"owned": owned["name"], "errand": errand["name"], "kind": noun.lower()},
        evaluation=only(cart_holds(errand["name"], match["name"])),
        oracle=buy(match["name"]),
        near_miss=buy(other["name"]),
    )


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "I own the '{owned}'. (Put|Place) one '{errand}' into the cart, and also the {kind} that has the same colour "
        "as my '{owned}'.",
        "(Look up|See) which colour the '{owned}' has. Then add '{errand}' to the cart, and then the {kind} in that "
        "colour.",
        "Two things for my cart: one '{errand}', and the {kind} (that matches|that goes with) the colour of the "
        "'{owned}'. The '{owned}' itself I have already.",
        "(Find|Find out) the colour of '{owned}' first. My cart should hold '{errand}' and the {kind} of the same "
        "colour, and nothing else.",
        "My '{owned}' should get company: '{errand}' and, in the colour of the '{owned}', the {kind}. Add (both|these "
        "two) to the cart.",
        "At home I have the '{owned}', and its colour is what matters. (Put|Place) into my cart one '{errand}' and "
        "then the {kind} of that colour.",
        "See the picture of '{owned}' for its colour. Shop for '{errand}' first, then for the {kind} in the colour "
        "(you saw|of the picture): one of each in my cart.",
        "I want the {kind} that goes with my '{owned}', the same colour (I mean|that is). Besides, I need "
        "'{errand}'. (Both|The two) into the cart, please.",
        "A friend told me that things of one colour look well together. I have the '{owned}'; (put|drop) one "
        "'{errand}' and the {kind} in the colour of the '{owned}' into my (cart|basket).",
        "By the end my cart (holds|contains) two things: '{errand}', and the {kind} that is of the same colour as the "
        "'{owned}', (nothing else|no more).",
        "The picture of '{owned}' shows a colour. I (need|want) the {kind} of that colour, and one '{errand}': "
        "(place|put) these two in the cart.",
        "'{errand}' first, then the {kind} that has the colour of the '{owned}' (as pictured|in its picture): one of "
        "each into the (cart|basket).",
        "Of the same colour as '{owned}', that is how the {kind} (must|has to) be. Put it into the cart together with "
        "one '{errand}', but not the '{owned}' (itself|again).",
        "Could you check the colour of '{owned}' in its picture, add one '{errand}' to the (cart|basket), and then add "
        "the {kind} of the (same|very same) colour?",
        "Make sure that one '{errand}' and the {kind} in the colour of '{owned}' (are|lie) in my (cart|basket), and "
        "nothing besides.",
        "Only the picture (tells|shows) what colour '{owned}' is. Note it, get '{errand}' into the cart, and then get "
        "the {kind} in the colour (noted|that you noted).",
        "Which {kind} is of the same colour as '{owned}'? (Add|Take) that one and, before it, one '{errand}', into my "
        "(cart|basket).",
        "I would like one '{errand}' in my basket, and beside it the {kind} that is (of the same colour as|in the same "
        "colour as) the '{owned}' (that I have|of mine).",
        "Into the cart with '{errand}', and then with the {kind}, whose colour (must be|has to be) the one that the "
        "'{owned}' has in its (picture|photo).",
        "As a present for the owner of the '{owned}', (take|get) the {kind} in the same colour; I also need "
        "'{errand}'. Both are to be in the (cart|basket).",
    ),
    held_out=(
        "What colour does '{owned}' have? In the cart I want the {kind} of just that colour, and '{errand}' "
        "(besides|too).",
        "Shop for me: one '{errand}', and the {kind} whose colour is that of the '{owned}' (which I have|which is at "
        "my home).",
    ),
    plan="colour of '{owned}'; '{errand}' into cart; search {kind}; {kind} of that colour into cart",
    draw=draw,
    reasoning="hard",
    visual="medium",
    tags=("long-memory",),
)
