"""Two posts of the forum name goods beside others; buy the two that are meant at the shop."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit

from ._cross import cart_holds, forum, put_into_cart, tab, wishes


def draw(drawing: Drawing) -> Draft:
    """Two posts and what is meant in each; the other product of the second would be wrong."""
    first, second = drawing.sample(wishes(drawing), 2)
    if first["id"] == second["id"] or len({first["name"], first["other"], second["name"], second["other"]}) < 4:
        raise Unfit("both are of one post, or a product is named twice")
    reading = [
        *forum.open_post(first),
        *forum.open_post(second, note=f"first '{first['name']}'"),
    ]

    def buying(name: str) -> list[dict[str, object]]:
        return [
            tab(1, note=f"second '{name}'"),
            *put_into_cart(first["name"]),
            *put_into_cart(name),
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
    ),
    held_out=(
        "The forum is open in the first tab, the shop in the second. Find out {a_what} ('{a}') and {b_what} ('{b}'), "
        "and let my cart hold one of each.",
        "My cart should hold two products that are named on the forum. One is {a_what}, says '{a}'; the other is "
        "{b_what}, says '{b}'. The shop is in the second tab.",
    ),
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
