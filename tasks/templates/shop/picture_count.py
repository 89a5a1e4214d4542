"""Of two sets, which differ by the number of pieces that the pictures show, put the right one into the cart."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

from ._shop import NUMBERS, cart_holds, click, only, search, sets, stop


def draw(drawing: Drawing) -> Draft:
    """A set, and another one of the same kind for the near miss."""
    offered = sets(drawing, "stock > 0")
    pairs = {row["noun"]: [other for other in offered if other["noun"] == row["noun"]] for row in offered}
    fitting = [row for row in offered if len(pairs[row["noun"]]) > 1]
    if not fitting:
        raise Unfit("no kind has two sets in stock")
    product = drawing.rng.choice(fitting)  # its name is not in the task
    (other,) = (row for row in pairs[product["noun"]] if row != product)
    things = product["noun"].lower() + ("" if product["noun"].endswith("s") else "s")

    def take(name: str, note: str = "") -> list[dict[str, object]]:
        return [
            search(f"{product['noun'].lower()} set"),
            *begin(1, [click("link", name, note)]),
            *begin(2, [click("button", "Add to Cart")]),
            stop(),
        ]

    return Draft(
        values={"number": NUMBERS[product["pieces"]], "things": things},
        evaluation=only(cart_holds(product["name"])),
        oracle=take(product["name"], f"{product['pieces']} {things} in '{product['name']}'"),
        near_miss=take(other["name"]),
    )


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "(Put|Place) the set of {things} with exactly {number} pieces into my cart.",
        "I need {number} {things}, no more and no fewer. Add the set that holds {number} to the (cart|shopping cart).",
        "Which set of {things} has {number} pieces? (Look at the pictures|The pictures show it) and put it into the "
        "cart.",
        "(Find|Look for) the set of {number} {things} and add one such set to the cart.",
        "Two sets of {things} are sold, with different numbers of pieces. Put the one with {number} into (my|the) "
        "cart.",
        "(I want|I would like) {number} {things} as a set. Their pictures tell how many are in each; put the right "
        "set into my cart.",
        "Look at the sets of {things}: the one that (has|shows) {number} pieces should go into my cart.",
        "Somebody asked for a set of exactly {number} {things}. (See|Check) which set that is, and add it to the cart.",
        "(Fetch|Get) a set of {things} with {number} pieces in it, (no other|no other number), and put it into my "
        "basket.",
        "By the end my cart (holds|contains) the set of {things} that has {number} pieces, and (nothing else|only "
        "that).",
        "Wanted: {things}, {number} in a set. (Find|Pick) that set by the pictures and (drop|put) it into the cart.",
        "Only the pictures tell how many {things} a set has. The set with {number} is to be (added to|placed in) the "
        "(cart|basket).",
        "(Make sure|See to it) that the set with {number} {things}, not the other one, is in my (cart|basket).",
        "We are {number} and want one each, so {number} {things} in all. (Take|Choose) the set of just that many and "
        "add it to the (cart|basket).",
        "Into the (cart|trolley) goes one set of {things}, namely the one whose picture (shows|has) {number}.",
        "Could you (pick out|tell by the pictures) the set of {number} {things} and lay it in my (cart|shopping "
        "basket)?",
        "In one of the sets of {things} there are {number} pieces. (Find out which|See which one), and add just that "
        "set to my (cart|basket).",
        "How many {things} are in each set? I (need|take) the set with {number}; one of it (into|goes into) my cart.",
        "A set with {number} {things} is (needed|missing) in my house. (Put|Place) the right one in the cart.",
        "The set of {things} that I mean is the one of {number}. (Compare|Check) the pictures and put it into my "
        "(basket|cart).",
    ),
    held_out=(
        "Count the {things} in the pictures of the sets: the one with {number} is (what I want in my cart|for my "
        "cart).",
        "A set of {things} it must be, and {number} of them in it. Have (it|that set) in the shopping cart.",
    ),
    plan="search {things} set; picture with {number}; that set into cart",
    draw=draw,
    reasoning="easy",
    visual="medium",
)
