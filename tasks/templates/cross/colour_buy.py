"""A picture on the forum shows a product in one of its colours; buy it in that colour."""

from __future__ import annotations

import json

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

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
            *begin(1, [tab(1, note=words)]),
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
        "By the end, the cart of the shop (second tab) holds (one piece|just one piece) of what the picture of the "
        "forum post '{post}' shows, in (that same colour|the colour of the picture).",
        "Open '{post}' on the forum in the first tab and (look at|study) its picture. Then search the shop in the "
        "second tab for the same product in the same colour, and add (one|a single one) to the cart.",
        "The shop in the second tab has several colours of the thing (shown|pictured) in '{post}' on the forum. I "
        "need one in the colour of the picture: (place|put) it in my cart.",
        "A friend (posted|put up) '{post}' on the forum, first tab. I would like to have the product in that picture "
        "too, in the same colour. The shop is in the second tab; add one to (my|the) cart.",
        "Could you (find|get) me the product from the picture of '{post}' (forum, first tab), in its colour, at the "
        "shop in the second tab? One in the cart is (enough|all I need).",
        "Colour and kind as in the picture of '{post}' on the forum: that is the product I need in my cart, (one "
        "piece|just one), from the shop in the (second|other) tab.",
        "For my cart at the shop (second tab): one of what '{post}' on the forum (first tab) (shows|pictures). Mind "
        "the colour; it (must|has to) be that of the picture.",
        "Go by the picture of the forum post '{post}' (first tab). What you see there is sold in the shop, second "
        "tab: (put one in that colour into|add one in that colour to) (my|the) cart.",
        "Which colour does the thing in the picture of '{post}' on the forum have? The shop in the second tab "
        "(sells|offers) it in that colour, and I want one of those (in|placed in) my cart.",
        "First see what '{post}' on the forum pictures and in which colour; next find (exactly|precisely) this in the "
        "shop, second tab; finally (add one to|put one into) my cart.",
        "(Shopping by picture|A picture to shop by): '{post}' on the forum shows what I want and in what colour. Let "
        "one such piece from the shop in the second tab be (added to|put into) the cart.",
        "My cart at the shop (second tab) (lacks|still lacks) one thing, the one in the picture of the forum post "
        "'{post}' (first tab). Add it in the (same colour|colour shown), one piece.",
    ),
    held_out=(
        "(I saw|I have seen) the picture of '{post}' on the forum and (want|would like) the very same from the shop "
        "(second tab), same kind and same colour. (One in my cart, please.|Leave one in my cart.)",
        "(Match|Pair) the picture of the forum post '{post}' with a product of the shop in the second tab, kind and "
        "colour alike, and (leave one of it in|add one of it to) the cart.",
    ),
    plan="picture of post '{post}'; tab 1: same colour and thing into cart",
    draw=draw,
    visual="medium",
    tags=("long-memory",),
)
