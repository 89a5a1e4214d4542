"""Find the cheapest thing of a kind in a region and say how to reach its seller."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

from ._classifieds import answer, click, found_by, listings, search, select, stop


def draw(drawing: Drawing) -> Draft:
    """A kind with at least two listings in a region and a cheaper one, or at least another one, elsewhere."""
    offered = listings(drawing)
    firsts = []
    for row in offered:
        alike = [each for each in offered if (each["kind"], each["region"]) == (row["kind"], row["region"])]
        if len(alike) > 1 and row["price"] == min(each["price"] for each in alike):
            firsts.append(row | {"next": sorted(alike, key=lambda each: each["price"])[1]})
    own = {row["kind"] for row in listings(drawing, own=True)}
    row = drawing.choose([each for each in firsts if each["kind"] not in own], "title")
    kind = row["kind"]
    if row["next"]["price"] == row["price"]:
        raise Unfit("two of them cost the same")
    if found_by(drawing, kind) > sum(each["kind"] == kind for each in offered):
        raise Unfit("a search for the kind finds something else too")
    anywhere = min((each for each in offered if each["kind"] == kind), key=lambda each: each["price"])
    rival = row["next"] if anywhere["email"] == row["email"] else anywhere
    if rival["email"] == row["email"]:
        raise Unfit("the same person offers the next one")
    looking = [
        select("Place", row["region"]),
        *begin(1, [search(kind)]),
        *begin(2, [select("Sort by", "Lowest price first")]),
    ]
    wrong = looking if rival is row["next"] else [looking[1], looking[2]]
    return Draft(
        values={"kind": kind, "region": row["region"]},
        evaluation=answer(row["email"]),
        oracle=[
            *looking,
            *begin(3, [click("link", row["title"])]),
            *begin(4, [stop(row["email"], note=f"email '{row['email']}'")]),
        ],
        near_miss=[*wrong, click("link", rival["title"]), stop(rival["email"])],
    )


TEMPLATE = Template(
    sites=("classifieds",),
    wordings=(
        "(Find|Look for) the listing of the '{kind}' with the lowest price in '{region}' and tell me the email address "
        "of its seller.",
        "Who sells the cheapest '{kind}' in '{region}'? (Answer with|Give me|I need) the email address.",
        "(Search|Look) in '{region}' for what costs least under '{kind}'. Which email address does its seller have?",
        "I want the lowest-priced '{kind}' that is offered in '{region}'. What is the seller's email address?",
        "Of the listings for '{kind}' in '{region}', open the cheapest and (report|copy) the email address shown "
        "there.",
        "What is the email address of whoever (offers|has) the cheapest '{kind}' in '{region}'?",
        "I do not want to spend much on a '{kind}'. See who asks least for one in '{region}' and (send me|note) that "
        "seller's email address.",
        "Compare the prices of every '{kind}' in '{region}'. The (lowest|smallest) one counts: what email address "
        "does (its|that) seller have?",
        "(Sort|Order) the listings for '{kind}' in '{region}' by price. What email address has the seller of the "
        "(cheapest|lowest-priced) one?",
        "I would like to (buy|get) a '{kind}' in '{region}' as cheaply as I can. (Look up|Find) the email address of "
        "the seller with the lowest price.",
        "In '{region}', who (wants|charges) the smallest sum for a '{kind}'? Reply with that seller's (email "
        "address|email).",
        "The cheapest '{kind}' offered in '{region}' has its seller's email address (on its page|in the listing). "
        "(What is it?|Which one is it?)",
        "A friend (needs|is after) a cheap '{kind}' in '{region}'. Find her the email address of the person who "
        "(sells|offers) one at the lowest price.",
        "(Please check|Check) what each '{kind}' costs in '{region}' and answer with the email address (given|shown) "
        "in the listing with the lowest price.",
        "Email address (wanted|needed): the one of whoever lists a '{kind}' in '{region}' (at the lowest price|most "
        "cheaply).",
        "There is (more than one offer|not just one offer) of a '{kind}' in '{region}'. Pick the one with the smallest "
        "price and (copy|write down) the email address of its seller.",
        "(Set|Choose) '{region}' as the place, (search|look) for '{kind}' and open the listing with the lowest price. "
        "What email address is on its page?",
        "I (mean to|will) email the seller of the least expensive '{kind}' in '{region}'. (Which address do I "
        "use?|What is the address?)",
        "Could you (see|check) which '{kind}' in '{region}' is the cheapest and (let me have|give me) its seller's "
        "email address?",
        "Of each '{kind}' on sale in '{region}', one costs less than the others: (name|state) the email address of the "
        "person (behind|selling) that one.",
    ),
    held_out=(
        "Money is short: which seller in '{region}' asks least for a '{kind}'? Their email address is enough.",
        "Tell me the email address I have to write to for the cheapest '{kind}' in '{region}'.",
    ),
    plan="place '{region}'; search '{kind}'; lowest price first; open cheapest; answer email of seller",
    draw=draw,
)
