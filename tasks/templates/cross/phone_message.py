"""Read the phone number of a listing's seller and send it to a member of the forum."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

from ._cross import forum, listings, look_up, tab


def draw(drawing: Drawing) -> Draft:
    """A listing, another of the same kind by somebody else, and a post that tells a number of its own."""
    offered = listings(drawing)
    listing = drawing.choose(offered, "title")
    rivals = [row for row in offered if row["kind"] == listing["kind"] and row["phone"] != listing["phone"]]
    if not rivals:
        raise Unfit("there is no other listing of the kind")
    rival = drawing.rng.choice(rivals)
    post = drawing.choose(forum.code_texts(drawing), "title")
    writer = post["author"]

    def sending(row: dict[str, object]) -> list[dict[str, object]]:
        return [
            *look_up(str(row["title"])),
            forum.click("button", "Show phone number"),
            *begin(1, [tab(1, note=f"phone '{row['phone']}'")]),
            *forum.open_post(post),
            *forum.message(writer, str(row["phone"]), note=f"message to '{writer}'"),
            forum.stop(),
        ]

    return Draft(
        values={"listing": listing["title"], "post": post["title"]},
        evaluation=forum.page_checks(forum.changes(drawing, f"message to {writer}: {listing['phone']}")),
        oracle=sending(listing),
        near_miss=sending(rival),
        login=True,
    )


TEMPLATE = Template(
    sites=("classifieds", "reddit"),
    wordings=(
        "The classifieds (first tab) have a listing '{listing}'. Send its seller's phone number, and nothing "
        "else, to the author of the forum post '{post}' (second tab) (as a private message|in a private message).",
        "(Look up|Find) the phone number of the seller of '{listing}' in the first tab, then send just the number as a "
        "private message to whoever wrote '{post}' on the forum in the second tab.",
        "Whoever wrote '{post}' on the forum (second tab) would like to call the seller of '{listing}' (first "
        "tab). (Send them|Message them) the phone number privately, without any other words.",
        "On the forum in the second tab, the author of '{post}' waits for a private message with a phone number: "
        "that of the seller of '{listing}' in the classifieds, first tab. (Write only the number|Only the "
        "number, please).",
        "Get the number to call about '{listing}' from the classifieds in the first tab and pass it on, "
        "(alone|bare), by private message, to the author of '{post}' on the forum in the second tab.",
        "Somebody sells '{listing}' in the classifieds, first tab. I want the author of '{post}' on the forum "
        "(second tab) to have the seller's phone number: (send|write) it as a private message, the number only.",
        "Please look at '{listing}' in the first tab, show the seller's phone number and (message|send) it, with no "
        "other word, to the member who wrote '{post}' on the forum in the second tab.",
        "Private message for the author of '{post}' on the forum, second tab: the phone number of (the seller "
        "of|whoever offers) '{listing}' from the first tab, and (that is all|nothing more).",
        "By the end the author of the forum post '{post}' (second tab) has a private message from me with (just|only) "
        "the phone number of the seller of '{listing}' (classifieds, first tab).",
        "Open '{listing}' in the classifieds, first tab, and (note|remember) the seller's phone number. Then go to "
        "'{post}' on the forum, second tab, and send its (author|writer) a private message with that number alone.",
        "What is the phone number of the seller of '{listing}' (first tab)? (Tell|Send) it privately to the member "
        "who (wrote|posted) '{post}' on the forum (second tab); write only the number.",
        "A friend on the forum (second tab), the author of '{post}', (wants to|plans to) call about '{listing}' from "
        "the classifieds (first tab). Send (them|this friend) a private message with the seller's number and nothing "
        "more.",
        "Could you send the phone number of the seller of '{listing}' in the first tab to the author of the forum "
        "post '{post}' in the second, (as a|by) private message and with no words (around it|added)?",
        "The seller of '{listing}' (classifieds, first tab) can be phoned. Find the number with the button on the "
        "(page|listing), and write it, (bare|alone), to the author of '{post}' on the forum (second tab) in a private "
        "message.",
        "I (promised|owe) the author of '{post}' (forum, second tab) a phone number: that of the seller of "
        "'{listing}' (classifieds, first tab). Send it in a private message (and add nothing|without adding anything).",
        "First tab, classifieds: '{listing}', the seller's phone number. Second tab, forum: '{post}', its author. "
        "(Send|Message) the one to the other privately, (nothing but the number|the number and no text).",
        "The forum in the second tab has a post '{post}'. Its author is to (receive|get) a private message from me "
        "that (is only|consists of) the phone number of whoever sells '{listing}' in the first tab.",
        "(Copy|Take) the phone number from '{listing}' in the classifieds (first tab) into a private message to the "
        "author of the forum post '{post}' (second tab), and send (it|the message) with no other text.",
        "It is about '{listing}' in the first tab: I would like the (writer|author) of the forum post '{post}' in the "
        "second tab to be sent the seller's phone number in a private message, (by itself|on its own).",
        "Search the classifieds in the first tab for '{listing}', (show|reveal) the phone number, search the forum in "
        "the second tab for '{post}', and send its author the number by private message, (nothing else|without a "
        "greeting).",
    ),
    held_out=(
        "'{listing}' is for sale in the first tab. The member who posted '{post}' on the forum (second tab) should get "
        "the seller's phone number by private message, and no other word.",
        "Write a private message on the forum (second tab) to the author of '{post}'. Its whole text is the "
        "phone number given with the listing '{listing}' in the first tab.",
    ),
    plan="phone of '{listing}'; tab 1: message author of '{post}': phone",
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
