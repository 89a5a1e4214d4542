"""Put the cheapest or the dearest of a kind, or of a category, into the cart: sort, take the first."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

from ._shop import cart_holds, click, every_product, only, search, stop

SORTS = {"cheapest": "Price: Low to High", "most expensive": "Price: High to Low"}
LEAST = 3


def draw(drawing: Drawing) -> Draft:
    """A kind with several products, or a category, whose first by price can simply be put into the cart."""
    products = every_product(drawing)
    kinds = {row["noun"]: [other for other in products if other["noun"] == row["noun"]] for row in products}
    names = [
        noun
        for noun, goods in kinds.items()
        if len(goods) >= LEAST and all(row["pieces"] == 1 and row["sizes"] == "[]" for row in goods)
    ]
    names += sorted({row["category"] for row in products})
    name = drawing.choose(names, str)
    extreme = drawing.rng.choice(list(SORTS))
    is_kind = name in kinds
    goods = kinds[name] if is_kind else [row for row in products if row["category"] == name]
    goods = sorted(goods, key=lambda row: row["price"], reverse=extreme != "cheapest")
    best, second = goods[:2]
    if any(not row["stock"] or row["sizes"] != "[]" for row in (best, second)):
        raise Unfit("the first by price is sold out or needs a size")
    way = search(name.lower()) if is_kind else click("link", name)
    sort = {
        "action": "select",
        "role": "combobox",
        "name": "Sort by",
        "option": SORTS[extreme],
    }

    def take(product: str, note: str = "") -> list[dict[str, object]]:
        return [
            way,
            *begin(1, [sort]),
            *begin(2, [click("link", product, note), click("button", "Add to Cart")]),
            stop(),
        ]

    return Draft(
        values={
            "extreme": extreme,
            "what": _in_a_sentence(name) if is_kind else f"product of the category '{name}'",
        },
        evaluation=only(cart_holds(best["name"])),
        oracle=take(best["name"], f"'{best['name']}' is first"),
        near_miss=take(second["name"]),
    )


def _in_a_sentence(noun: str) -> str:
    return noun if noun in ("T-Shirt", "Yo-Yo") else noun.lower()


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "(Put|Place) the {extreme} {what} into my cart.",
        "Find the {extreme} {what} (in this shop |)and add it to the cart.",
        "Which is the {extreme} {what}? (Put|Add) one of it (in|to) the cart.",
        "I am looking for the {extreme} {what}(|; nothing else will do). Please put it into the shopping cart.",
        "Sort by price and add the {extreme} {what} to (my|the) cart.",
        "Of every {what} here, which is the {extreme}? (I want|I would like) it in my cart.",
        "Compare the prices of each {what} and (put the {extreme} one into|add the {extreme} one to) the cart.",
        "Could you (find|get) me the {extreme} {what}? It should go into the cart.",
        "(Get|Fetch) the {extreme} {what} and (drop|put) it into my basket.",
        "The {extreme} {what} is to (go|be put) into the cart, (one piece|just one).",
        "By the end (the|my) cart holds the {extreme} {what} (and nothing else|only).",
        "I (wish|would like) to have the {extreme} {what}. (Look for it|Pick it out) and add it to the cart.",
        "My brother bets that you can find the {extreme} {what}. (Show him|Prove it): put it into the (cart|basket).",
        "Into the (cart|trolley), please: the {extreme} {what} that (the shop has|there is).",
        "See (what|how much) each {what} costs, (take|pick) the {extreme}, and put it into my cart.",
        "By price alone: which {what} is the {extreme}? (That one belongs|Let that one be) in my (cart|basket).",
        "Make sure that my cart (holds|contains) the {extreme} {what} (on offer here|in the shop).",
        "Would you (pick out|take) the {extreme} {what} and (lay|place) it in the basket for me?",
        "(Price|The price) decides. I need the {extreme} {what}, one of it, in my (cart|shopping basket).",
        "One {what} is needed, and it has to be the {extreme} of all. (Put|Drop) it into the (cart|basket).",
    ),
    held_out=(
        "Of everything here I want the {extreme} {what} in my cart(.|, one piece.)",
        "My cart should get the {extreme} {what} that is sold here.",
    ),
    plan="{what}; sort by price, {extreme} first; {extreme} into cart",
    draw=draw,
)
