"""Two products are compared by a number on their pages; the better one goes into the cart."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin
from confkv_agents.web.tasks.worlds import Row

from ._shop import cart_holds, click, every_product, only, open_product, put_into_cart, stop


def draw(drawing: Drawing) -> Draft:
    """Two products, in stock and without sizes, that differ in what is compared."""
    goods = every_product(drawing, "stock > 0 AND sizes = '[]' AND pieces = 1 AND motif IS NULL")
    first, second = drawing.sample(goods, 2)
    which = drawing.rng.choice(("cheaper", "better rated", "better stocked"))
    if _measure(which, first) == _measure(which, second) or not (first["rating"] and second["rating"]):
        raise Unfit("the two cannot be told apart")
    better, worse = sorted((first, second), key=lambda row: _measure(which, row), reverse=True)
    verdict = f"{_shown(which, first)}, {_shown(which, second)}: '{better['name']}' is {which}"
    looking = [
        *open_product(first["name"]),
        *begin(1, open_product(second["name"], f"'{first['name']}' {_shown(which, first)}")),
    ]

    def take(row: Row, note: str = "") -> list[dict[str, object]]:
        if row == second:
            return [*begin(2, [click("button", "Add to Cart", note)]), stop()]
        return [*begin(2, put_into_cart(row["name"], note)), stop()]

    return Draft(
        values={"first": first["name"], "second": second["name"], "which": _WORDS[which]},
        evaluation=only(cart_holds(better["name"])),
        oracle=[*looking, *take(better, verdict)],
        near_miss=[*looking, *take(worse)],
    )


_WORDS = {
    "cheaper": "costs less",
    "better rated": "has the better rating",
    "better stocked": "has more pieces in stock",
}


def _measure(which: str, row: Row) -> float:
    """The greater, the better."""
    if which == "cheaper":
        return -float(row["price"])
    return float(row["rating"] or 0) if which == "better rated" else float(row["stock"])


def _shown(which: str, row: Row) -> str:
    return str({"cheaper": row["tag"], "better rated": row["rating"], "better stocked": row["stock"]}[which])


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "Compare '{first}' and '{second}': the one that {which} goes into (my|the) cart.",
        "(Put|Place) '{first}' or '{second}' into the cart, whichever {which}.",
        "I cannot decide between '{first}' and '{second}'. (Look at both|Check both pages) and add the one that "
        "{which} to the cart.",
        "Which one {which}, '{first}' or '{second}'? (Put that one into|Add that one to) my cart.",
        "(Look at|Open) '{first}', then '{second}', and put only the one that {which} into the cart.",
        "I want only one of '{first}' and '{second}'. (Check|See) which of them {which}, and have that in my cart.",
        "My cart should hold either '{first}' or '{second}': whichever of the two {which}. (Nothing else.|Only that "
        "one.)",
        "Please compare two products, '{first}' and '{second}', and (buy|take) the one that {which}: into the cart "
        "with it, no checkout.",
        "'{first}' or '{second}'? (Take|Choose) the one that {which} and add (only this|just this) to my basket.",
        "Of the two products '{first}' and '{second}', the one that {which} (is to go|should go) into the "
        "(cart|basket).",
        "By the end my cart (holds|contains) one thing: of '{first}' and '{second}', the one that (really |){which}.",
        "(Whichever|The one that) {which}, be it '{first}' or '{second}', is to be put into the (cart|trolley), the "
        "other not.",
        "A friend told me of '{first}' and of '{second}'. (Find out|Check) which {which} and (drop|put) that into my "
        "cart.",
        "Into (my|the) cart should go the product that {which}: (either|it is) '{first}' or '{second}'.",
        "I would (like|love) to have '{first}' or '{second}' in my basket, namely (the one that|whichever) {which}.",
        "Pages of two products are to be compared, '{first}' and '{second}'. The one that {which} is (added to|put in) "
        "the cart; (I need no answer|no answer is needed).",
        "(Would|Could) you check which {which}, '{first}' or '{second}', and lay (that one|it) in my shopping basket?",
        "Make sure that of '{first}' and '{second}' only the one that {which} (ends up|is) in (my|the) cart.",
        "Between '{first}' and '{second}' I let the pages decide: (pick|grab) the one that {which} and put it into the "
        "(cart|basket).",
        "I have money for one of them, '{first}' or '{second}'. Let it be the one that {which}; (add it to|it goes "
        "into) my (cart|basket).",
    ),
    held_out=(
        "Out of '{first}' and '{second}' I would like the one that {which}; have it in my cart, (please|and only it).",
        "See whether '{first}' or '{second}' {which} and put (that one|the winner) into the shopping cart.",
    ),
    plan="open '{first}'; open '{second}'; the one that {which} into cart",
    draw=draw,
)
