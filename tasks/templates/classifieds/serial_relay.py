"""Read the serial number in a photo of one listing and send it to the seller of another."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, begin

from ._classifieds import changes, different, last_photo, listings, open_listing, others, sent, stop, write_to

_TEXTS = ("Do you know the number S?", "I look for the one with S.", "Was S ever yours?", "Mine has the number S.")


def draw(drawing: Drawing) -> Draft:
    """A listing with a label on its last photo, another one with a label, and a listing whose seller is asked."""
    labelled = [row for row in listings(drawing) if row["serial"]]
    first = drawing.choose(labelled, "title")
    rival = drawing.rng.choice([each for each in labelled if each["id"] != first["id"]])
    second = drawing.choose(others(drawing, first), "title")
    different([first, second, rival], "id")
    text = drawing.rng.choice(_TEXTS)

    def worded(serial: object) -> str:
        return " ".join(word.replace("S", str(serial)) if word.strip(".?") == "S" else word for word in text.split())

    def asking(row: dict[str, object]) -> list[dict[str, object]]:
        note = f"serial '{row['serial']}'"
        return [
            *open_listing(row),
            *begin(1, [last_photo(row)]),
            *begin(2, write_to(second, worded(row["serial"]), note=note)),
            stop(),
        ]

    return Draft(
        values={"first": first["title"], "second": second["title"], "text": text},
        evaluation=changes(drawing, sent(second, worded(first["serial"]))),
        oracle=asking(first),
        near_miss=asking(rival),
        login=True,
    )


TEMPLATE = Template(
    sites=("classifieds",),
    wordings=(
        "A photo of '{first}' shows its serial number. (Send|Write) the seller of '{second}' the message '{text}', "
        "with the serial number in place of S.",
        "(Find|Read) the serial number S in the photos of '{first}', then contact the seller of '{second}' with "
        "'{text}'",
        "Send the message '{text}' to whoever offers '{second}'. S is the serial number on the label in (the photos|a "
        "photo) of '{first}'.",
        "First look at the photos of '{first}' for the serial number S. Then (tell|write) the seller of '{second}': "
        "'{text}'",
        "The seller of '{second}' should get the message '{text}' from me; for S, put the serial number (seen|shown) "
        "in a photo of '{first}'.",
        "I need to pass a serial number on. It is on a label in the photos of '{first}'; call it S and (write|send) "
        "to the seller of '{second}': '{text}'",
        "Tell the seller of '{second}': '{text}' (First|Before that), look up S, the serial number that one photo of "
        "'{first}' shows.",
        "Go through the photos of '{first}' until you (see|find) the label with its serial number S. Then message "
        "whoever (sells|offers) '{second}': '{text}'",
        "(Get|Note) the serial number off the label in the photos of '{first}'. (Then|Next,) drop the seller of "
        "'{second}' a line: '{text}', with it as S.",
        "By the end the seller of '{second}' has my message '{text}', S being (replaced by|swapped for) the serial "
        "number that a photo of '{first}' (shows|has).",
        "I would like to (send|write) '{text}' to the seller of '{second}'. Replace S by the serial number (on|from) "
        "the label in a photo of '{first}'.",
        "Could you (read|find) S, the serial number in the photos of '{first}', and (tell|write to) the seller of "
        "'{second}': '{text}'?",
        "In my message '{text}', S (stands for|means) the serial number pictured with '{first}'. Fill it in and send "
        "(it|the result) to the seller of '{second}'.",
        "'{second}' has a seller who should (get|read) the message '{text}'. For S, (use|take) the serial number of "
        "'{first}', which is on a label in its photos.",
        "A friend is (after|curious about) '{first}', whose serial number S only a photo (shows|tells). Write to the "
        "seller of '{second}', with that number for S: '{text}'",
        "Use the contact form of '{second}' to send '{text}', (after|once) you have put the serial number from the "
        "(photos|label in a photo) of '{first}' in place of S.",
        "What serial number does the label in the photos of '{first}' (show|bear)? Let it be S, and (message|write to) "
        "the seller of '{second}': '{text}'",
        "Make sure that whoever posted '{second}' (gets|receives) the words '{text}', where S is (replaced "
        "by|exchanged for) the serial number seen in a photo of '{first}'.",
        "Two listings: '{first}' shows a serial number S in (a photo|one of its photos), and the seller of '{second}' "
        "(has|needs) to be told '{text}', with that number for S.",
        "Before you (contact|message) the seller of '{second}', view the photos of '{first}' until its label with a "
        "serial number appears. That number (replaces|goes in for) S in my message '{text}'",
    ),
    held_out=(
        "On a label photographed for '{first}' stands a serial number, here called S. Ask it into the inbox of the "
        "seller of '{second}', in these words: '{text}'",
        "'{text}' goes to the person with the listing '{second}'. You find S in the pictures of '{first}', on a label.",
    ),
    plan="open '{first}'; photo with serial number S; message seller of '{second}': '{text}' with S",
    draw=draw,
    visual="hard",
    tags=("long-memory",),
)
