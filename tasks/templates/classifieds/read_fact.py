"""Read one thing on the page of a listing: the control, which needs neither memory nor eyes."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

from ._classifieds import answer, dollars, listings, open_listing, stop

_FACTS = {
    "price": "the price",
    "city": "the town",
    "seller": "the name of the seller",
    "email": "the seller's email address",
    "id": "the listing number",
}


def draw(drawing: Drawing) -> Draft:
    """A listing with one of its facts, and a listing of the same kind where it is another."""
    offered = listings(drawing)
    row = drawing.choose(offered, "title")
    fact = drawing.rng.choice(list(_FACTS))
    rivals = [each for each in offered if each["kind"] == row["kind"] and each[fact] != row[fact]]
    if not rivals:
        raise Unfit("there is no other of the kind")
    rival = drawing.rng.choice(rivals)

    def told(each: dict[str, object]) -> str:
        return dollars(each) if fact == "price" else str(each[fact])

    amount = row["price"] // 100
    return Draft(
        values={"listing": row["title"], "fact": _FACTS[fact]},
        evaluation=answer(f"{amount} |OR| {amount}.00" if fact == "price" else told(row)),
        oracle=[*open_listing(row), *begin(1, [stop(told(row), note=f"{fact} '{told(row)}'")])],
        near_miss=[*open_listing(rival), stop(told(rival))],
    )


TEMPLATE = Template(
    sites=("classifieds",),
    wordings=(
        "(Find|Look up) {fact} of the listing '{listing}'.",
        "(Open|Go to) '{listing}' and tell me {fact}.",
        "What is {fact} in the listing '{listing}'?",
        "I am interested in '{listing}'. (Report|Give me|Name) {fact}, please.",
        "What does the page of '{listing}' (give|show|have) as {fact}?",
        "Could you look at '{listing}' and (tell|give) me {fact}?",
        "I only need one thing from the listing '{listing}': {fact}. (What is it?|Please answer with it.)",
        "(Search for|Look for) the listing '{listing}'; its page has {fact}, which I would like to know.",
        "(Check|See) the page of '{listing}' and (report|reply with) {fact}.",
        "I (would like to know|want to be told) {fact}, as (given|stated) in the listing '{listing}'.",
        "Please (state|name) {fact} that the (ad|offer) '{listing}' gives.",
        "By the end I (know|have) {fact} from the ad '{listing}': put it (in|into) your answer.",
        "A friend (is curious about|likes) '{listing}' and wants to know {fact}. (Look it up.|Find it for me.)",
        "'{listing}': (tell|give) me {fact}(|, please).",
        "Can you (find|read) {fact} on the page of '{listing}' (for me|and write it here)?",
        "What is (stated|written) as {fact} in the (ad|offer) '{listing}'?",
        "Look for {fact} (on the page of|in the ad) '{listing}' and (answer|come back) with what you find.",
        "Before I (decide on|go for) '{listing}', I need {fact}. (The page tells.|Read it on the page.)",
        "Of all that the page of '{listing}' (says|tells), I want just {fact}. (Copy|Write) it into the answer.",
        "My notes (lack|are missing) {fact} for '{listing}'. (Look that up|Find that) in the listing.",
    ),
    held_out=(
        "Somebody offers '{listing}'. I only need to know {fact}.",
        "For '{listing}', please answer with {fact} as the page has it.",
    ),
    plan="open '{listing}'; answer {fact}",
    draw=draw,
    reasoning="easy",
)
