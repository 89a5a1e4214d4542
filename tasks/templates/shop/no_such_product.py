"""A product is asked for that the shop does not have, only look-alikes: the right answer is that it cannot be done."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit

from ._shop import COLOURS, NOT_POSSIBLE, every_product, plain_products, put_into_cart, search, stop


def draw(drawing: Drawing) -> Draft:
    """A colour in which no product of a kind is sold, not even one whose colour only the picture shows."""
    like = drawing.choose([row for row in plain_products(drawing) if row["colour"]])
    kind = [row for row in every_product(drawing) if row["noun"] == like["noun"]]
    missing = [colour for colour in COLOURS if colour not in {row["tint"] for row in kind}]
    if not missing:
        raise Unfit("there is one in every colour")
    name = f"{like['brand']} {drawing.rng.choice(missing)} {like['noun']}"
    return Draft(
        values={"product": name},
        evaluation=NOT_POSSIBLE | {"string_note": f"There is no '{name}', only '{like['name']}' and others."},
        oracle=[
            search(name),
            search(like["noun"].lower(), note=f"no '{name}' here"),
            {"action": "fail", "reason": f"there is no '{name}'", "note": f"no '{name}' in the shop"},
        ],
        near_miss=[*put_into_cart(like["name"]), stop("done")],
    )


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "(Put|Place) one '{product}' into my cart.",
        "(Add|Please add) the '{product}' to the cart.",
        "I would like to have one '{product}'. Find it and put (it|one) into the shopping cart.",
        "(Search for|Look for) '{product}' and add one to my cart.",
        "My cart should hold one '{product}'(| and nothing else).",
        "Could you put a '{product}' into my cart(|, please)?",
        "I would like one '{product}'. (Have it|See that it is) in my cart.",
        "Open the page of '{product}' and (press Add to Cart|add one to the cart).",
        "(Drop|Slip) one '{product}' into the (basket|cart) for me.",
        "'{product}': (take|fetch) one and put it into the (cart|basket).",
        "By the end (there should be|I want) one '{product}' in my (cart|basket), nothing besides.",
        "(Let there be|Make sure there is) one '{product}' in the (cart|trolley).",
        "A friend told me about the '{product}'. (Please put|Kindly put) one into my (cart|basket).",
        "I would love to have the '{product}' (added to the cart|put into my basket), a single piece.",
        "Into (my|the) cart with one '{product}'(|, please)!",
        "(Would|Will) you find '{product}' and lay one in my (cart|shopping basket)?",
        "'{product}' belongs in the (cart|basket). One piece (will do|is enough).",
        "(Pick|Choose) the '{product}' in the shop and move one piece of it to the (cart|shopping cart).",
        "One piece of '{product}' is to be (added to|placed in) the (cart|basket), and that is all.",
        "The old one is gone, so I need a new one, the '{product}'. (Take|Put) one into the cart; (I pay later|do not "
        "check out).",
    ),
    held_out=(
        "(Get|Buy) me one '{product}', into the cart(|, no other).",
        "What I am after is the '{product}'. See that it is in my shopping cart.",
    ),
    plan="'{product}' into cart",
    draw=draw,
    reasoning="medium",
)
