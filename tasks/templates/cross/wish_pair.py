"""Two posts of the forum name goods beside others; buy the two that are meant at the shop."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

from ._cross import cart_holds, forum, put_into_cart, tab, wishes


def draw(drawing: Drawing) -> Draft:
    """Two posts and what is meant in each; the other product of the second would be wrong."""
    first, second = drawing.sample(wishes(drawing), 2)
    if first["id"] == second["id"] or len({first["name"], first["other"], second["name"], second["other"]}) < 4:
        raise Unfit("both are of one post, or a product is named twice")
    reading = [
        *forum.open_post(first),
        *begin(1, forum.open_post(second, note=f"first '{first['name']}'")),
    ]

    def buying(name: str) -> list[dict[str, object]]:
        return [
            *begin(2, [tab(1, note=f"second '{name}'")]),
            *put_into_cart(first["name"]),
            *begin(3, put_into_cart(name)),
            forum.stop(),
        ]

    return Draft(
        values={"a": first["title"], "a_what": first["what"], "b": second["title"], "b_what": second["what"]},
        evaluation=forum.page_checks(cart_holds(f"{first['name']} x1", f"{second['name']} x1")),
        oracle=[*reading, *buying(second["name"])],
        near_miss=[*reading, *buying(second["other"])],
    )


TEMPLATE = Template(
    sites=("reddit", "shopping"),
    wordings=(
        "On the forum in the first tab, (find|look up) in the post '{a}' {a_what}, and in the post '{b}' {b_what}. "
        "Put one of each into my cart at the shop in the second tab.",
        "Two forum posts (first tab) name goods of the shop (second tab): '{a}' tells {a_what}, '{b}' tells "
        "{b_what}. (Put these two|Add these two) into the cart.",
        "Read '{a}' on the forum to learn {a_what}, then '{b}' to learn {b_what}. (Add|Put) both products, one of "
        "each, to the cart of the shop, which is open in the second tab.",
        "I want two things from the shop (second tab): {a_what}, see the forum post '{a}', and {b_what}, see '{b}'. "
        "(Put them|Please put them) into my cart.",
        "Fill the cart at the shop in the second tab with two products (and nothing else|only): the first is "
        "{a_what} in the forum post '{a}', the second {b_what} in '{b}'.",
        "Two posts on the forum, first tab, decide what I (buy|take): '{a}' says {a_what} and '{b}' says {b_what}. "
        "Put one of each into the cart of the shop in the second tab.",
        "Go to the forum (first tab). From '{a}' I need {a_what}, from '{b}' {b_what}. Then go to the shop (second "
        "tab) and (add these two to|put these two into) my cart, one piece each.",
        "I have to know {a_what} (forum post '{a}') and {b_what} (forum post '{b}'). The forum is in the first tab; "
        "my cart at the shop, second tab, should (get|hold) one of each.",
        "By the end, my cart at the shop (second tab) (has|contains) two products, one piece of each: {a_what} "
        "(according to|as told in) the forum post '{a}', and {b_what} (according to|as told in) '{b}'.",
        "Open '{a}' on the forum in the first tab and (see|find out) {a_what}; open '{b}' and (see|find out) "
        "{b_what}. Then add one of each product to the cart of the shop in the second tab.",
        "(Shopping list|My shopping list) for the shop in the second tab: {a_what} (read the forum post '{a}') and "
        "{b_what} (read '{b}'). One of each goes into the (cart|shopping cart).",
        "Could you get me two things at the shop, second tab? The forum in the first tab names them: the post '{a}' "
        "says {a_what}, the post '{b}' says {b_what}. (Just add|Add) both to my cart(|, one each).",
        "I would like to have two products from the forum (first tab): from '{a}', {a_what}; from '{b}', {b_what}. "
        "(Look for|Find) them in the shop (second tab) and (put|place) one of each in my cart.",
        "After reading '{a}' and '{b}' on the forum (first tab), you (know|will know) {a_what} and {b_what}, in that "
        "order. Put these two (products|goods), one of each, into the cart at the shop (second tab).",
        "What does '{a}' on the forum say about {a_what}, and '{b}' about {b_what}? (The products meant|These two "
        "products) belong in my cart at the shop, second tab, (one of each|once each).",
        "Two members wrote '{a}' and '{b}' on the forum, first tab. From the first post I (want|need) {a_what}, from "
        "the second {b_what}: both are sold in the shop, second tab, and one of each (goes|should go) into my cart.",
        "For the cart of the shop in the second tab I need two names of products from the forum in the first. '{a}' "
        "gives you {a_what}, '{b}' gives you {b_what}. (Search for|Look up) each and add (one|a single one).",
        "Learn {a_what} from the thread '{a}' and {b_what} from the thread '{b}' (forum, first tab); (switch|change) "
        "to the shop in the second tab, and have one of each in the cart (when you stop|at the end).",
        "Add two products to my cart in the (second tab, the shop|shop, which is the second tab): {a_what}, as the "
        "forum post '{a}' tells, and {b_what}, as '{b}' tells. (One each|One of each), please.",
        "'{a}' and '{b}' are posts on the forum in the first tab. The one tells {a_what}, the other {b_what}, and I "
        "want both (things|products), one each, in my cart at the shop in the second tab(|; do not check out).",
    ),
    held_out=(
        "The forum is open in the first tab, the shop in the second. Find out {a_what} ('{a}') and {b_what} ('{b}'), "
        "and let my cart hold one of each.",
        "My cart should hold two products that are named on the forum. One is {a_what}, says '{a}'; the other is "
        "{b_what}, says '{b}'. The shop is in the second tab.",
    ),
    plan="{a_what} in '{a}'; {b_what} in '{b}'; tab 1: first into cart; second into cart",
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
