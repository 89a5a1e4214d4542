"""Count what a picture on the forum shows and put as many of a product into the cart."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

from ._cross import cart_holds, forum, look_up, products, tab


def draw(drawing: Drawing) -> Draft:
    """A picture to count in, another with another number, and a product that is there often enough."""
    shown = [post for post in forum.count_hidden(forum.pictures(drawing)) if post["count"] > 1]
    post, other = drawing.sample(shown, 2, "title")
    ware = drawing.choose(products(drawing, "stock > 9 AND instr(name, '''') = 0"))
    if post["count"] == other["count"]:
        raise Unfit("both pictures show as many")

    def buying(seen: dict[str, object]) -> list[dict[str, object]]:
        return [
            *forum.open_post(seen),
            *begin(1, [tab(1, note=f"{seen['count']} {seen['things']}")]),
            *look_up(ware["name"]),
            *begin(2, [{"action": "type", "role": "spinbutton", "name": "Qty", "text": str(seen["count"])}]),
            forum.click("button", "Add to Cart"),
            forum.stop(),
        ]

    return Draft(
        values={"post": post["title"], "things": post["things"], "product": ware["name"]},
        evaluation=forum.page_checks(cart_holds(f"{ware['name']} x{post['count']}")),
        oracle=buying(post),
        near_miss=buying(other),
    )


TEMPLATE = Template(
    sites=("reddit", "shopping"),
    wordings=(
        "Count the {things} in the picture of the forum post '{post}' (first tab) and put as many '{product}' into "
        "my cart at the shop (second tab). (Do not check out.|)",
        "(Put|Add) as many '{product}' to the cart of the shop in the second tab as there are {things} in the "
        "picture of '{post}' on the forum.",
        "For each of the {things} that the picture of '{post}' on the forum shows I need one '{product}'. (Put|Get) "
        "them into the cart of the shop in the second tab.",
        "How many {things} are in the picture of '{post}' (forum, first tab)? I want (that many|just as many) "
        "'{product}' in my cart at the shop, second tab.",
        "The number of '{product}' in my cart (shop, second tab) should equal the number of {things} that one can "
        "(see|count) in the picture of the forum post '{post}'.",
        "See how many {things} '{post}' on the forum (first tab) (shows|pictures), then go to the shop in the second "
        "tab and put the same number of '{product}' into my cart.",
        "I need one '{product}' for every one of the {things} in the picture of '{post}' on the forum. Fill my cart "
        "(accordingly|with that many); the shop is in the second tab.",
        "The picture of the forum post '{post}' has some {things} in it. (Count them|Count these) and put as many "
        "'{product}' into the shop's cart, second tab. (Do not pay.|Leave them in the cart.)",
        "By the end my cart at the shop, second tab, (holds|has) as many '{product}' as the picture of the forum post "
        "'{post}' (holds|has) {things}.",
        "Open '{post}' on the forum, first tab. However many {things} you (see|count) there, so many '{product}' "
        "(go|belong) into the cart of the shop in the second tab.",
        "I would like to have '{product}' from the shop in the second tab, one for (each|every one) of the {things} "
        "in the picture of '{post}' (forum, first tab). Please (fill the cart|put them into the cart).",
        "Could you count the {things} that '{post}' on the forum pictures, and (place|put) '{product}' in my cart in "
        "the second tab, the shop, with (that number as the quantity|the quantity set to that number)?",
        "'{product}' is what I need from the shop, second tab. How many? As many as there are {things} in the picture "
        "(of|posted as) '{post}' on the forum. (They go into the cart.|Add them to the cart.)",
        "A friend (posted|shared) a picture of {things}, '{post}', on the forum in the first tab. Count them, switch "
        "to the shop in the second tab, and put an equal number of '{product}' into (the|my) cart.",
        "Quantity of '{product}' to (add to|put into) the shop's cart (second tab): the number of {things} that the "
        "picture of '{post}' on the forum (first tab) (has|shows).",
        "Each of the {things} counts for one '{product}': look at the picture of '{post}' on the forum (first tab), "
        "(and|then) add the total to (my|the) cart at the shop (second tab).",
        "Switch between the tabs: in the first, the forum, count the {things} in the picture of '{post}'; in the "
        "second, the shop, (put|get) exactly so many '{product}' into (my|the) cart.",
        "I (forgot|do not know) how many {things} the picture of '{post}' on the forum shows, but that is how many "
        "'{product}' I want to have in my cart at the shop, second tab. (See to it|Take care of it), please.",
        "There are {things} in the picture of '{post}' (forum, first tab). Find '{product}' in the shop (second tab), "
        "(type|enter) the number of them as Qty, and (click Add to Cart|add to the cart).",
        "The cart of the shop in the second tab needs '{product}', (exactly|just) as many as one can count {things} "
        "in the picture of '{post}' on the forum(| in the first tab).",
    ),
    held_out=(
        "Look at '{post}' on the forum: one '{product}' from the shop in the second tab goes into the cart for every "
        "one of the {things} pictured.",
        "I will give each of the {things} in the picture of the forum post '{post}' its own '{product}'. Let my cart "
        "at the shop (second tab) hold the right number.",
    ),
    plan="count {things} in '{post}'; tab 1: open '{product}'; as many into cart",
    draw=draw,
    reasoning="hard",
    visual="hard",
    tags=("long-memory",),
)
