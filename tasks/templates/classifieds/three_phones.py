"""Collect the phone numbers of three sellers and answer with all of them."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template

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
        for name, row in zip(("first", "second", "third"), rows, strict=True):
            steps += [*open_listing(row, note=note), click("button", "Show phone number")]
            note = f"{name} '{row['phone']}'"
        return [*steps, stop(", ".join(str(row["phone"]) for row in rows), note=note)]

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
    ),
    held_out=(
        "Three calls to make today, about '{a}', '{b}' and '{c}'. Which numbers do I dial?",
        "For each of '{a}', '{b}' and '{c}', tell me under which phone number the seller can be reached.",
    ),
    draw=draw,
    tags=("long-memory",),
)
