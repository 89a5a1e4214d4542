"""A post names a product beside another; look up its SKU at the shop and write it under the post."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template

from ._cross import forum, look_up, tab, wishes


def draw(drawing: Drawing) -> Draft:
    """A post and the product that is meant; the SKU of the other one would be wrong."""
    wish = drawing.choose(wishes(drawing))

    def telling(name: str, sku: str) -> list[dict[str, object]]:
        return [
            *forum.open_post(wish),
            tab(1, note=f"'{name}'"),
            *look_up(name),
            tab(0, note=f"SKU '{sku}'"),
            *forum.comment(sku),
            forum.stop(),
        ]

    return Draft(
        values={"post": wish["title"], "what": wish["what"]},
        evaluation=forum.page_checks(forum.changes(drawing, f"comment on {wish['id']}: {wish['sku']}")),
        oracle=telling(wish["name"], wish["sku"]),
        near_miss=telling(wish["other"], wish["other_sku"]),
        login=True,
    )


TEMPLATE = Template(
    sites=("reddit", "shopping"),
    wordings=(
        "The forum post '{post}' (first tab) tells {what}. Look up the SKU of that product at the shop (second tab) "
        "and (comment|write) it, and nothing else, under the post.",
        "(Find out|Read) in the post '{post}' on the forum {what}. The shop in the second tab shows its SKU: post "
        "just that SKU as a comment under the same post.",
        "Under the forum post '{post}' they need a SKU, namely that of {what}. (Get|Take) it from the shop in the "
        "second tab and leave it there as a comment without other words.",
        "Open '{post}' on the forum, see {what}, find this product at the shop (second tab), and (go back and "
        "comment|comment) only its SKU under '{post}'.",
        "Which SKU does the shop (second tab) give for {what}, according to the forum post '{post}'? "
        "(Comment|Answer) with the bare SKU under that post.",
        "See in the forum post '{post}' (first tab) {what}. Search for that product in the shop (second tab), "
        "(note|read) its SKU and comment the SKU, alone, under the post.",
        "I want to have the SKU of {what} under the forum post '{post}'. The shop is in the second tab. "
        "(Write|Leave) a comment that is just the SKU.",
        "Read '{post}' on the forum. The product meant is {what}; the shop in the second tab (has|gives) its SKU. "
        "(Put|Leave) this SKU under the post as a comment, with nothing around it.",
    ),
    held_out=(
        "Under '{post}' on the forum an article number is still missing. Look at the post to see {what}, take the "
        "SKU from the shop's page in the second tab, and comment the SKU alone.",
        "Write a comment under the forum post '{post}' that is nothing but the SKU of {what}. SKUs stand on the "
        "pages of the shop in the second tab.",
    ),
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
