"""Collect the phone numbers of three sellers and answer with all of them."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, begin

from ._classifieds import answer, click, different, listings, open_listing, stop


def draw(drawing: Drawing) -> Draft:
    """Three listings by different people, and a fourth whose number would be wrong."""
    offered = listings(drawing)
    three = drawing.sample(offered, 3, "title")
    rival = drawing.rng.choice(offered)
    different([*three, rival], "phone")

    def collecting(*rows: dict[str, object]) -> list[dict[str, object]]:
        steps: list[dict[str, object]] = []
        note = ""
        for part, (name, row) in enumerate(zip(("first", "second", "third"), rows, strict=True)):
            steps += [*begin(part, open_listing(row, note=note)), click("button", "Show phone number")]
            note = f"{name} '{row['phone']}'"
        return [*steps, *begin(3, [stop(", ".join(str(row["phone"]) for row in rows), note=note)])]

    return Draft(
        values={name: row["title"] for name, row in zip("abc", three, strict=True)},
        evaluation=answer(*(row["phone"] for row in three)),
        oracle=collecting(*three),
        near_miss=collecting(three[0], rival, three[2]),
    )


TEMPLATE = Template(
    sites=("classifieds",),
    wordings=(
        "(Find|Look up|Collect) the phone numbers of the sellers of '{a}', '{b}' and '{c}'.",
        "I want to call three people: whoever sells '{a}', '{b}' and '{c}'. (What are|Tell me) their phone numbers.",
        "(Open|Visit) '{a}', '{b}' and '{c}' one after the other, show each seller's phone number and answer with all "
        "three.",
        "Which phone numbers belong to the sellers of '{a}', of '{b}' and of '{c}'? (Give them in this order|List "
        "them).",
        "Make me a list of three phone numbers: the seller of '{a}', the seller of '{b}', the seller of '{c}'.",
        "Whom do I ring about '{a}', '{b}' and '{c}'? (Give|Tell) me the three sellers' phone numbers.",
        "'{a}', '{b}', '{c}': (each|every one) of these listings has a seller with a phone number. (Report|List) the "
        "three numbers.",
        "Please note the phone number of the seller of '{a}', then of '{b}', then of '{c}', and (answer with|send "
        "me) all of them.",
        "(Get|Find) me the three phone numbers for '{a}', '{b}' and '{c}', one (from|for) each seller.",
        "By the end I have three phone numbers (in|from) your answer: (those|the ones) of the sellers of '{a}', '{b}' "
        "and '{c}'.",
        "I would like to (phone|ring) the sellers of '{a}', '{b}' and '{c}'. (List|Write down) their numbers for me.",
        "Could you (check|see) what phone number the seller of '{a}' has, and (likewise|also) those of '{b}' and of "
        "'{c}'? Answer with all three numbers.",
        "'{a}' first, '{b}' second, '{c}' third: (show|reveal) the seller's phone number on each page and (report|send "
        "me) the three.",
        "The sellers of '{a}', '{b}' and '{c}' (have|give) their phone numbers on the listings' pages. (Copy|Put) all "
        "three into the answer.",
        "A friend is interested in '{a}', '{b}' and '{c}' and (prefers|likes) to phone. (Find|Look up) the three "
        "sellers' numbers for her.",
        "What are the phone numbers (shown|given) in the ads '{a}', '{b}' and '{c}'? I need (all three|every one of "
        "them).",
        "Phone numbers (wanted|needed): seller of '{a}', seller of '{b}', seller of '{c}'. Answer with the three, (in "
        "this order|one after the other).",
        "Make a note of three phone numbers and (answer|reply) with them: that of whoever offers '{a}', of whoever "
        "offers '{b}', and of whoever (offers|sells) '{c}'.",
        "On the page of '{a}' one can show the seller's phone number, and so on the pages of '{b}' and '{c}'. Do "
        "(so|that) three times and (list|give) the numbers.",
        "My phone list (lacks|is missing) the people who sell '{a}', '{b}' and '{c}'. Please (tell|send) me their "
        "phone numbers.",
    ),
    held_out=(
        "Three calls to make today, about '{a}', '{b}' and '{c}'. Which numbers do I dial?",
        "For each of '{a}', '{b}' and '{c}', tell me under which phone number the seller can be reached.",
    ),
    plan="phone of '{a}'; phone of '{b}'; phone of '{c}'; answer three",
    draw=draw,
    tags=("long-memory",),
)
