"""Count what a picture on the forum shows and put as many of a product into the cart."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit

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
            tab(1, note=f"{seen['count']} {seen['things']}"),
            *look_up(ware["name"]),
            {"action": "type", "role": "spinbutton", "name": "Qty", "text": str(seen["count"])},
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
    ),
    held_out=(
        "Look at '{post}' on the forum: one '{product}' from the shop in the second tab goes into the cart for every "
        "one of the {things} pictured.",
        "I will give each of the {things} in the picture of the forum post '{post}' its own '{product}'. Let my cart "
        "at the shop (second tab) hold the right number.",
    ),
    draw=draw,
    reasoning="hard",
    visual="hard",
    tags=("long-memory",),
)
