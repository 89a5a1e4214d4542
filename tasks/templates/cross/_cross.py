"""What tasks across sites share: the tabs, what posts say of the shop's goods, and the way to a listing.

The forum's part comes from its own templates, as `forum`.
"""

from __future__ import annotations

import re
from typing import Any

from confkv_agents import plugins
from confkv_agents.web.tasks import Drawing
from confkv_agents.web.tasks.worlds import Row

forum = plugins.load_module(plugins.data_dir("tasks") / "templates" / "forum" / "_forum.py", "tasks.templates.forum")

CART = (
    "[...document.querySelectorAll('#shopping-cart-table tbody tr')].map(row => "
    "row.querySelector('a').textContent + ' x' + row.querySelector('input.qty').value).sort().join('; ')"
)
# Titles of posts that name two products (`%` stands for anything), and what the first and the second are to the post.
ROLES = {
    "Small luxuries for %": ("what its author ordered", "what is still on its author's list"),
    "What do you carry %": ("what is new in its author's bag", "what its author leaves at home from now on"),
    "New in my craft drawer": ("what its author bought", "what somebody else in the group has"),
    "What belongs into %": ("what its author has bought already", "what is next on its author's list"),
    "Cheap winter gear %": ("what kept its author warm", "what its author wants for next year"),
    "Packing list for %": ("what its author carries everything in", "what was too big to take along"),
    "The place where %": ("what the animal sleeps in", "what one should get as well"),
    "A quiet desk, %": ("what its author has tried", "what was its author's second choice"),
    "Gift registry: %": ("what somebody got twice", "what its author would ask for"),
    "Present for %: help me choose": ("", "what was chosen in the end"),
}
_BOLD = re.compile(r"\*\*(.+?)\*\*")


def tab(index: int, note: str = "") -> Row:
    """Switch to a tab."""
    return ({"note": note} if note else {}) | {"action": "tab_focus", "index": index}


def look_up(name: str, note: str = "") -> list[Row]:
    """Search at the shop or in the classifieds for a name and open what has it."""
    step = {"action": "type", "role": "textbox", "name": "Search", "text": name, "enter": True}
    return [({"note": note} if note else {}) | step, forum.click("link", name)]


def put_into_cart(name: str, note: str = "") -> list[Row]:
    """Search for a product and put one into the cart."""
    return [*look_up(name, note), forum.click("button", "Add to Cart")]


def cart_holds(*lines: str) -> Row:
    """A check that the cart holds exactly these, `Name x1` each."""
    return {
        "url": "__SHOPPING__/checkout/cart/",
        "locator": CART,
        "required_contents": {"exact_match": "; ".join(sorted(lines))},
    }


def wishes(drawing: Drawing) -> list[Row]:
    """What posts say of two products that need no size, each with the way in which it is meant.

    `name` and `sku` are those of the product meant, `what` is what it is to the post, `other` and `other_sku` belong
    to the other product.
    """
    goods = {row["name"]: row for row in products(drawing)}
    found = []
    for post in forum.posts(drawing, "post.kind = 'text' AND user.name <> ?", forum.ME):
        roles = next((ROLES[each] for each in ROLES if forum.like(each, post["title"])), None)
        names = list(dict.fromkeys(name for name in _BOLD.findall(post["body"]) if name in goods))
        if roles is None or len(names) != 2:
            continue
        for what, name, other in zip(roles, names, reversed(names), strict=True):
            if what:
                ours = {"name": name, "other": other, "what": what, "sku": goods[name]["sku"]}
                found.append(post | ours | {"other_sku": goods[other]["sku"]})
    return found


def products(drawing: Drawing, where: str = "1", *values: Any) -> list[Row]:
    """Goods of the shop in stock that need no size and come as one piece."""
    return drawing.rows(
        "shop",
        f"SELECT * FROM product WHERE stock > 0 AND sizes = '[]' AND pieces = 1 AND motif IS NULL AND ({where})"
        " ORDER BY id",
        *values,
    )


def listings(drawing: Drawing, where: str = "1", *values: Any) -> list[Row]:
    """Listings of other people, with the seller's `seller` and `phone`, and the `kind` of thing from the facts."""
    return drawing.rows(
        "classifieds",
        "SELECT listing.*, user.name AS seller, user.phone, json_extract(facts, '$.kind') AS kind"
        " FROM listing JOIN user ON user.id = user_id WHERE status = 'active' AND user_id > 1"
        f" AND instr(title, '''') = 0 AND ({where}) ORDER BY listing.id",
        *values,
    )


def dollars(cents: int) -> str:
    """Whole dollars: `$58`, `$1,058`."""
    return f"${cents // 100:,}"
