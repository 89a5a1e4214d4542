"""Read the phone number of one seller and pass it on to another: it is needed many pages later."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

from ._classifieds import changes, click, different, listings, open_listing, sent, stop, write_to

_TEXTS = ("Please call N.", "My friend has the number N.", "You can reach my partner on N.", "Ring N for me, please.")


def draw(drawing: Drawing) -> Draft:
    """Three listings by different people: whose number is read, who gets it, and one of the first's kind."""
    offered = listings(drawing)
    first, second = drawing.sample(offered, 2, "title")
    alike = [row for row in offered if row["kind"] == first["kind"] and row["id"] != first["id"]]
    if not alike:
        raise Unfit("there is no other of the kind")
    rival = drawing.rng.choice(alike)
    different([first, second, rival], "email")
    text = drawing.rng.choice(_TEXTS)

    def relaying(row: dict[str, object]) -> list[dict[str, object]]:
        right = text.replace("N", str(row["phone"]))
        return [
            *open_listing(row),
            click("button", "Show phone number"),
            *begin(1, write_to(second, right, note=f"phone '{row['phone']}'")),
            stop(),
        ]

    return Draft(
        values={"first": first["title"], "second": second["title"], "text": text},
        evaluation=changes(drawing, sent(second, text.replace("N", first["phone"]))),
        oracle=relaying(first),
        near_miss=relaying(rival),
        login=True,
    )


TEMPLATE = Template(
    sites=("classifieds",),
    wordings=(
        "(Look up|Find|Read) the phone number of the seller of '{first}'. Then send the seller of '{second}' this "
        "message: '{text}', with the number in place of N.",
        "Send the seller of '{second}' the message '{text}', where N is the phone number of (the seller of|whoever "
        "offers) '{first}'.",
        "The seller of '{first}' has a phone number; call it N. (Write|Send) '{text}' to the seller of '{second}'.",
        "Whoever sells '{second}' should be told '{text}'. N stands for the number (under|at) which the seller of "
        "'{first}' can be called.",
        "First open '{first}' and note the seller's phone number N, then (open|go to) '{second}' and contact its "
        "seller with '{text}'.",
        "Show the phone number of whoever offers '{first}'. It is the N in (this message|my message) to the seller "
        "of '{second}': '{text}'",
        "I have a message for the seller of '{second}': '{text}' (For N, take|Instead of N, write) the phone number "
        "that the listing '{first}' shows.",
        "Which number does one call about '{first}'? (Note it|Keep it in mind) as N, and write to the seller of "
        "'{second}': '{text}'",
        "(Get|Note down) the seller's phone number from the page of '{first}'. (Then drop|After that, drop) the seller "
        "of '{second}' a line: '{text}', with that number for N.",
        "By the end the seller of '{second}' has (received|got) '{text}' from me, N being the phone number of (the "
        "person|the one) who sells '{first}'.",
        "I would like to (tell|write to) the seller of '{second}': '{text}' Put the phone number of the seller of "
        "'{first}' (in place of|instead of) N.",
        "Could you (look up|find out) N, the phone number of whoever sells '{first}', and (then send|send) '{text}' to "
        "the seller of '{second}'?",
        "In the message '{text}', N (stands for|means) the phone number of the seller of '{first}'. Fill it in and "
        "send (it|the result) to the seller of '{second}'.",
        "'{second}' has a seller who (should get|needs) this message: '{text}' For N, use the seller's phone number "
        "that you are shown (on the page of|in the listing) '{first}'.",
        "A friend of mine likes '{first}'. N is the phone number of its (seller|owner). (Write|Send) '{text}' to "
        "the seller of '{second}', with this number for N.",
        "Use the contact form of '{second}' for the message '{text}', (after|once) you have replaced N by the phone "
        "number of the (seller|person) behind '{first}'.",
        "What is the phone number of the seller of '{first}'? (Call it N|Let it be N) and let the seller of '{second}' "
        "(know|read): '{text}'",
        "Make sure that whoever posted '{second}' (gets|reads) '{text}', where the phone number given for '{first}' "
        "(replaces|takes the place of) N.",
        "Two listings, '{first}' and '{second}': (take|copy) the seller's phone number N from the first and "
        "(message|write to) the seller of the second: '{text}'",
        "Before (contacting|you contact) the seller of '{second}', have '{first}' show you its seller's phone number. "
        "(My|The) message is '{text}' with this number as N.",
    ),
    held_out=(
        "Pass a phone number on: that of '{first}' (N) goes to the seller of '{second}', in the words '{text}'.",
        "My message to the person who offers '{second}' is '{text}', but you have to put in N, the number shown for "
        "the seller of '{first}'.",
    ),
    plan="phone N of '{first}'; message seller of '{second}': '{text}' with N",
    draw=draw,
    tags=("long-memory",),
)
