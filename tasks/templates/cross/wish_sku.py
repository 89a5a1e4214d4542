"""A post names a product beside another; look up its SKU at the shop and write it under the post."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, begin

from ._cross import forum, look_up, tab, wishes


def draw(drawing: Drawing) -> Draft:
    """A post and the product that is meant; the SKU of the other one would be wrong."""
    wish = drawing.choose(wishes(drawing))

    def telling(name: str, sku: str) -> list[dict[str, object]]:
        return [
            *forum.open_post(wish),
            *begin(1, [tab(1, note=f"'{name}'")]),
            *look_up(name),
            *begin(2, [tab(0, note=f"SKU '{sku}'")]),
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
        "By the end there is a comment of mine under the forum post '{post}' (first tab), and its text is (just|only) "
        "the SKU that the shop (second tab) (gives|has) for {what}.",
        "(Go to|Visit) '{post}' on the forum in the first tab to learn {what}. In the second tab, the shop, (look "
        "up|find) that product's SKU; then come back and comment it bare under '{post}'.",
        "Could you look up an SKU for the readers of '{post}' on the forum (first tab)? It is the SKU of {what}; the "
        "shop (second tab) has it. (Post|Leave) it, alone, as a comment under (the|that) post.",
        "The product that I mean is {what}, see '{post}' on the forum. Its SKU is in the shop, second tab, and "
        "(should go|belongs) under that post as a comment with no (other|further) words.",
        "A friend who reads '{post}' on the forum (asked|asks) for the SKU of {what}. Take it from the product's page "
        "at the shop (second tab) and comment (only this SKU|the SKU and nothing more) under the post.",
        "I would like to add one thing under '{post}' (forum, first tab): the SKU of {what}, as the shop in the "
        "second tab (shows|lists) it. Let the comment be (this SKU only|only that).",
        "What is the SKU of {what}? First read the forum post '{post}' to (know|see) which product that is, then "
        "(check|search) the shop in the second tab, and answer under the post with a comment that holds the SKU only.",
        "In '{post}' on the forum (first tab) two products are named; I mean {what}. (Get|Fetch) its SKU from the "
        "shop (second tab) and comment just the SKU under (the post|'{post}').",
        "Comment for '{post}' on the forum: the bare SKU, from the shop in the second tab, of {what}. (Read the post "
        "first|The post tells you which product that is).",
        "From the forum post '{post}', first tab, take {what}; from the shop, second tab, (take|read) the SKU of it; "
        "back on the forum, (write|post) this SKU as a comment on that post and add no words.",
        "Somebody should (tell|give) the people under '{post}' the SKU of {what}. The forum is in the first tab, the "
        "shop with the SKU in the second; the comment (is|has) the SKU and (nothing else|not a word more).",
        "Search the shop in the second tab for {what}, as the forum post '{post}' in the first tab (has it|tells); "
        "the SKU on that product's page, (alone|by itself), is to be posted as a comment under '{post}'.",
    ),
    held_out=(
        "Under '{post}' on the forum an article number is still missing. Look at the post to see {what}, take the "
        "SKU from the shop's page in the second tab, and comment the SKU alone.",
        "Write a comment under the forum post '{post}' that is nothing but the SKU of {what}. SKUs stand on the "
        "pages of the shop in the second tab.",
    ),
    plan="{what} in '{post}'; tab 1: SKU of it; tab 0: comment on '{post}': SKU",
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
