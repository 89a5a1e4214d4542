"""Among things that differ by the animal on them, which only the pictures show, put the right one into the cart."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

from ._shop import cart_is, cart_line, click, every_product, only, search, stop

SIZES = ("S", "M", "L", "XL")


def draw(drawing: Drawing) -> Draft:
    """A T-shirt or notebook with an animal on it; the near miss takes another animal."""
    goods = every_product(drawing, "motif IS NOT NULL AND stock > 0")
    choices = [(row, size) for row in goods for size in (SIZES if row["sizes"] != "[]" else ("",))]
    product, size = drawing.choose(choices, lambda choice: f"{choice[0]['noun']} {choice[0]['motif']} {choice[1]}")
    alike = [row for row in goods if row["noun"] == product["noun"] and row != product]
    if not alike:
        raise Unfit("no other animal is in stock")
    other = drawing.rng.choice(alike)
    noun = product["noun"] if product["noun"] == "T-Shirt" else product["noun"].lower()

    def take(name: str, note: str = "") -> list[dict[str, object]]:
        choosing = [{"action": "select", "role": "combobox", "name": "Size", "option": size}] if size else []
        return [
            search(f"animal {noun.lower()}"),
            *begin(1, [click("link", name, note)]),
            *begin(2, [*choosing, click("button", "Add to Cart")]),
            stop(),
        ]

    return Draft(
        values={"thing": f"{noun} (size {size})" if size else noun, "animal": product["motif"]},
        evaluation=only(cart_is(cart_line(product["name"], 1, size))),
        oracle=take(product["name"], f"{product['motif']} on '{product['name']}'"),
        near_miss=take(other["name"]),
    )


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "(Put|Place) the {thing} with the {animal} on it into my cart.",
        "There is a {thing} with a picture of the {animal} on it. Add it to the (cart|shopping cart).",
        "(My daughter|A friend) has the {animal} as a favourite. Find the {thing} that shows it and put it into the "
        "cart.",
        "Which {thing} has the {animal} on it? (Add that one to|Put that one into) my cart.",
        "I am looking for the {animal} among the animals: the {thing} with it (goes|should go) into the cart.",
        "I would like the {thing} with the {animal}. Pictures show the animals; put the right one into my "
        "(cart|shopping cart).",
        "Look at every {thing} with an animal on it and (add the one with the {animal} to|put the one with the "
        "{animal} into) my cart.",
        "A present should have the {animal} on it: (find|get) me the {thing} that does, and put it into the cart.",
        "(Fetch|Take) the {thing} that shows the {animal} and (drop|put) it into my basket.",
        "By the end my cart (holds|contains) the {thing} with the {animal} on it and (nothing else|no other).",
        "The {animal}, not another animal, should be on the {thing}. (Add|Move) the right one to the (cart|basket).",
        "Into the (cart|trolley), please: the {thing} whose picture (has|shows) the {animal}.",
        "Could you (pick out|choose) the {thing} with the {animal} and lay it in my (cart|shopping basket)?",
        "Make sure that the {thing} with the {animal} on it (ends up|is) in my (cart|basket), one piece.",
        "By the pictures, (find|tell) which {thing} has the {animal}, then (put it into|add it to) the cart; no "
        "checkout.",
        "My (son|niece) loves the {animal}. One {thing} with that animal on it is to go into the (cart|basket).",
        "Several animals are to be had on the {thing}. I (want|take) the {animal}: one of that in my (cart|basket).",
        "On the {thing} that I want one (sees|can see) the {animal}. Please place it in the (cart|basket).",
        "Where is the {animal}? On one {thing} (only|alone), and just that one (belongs|goes) in the cart.",
        "I (wish for|would love) the {thing} that has the {animal} as its picture; (see to it that|make sure) it is in "
        "the cart.",
    ),
    held_out=(
        "(Find out|See) which {thing} bears the {animal}, and have (it|just that one) in my cart.",
        "The {animal} is what matters(| to me): get me the {thing} on which it is printed, into the (cart|shopping "
        "cart).",
    ),
    plan="search animal {thing}; picture with {animal}; {thing} into cart",
    draw=draw,
    visual="medium",
)
