"""Send the seller of a listing a message whose words are given."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit

from ._classifieds import changes, listings, sent, stop, write_to

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TEXTS = (
    "Is it still for sale? I could come on {day}.",
    "May I have a look at it on {day} evening?",
    "I would like to fetch it on {day}, please.",
    "Please keep it for me until {day}.",
    "Would {day} afternoon suit you?",
)


def draw(drawing: Drawing) -> Draft:
    """A listing and a text, and another listing of the same kind by somebody else."""
    offered = listings(drawing)
    row = drawing.choose(offered, "title")
    rivals = [each for each in offered if each["kind"] == row["kind"] and each["email"] != row["email"]]
    if not rivals:
        raise Unfit("nobody else offers one")
    text = drawing.rng.choice(_TEXTS).format(day=drawing.rng.choice(_DAYS))
    return Draft(
        values={"listing": row["title"], "text": text},
        evaluation=changes(drawing, sent(row, text)),
        oracle=[*write_to(row, text), stop()],
        near_miss=[*write_to(drawing.rng.choice(rivals), text), stop()],
        login=True,
    )


TEMPLATE = Template(
    sites=("classifieds",),
    wordings=(
        "(Send|Write) the seller of '{listing}' this message: '{text}'",
        "(Contact|Write to) whoever offers '{listing}'. The message is '{text}', nothing else.",
        "Use the contact form of '{listing}' to (ask|write|send): '{text}'",
        "I am interested in '{listing}'. Please (write|tell) the seller '{text}' for me.",
        "The seller of '{listing}' should get the message '{text}' from me.",
        "I want to get in touch about '{listing}'. (Send|Write) exactly this to the seller: '{text}'",
        "Find '{listing}' and let its seller (know|have this message): '{text}'",
        "Please contact the seller of '{listing}'. (All I want to say is|My words are): '{text}'",
        "Drop the (seller|owner) of '{listing}' a line(|, please): '{text}'",
        "By the end the seller of '{listing}' (has|has received) (my|this) message: '{text}'",
        "I would like (to send|you to send) the (words|message) '{text}' to whoever sells '{listing}'.",
        "Could you (message|write to) the seller of '{listing}' for me? (Just say|Say only): '{text}'",
        "(Put|Type) '{text}' into the contact form of '{listing}' and (send it|send the message).",
        "A friend (told me about|pointed me to) '{listing}'. (Send|Write) its seller the message '{text}'",
        "Make sure that whoever (posted|offers) '{listing}' (gets|receives) the following from me: '{text}'",
        "With '{text}' as the (whole|only) text, (send|write) a message to the seller of '{listing}'.",
        "Open the (ad|offer) '{listing}' and write to the seller there(:|, word for word:) '{text}'",
        "'{listing}' is (what I am after|still what I want). Please (pass|send) the seller these words: '{text}'",
        "Message (to|for) the seller of '{listing}', to be sent (now|as it stands): '{text}'",
        "Would you be so kind as to (send|write) '{text}' to the (person who offers|seller of) '{listing}'?",
    ),
    held_out=(
        "Get in touch with the person behind '{listing}', in exactly these words: '{text}'",
        "'{text}' is what I want the owner of '{listing}' to read. Send it as a message.",
    ),
    plan="message seller of '{listing}': '{text}'",
    draw=draw,
    reasoning="easy",
)
