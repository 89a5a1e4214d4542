"""A picture on the forum shows a product in one of its colours; buy it in that colour."""

from __future__ import annotations

import json

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit

from ._cross import cart_holds, forum, products, tab


def draw(drawing: Drawing) -> Draft:
    """A picture of a product, and the same kind of thing in another colour."""
    posts = forum.posts(drawing, "post.kind = 'picture' AND json_extract(shot, '$.ware') IS NOT NULL")
    if not posts:
        raise Unfit("no picture shows a product")
    posts = forum.colour_hidden([post | json.loads(post["shot"]) for post in posts])
    if not posts:
        raise Unfit("somebody speaks of a colour")
    post = drawing.rng.choice(posts)
    seen = post["ware"]
    named = [row for row in products(drawing) if row["name"] == seen]
    if not named:
        raise Unfit("it is sold out or needs a size")
    (ware,) = named
    kin = drawing.rows("shop", "SELECT * FROM product WHERE noun = ? AND id <> ? ORDER BY id", ware["noun"], ware["id"])
    others = products(drawing, "noun = ? AND colour <> ?", ware["noun"], ware["colour"])
    if any(row["tint"] == ware["colour"] for row in kin) or not others:
        raise Unfit("two have that colour, or there is no other colour")
    other = drawing.rng.choice(others)
    noun = ware["noun"].lower()

    def buying(row: dict[str, object]) -> list[dict[str, object]]:
        words = f"{str(row['colour']).lower()} {noun}"
        return [
            tab(1, note=words),
            {"action": "type", "role": "textbox", "name": "Search", "text": words, "enter": True},
            forum.click("link", str(row["name"])),
            forum.click("button", "Add to Cart"),
            forum.stop(),
        ]

    return Draft(
        values={"post": post["title"]},
        evaluation=forum.page_checks(cart_holds(f"{ware['name']} x1")),
        oracle=[*forum.open_post(post), *buying(ware)],
        near_miss=[*forum.open_post(post), *buying(other)],
    )


TEMPLATE = Template(
    sites=("reddit", "shopping"),
    wordings=(
        "The picture of the forum post '{post}' (first tab) shows something that the shop in the second tab sells. "
        "Put the same thing in the same colour into my cart, (one of it|just one).",
        "(Look at|See) the picture of '{post}' on the forum. I want exactly that, colour included, from the shop in "
        "the second tab: put one into my cart.",
        "What is to be seen in the picture of '{post}' on the forum? Find it at the shop (second tab) in the same "
        "colour and (add one|put one) to the cart.",
        "Buy me nothing yet, only (put into|add to) the cart of the shop in the second tab what the picture of the "
        "forum post '{post}' shows, in the colour shown, one piece.",
        "On the forum somebody posted '{post}' with a picture. The shop in the second tab has the same product in "
        "several colours. (Add|Put) the one with the colour of the picture to my cart.",
        "(Have a look at|See) what the forum post '{post}' (first tab) pictures. The shop in the second tab sells it "
        "too: (one|one piece) in that same colour belongs into my cart.",
        "I would like the thing in the picture of '{post}' on the forum, in the colour (it has there|shown there). "
        "(Find|Look for) it in the shop, second tab, and put one into the cart.",
        "Which product is pictured in the forum post '{post}', and in which colour? (Search|Look through) the shop "
        "(second tab) for it and (add one of that colour to|put one of that colour into) my cart.",
    ),
    held_out=(
        "(I saw|I have seen) the picture of '{post}' on the forum and (want|would like) the very same from the shop "
        "(second tab), same kind and same colour. (One in my cart, please.|Leave one in my cart.)",
        "(Match|Pair) the picture of the forum post '{post}' with a product of the shop in the second tab, kind and "
        "colour alike, and (leave one of it in|add one of it to) the cart.",
    ),
    draw=draw,
    visual="medium",
    tags=("long-memory",),
)
