"""Read a price at the shop and one in the classifieds, and write both under a post of the forum."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

from ._cross import dollars, forum, listings, look_up, products, tab


def draw(drawing: Drawing) -> Draft:
    """A product, a listing, a post, and another product that costs something else."""
    ware, other = drawing.sample(products(drawing, "price % 100 = 0 AND instr(name, '''') = 0"), 2)
    listing = drawing.choose(listings(drawing, "price % 100 = 0 AND price < 100000"), "title")
    post = drawing.choose(forum.posts(drawing, "post.kind = 'text' AND instr(post.body, '$') > 0"), "title")
    if len({ware["price"], other["price"], listing["price"]}) < 3:
        raise Unfit("two prices are the same")

    def telling(row: dict[str, object]) -> list[dict[str, object]]:
        new, used = dollars(int(str(row["price"]))), dollars(listing["price"])
        return [
            *look_up(str(row["name"])),
            *begin(1, [tab(1, note=f"price '{new}'")]),
            *look_up(listing["title"]),
            *begin(2, [tab(2, note=f"second hand '{used}'")]),
            *forum.open_post(post),
            *forum.comment(f"{new}, {used}"),
            forum.stop(),
        ]

    both = f"{dollars(ware['price'])}, {dollars(listing['price'])}"
    return Draft(
        values={"product": ware["name"], "listing": listing["title"], "post": post["title"]},
        evaluation=forum.page_checks(forum.changes(drawing, f"comment on {post['id']}: {both}")),
        oracle=telling(ware),
        near_miss=telling(other),
        login=True,
    )


TEMPLATE = Template(
    sites=("shopping", "classifieds", "reddit"),
    wordings=(
        "What does '{product}' cost at the shop (first tab), and what is asked for '{listing}' in the "
        "classifieds (second tab)? (Comment|Write) both prices in whole dollars under the forum post '{post}' "
        "(third tab), as in '$A, $B'.",
        "Under '{post}' on the forum, third tab, (leave|post) a comment of the form '$A, $B': A is the price of "
        "'{product}' at the shop in the first tab, B the price of '{listing}' in the classifieds in the second "
        "tab, both without cents.",
        "(Look up|Find) the price of '{product}' in the first tab and of '{listing}' in the second. Then comment "
        "the two, '$A, $B' without cents, under the post '{post}' in the third tab.",
        "They compare prices under '{post}' on the forum (third tab). Add a comment with two of them, in whole dollars "
        "and (written|in the form) '$A, $B': '{product}' from the shop (first tab) and '{listing}' from the "
        "classifieds (second tab).",
        "The shop is in the first tab, the classifieds are in the second, the forum in the third. Comment '$A, "
        "$B' under '{post}', with A (the price of|for) '{product}' and B (the price of|for) '{listing}', both "
        "without cents.",
        "I want to add figures under the forum post '{post}' (third tab). (Look up|Check) what '{product}' costs in "
        "the shop (first tab) and what '{listing}' costs in the classifieds (second tab), and comment them as '$A, "
        "$B', without cents.",
        "Please comment '$A, $B' under '{post}' in the third tab. A is what the shop in the first tab (asks|wants) "
        "for '{product}', B what the seller of '{listing}' in the second tab (asks|wants), in whole dollars.",
        "First tab: how much is '{product}'? Second tab: how much is '{listing}'? Third tab: (write|leave) the two "
        "as a comment under '{post}', in the form '$A, $B' and without cents.",
        "By the end my comment '$A, $B' is under the forum post '{post}' (third tab). A is the price of '{product}' "
        "in the shop (first tab), B (the price|that) of '{listing}' in the classifieds (second tab), (both|each) in "
        "whole dollars.",
        "Open '{product}' in the shop (first tab) and '{listing}' in the classifieds (second tab), (note|remember) "
        "both prices, and write them under '{post}' on the forum (third tab) as a comment '$A, $B', (without cents|in "
        "whole dollars).",
        "Could you find out the price of '{product}' (shop, first tab) and the price of '{listing}' (classifieds, "
        "second tab) and (add|post) them as a comment to '{post}' (forum, third tab)? The form is '$A, $B', (no "
        "cents|whole dollars).",
        "Someone at '{post}' on the forum, third tab, (asks|wonders) what '{product}' costs in the first tab and what "
        "'{listing}' costs in the second. Answer under that post with a comment of just '$A, $B', in that order and "
        "(without cents|in whole dollars).",
        "The readers of '{post}' (forum, third tab) should see two prices, '$A, $B' in whole dollars, in a comment of "
        "mine: first that of '{product}' from the (shop, first tab|first tab), then that of '{listing}' from the "
        "(classifieds, second tab|second tab).",
        "(Check|See) the shop in the first tab for '{product}', the classifieds in the second for '{listing}', and "
        "the forum in the third for '{post}'. Under that post, comment (the two|both) prices in this order, as '$A, "
        "$B' without cents.",
        "Comment under the forum post '{post}', third tab: '$A, $B', with no cents. The price of '{product}' in the "
        "shop, first tab, (is|gives you) A, and the price of '{listing}' in the classifieds, second tab, (is|gives "
        "you) B.",
        "For '{post}' on the forum in the third tab I (need|want) a comment with prices. The shop (first tab) has "
        "'{product}', the classifieds (second tab) have '{listing}': write what they cost as '$A, $B', (cents left "
        "out|in whole dollars).",
        "I compare (prices|what things cost) with the people under '{post}' (third tab, forum). Tell them in a "
        "comment '$A, $B', whole dollars, (for how much|at what price) '{product}' is sold in the first tab and "
        "'{listing}' in the second.",
        "'{product}' has a price in the shop, first tab, and '{listing}' has one in the classifieds, second tab. "
        "(Leave|Post) these two, in this order, as a comment under '{post}' on the forum, third tab, (written|like "
        "this): '$A, $B', no cents.",
        "My comment under '{post}' (third tab) is to (read|be) '$A, $B'. Get A, the price of '{product}', from the "
        "first tab and B, the price of '{listing}', from the second, (both without cents|both as whole dollars), and "
        "post it.",
        "How much do '{product}' (shop, first tab) and '{listing}' (classifieds, second tab) cost? (Say so|Say it) in "
        "one comment under '{post}' on the forum, third tab, as '$A, $B' (and without cents|in whole dollars).",
    ),
    held_out=(
        "Take two prices along to the forum: that of '{product}' (shop, first tab) and that of '{listing}' "
        "(classifieds, second tab). Put them under '{post}' (third tab) as a comment '$A, $B', whole dollars only.",
        "I would like a comment under '{post}' in the third tab that says '$A, $B' in whole dollars, where A is what "
        "'{product}' costs new in the first tab and B what '{listing}' costs second hand in the second tab.",
    ),
    plan="price A of '{product}'; tab 1: price B of '{listing}'; tab 2: comment on '{post}': A, B",
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
