"""Compare the price of a product at the shop with that of a listing in the classifieds."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

from ._cross import dollars, forum, listings, look_up, products, tab


def draw(drawing: Drawing) -> Draft:
    """A product and a listing of which one costs half as much again as the other, or more."""
    ware = drawing.choose(products(drawing, "price % 100 = 0 AND price >= 1000 AND instr(name, '''') = 0"))
    listing = drawing.choose(listings(drawing, "price % 100 = 0 AND price BETWEEN 1000 AND 100000"), "title")
    new, used = ware["price"], listing["price"]
    if not 1.5 < max(new, used) / min(new, used) < 6:
        raise Unfit("they are too close, or too far apart")
    first, second = f"{ware['name']}, {dollars(new)}", f"{listing['title']}, {dollars(used)}"
    right, wrong = (first, second) if new < used else (second, first)
    name, price = (ware["name"], new) if new < used else (listing["title"], used)
    return Draft(
        values={"product": ware["name"], "listing": listing["title"]},
        evaluation=forum.answer(name, dollars(price)),
        oracle=[
            *look_up(ware["name"]),
            *begin(1, [tab(1, note=f"shop '{dollars(new)}'")]),
            *look_up(listing["title"]),
            *begin(2, [forum.stop(right, note=f"{dollars(new)}, {dollars(used)}: '{name}' is cheaper")]),
        ],
        near_miss=[*look_up(ware["name"]), tab(1), *look_up(listing["title"]), forum.stop(wrong)],
    )


TEMPLATE = Template(
    sites=("shopping", "classifieds"),
    wordings=(
        "Which costs less: '{product}' at the shop (first tab) or '{listing}' in the classifieds (second tab)? (Answer "
        "with|Give me) its name and its price.",
        "Compare the price of '{product}' in the first tab with that of '{listing}' in the second and "
        "(tell|give) me the cheaper one, name and price.",
        "I can afford either '{product}' (shop, first tab) or '{listing}' (classifieds, second tab). (Name|Tell "
        "me) the one that costs less, and its price.",
        "Is '{product}' from the shop (in|open in) the first tab cheaper than '{listing}' from the classifieds in the "
        "second? Answer with name and price of the cheaper one.",
        "Look up '{product}' in the first tab and '{listing}' in the second. (The cheaper of the two is what I want to "
        "know|I want to know the cheaper of the two), with its price.",
        "I compare '{product}' (shop, first tab) with '{listing}' (classifieds, second tab). Which is the cheaper "
        "(one|of the two), and what does it cost?",
        "For which of the two would I pay less: '{product}' in the first tab or '{listing}' in the second? (Name "
        "it|Give its name) and say for how much.",
        "See what '{product}' costs in the shop (first tab) and what is asked for '{listing}' in the classifieds "
        "(second tab). (Report|Tell me) the lower price and (what it is for|the name that goes with it).",
        "By the end I (want|would like) to have the name and the price of the cheaper one: '{product}' in the shop "
        "(first tab) or '{listing}' in the classifieds (second tab).",
        "The shop is in the first tab and has '{product}'; the classifieds are in the second and have '{listing}'. "
        "(Which one is|Which is) cheaper, and (at what price|how much is it)?",
        "My money is (short|tight): find out whether '{product}' (shop, first tab) or '{listing}' (classifieds, "
        "second tab) costs less, and answer with (its name and price|the name and the price of that one).",
        "Could you (check|look up) two prices? '{product}' is at the shop, first tab, and '{listing}' in the "
        "classifieds, second tab. Answer with the lower (one|price) and the name of what it buys.",
        "A friend says '{listing}' in the second tab, the classifieds, is cheaper than '{product}' in the first tab, "
        "the shop. Is that (so|right)? (Tell me|Answer with) name and price of the cheaper one.",
        "Open the shop in the first tab for '{product}' and the classifieds in the second for '{listing}'; then "
        "(say|tell me) which has the lower price, (by its name|naming it), and how much that is.",
        "'{product}' (first tab) against '{listing}' (second tab): (name|give me) the one with the lower price and "
        "(say what it costs|its price).",
        "Two offers, one in each tab: the shop's '{product}' in the first, '{listing}' in the classifieds in the "
        "second. (Report|Let me know) the cheaper offer with its name and its (price|cost).",
        "What is the price of '{product}' in the first tab, and what is that of '{listing}' in the second? I only "
        "need the (lower|smaller) one, together with the name of the (thing|item).",
        "I would like to (save money|spend little). '{listing}' is in the classifieds (second tab), '{product}' at "
        "the shop (first tab): (which one|which of them) is cheaper and what is its price?",
        "Please put the prices of '{product}' (first tab, shop) and '{listing}' (second tab, classifieds) side by "
        "side. The answer is the name of the (cheaper|less expensive) one and (what it costs|its price).",
        "If I take the cheaper of '{product}' from the first tab and '{listing}' from the second, what (do I get|is "
        "it) and what do I pay? (Name and price, please.|Give name and price.)",
    ),
    held_out=(
        "One of these I will buy, the one that costs less: '{product}' from the first tab or '{listing}' from "
        "the second. Tell me which, by name, and for how much.",
        "New or second hand? Check '{product}' at the shop (first tab) and '{listing}' in the classifieds (second tab) "
        "and report the name and the price of what is cheaper.",
    ),
    plan="price of '{product}'; tab 1: price of '{listing}'; answer cheaper, price",
    draw=draw,
)
