"""See a colour in a picture and write it to the author of another picture, which shows another colour."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, begin

from ._forum import ME, PLURALS, changes, colour_hidden, different, message, open_post, page_checks, pictures, stop


def draw(drawing: Drawing) -> Draft:
    """Two coloured pictures by two members."""
    seen, other = pair = drawing.sample(colour_hidden(pictures(drawing)), 2, "title")
    different(pair, "colour")
    different([*pair, {"author": ME}], "author")
    writer = other["author"]
    return Draft(
        values={"post": seen["title"], "things": _name(seen), "other": other["title"]},
        evaluation=page_checks(changes(drawing, f"message to {writer}: {seen['colour']}")),
        oracle=[
            *open_post(seen),
            *begin(1, open_post(other, note=f"{seen['colour']} {_name(seen)}")),
            *message(writer, seen["colour"], note=f"message to '{writer}'"),
            stop(),
        ],
        near_miss=[*open_post(other), *message(writer, other["colour"]), stop()],
        login=True,
    )


def _name(post: dict[str, object]) -> str:
    if post["count"] != 1:
        return str(post["things"])
    return "ball of yarn" if post["kind"] == "yarn" else _SINGULAR.get(str(post["things"]), str(post["things"])[:-1])


_SINGULAR = {PLURALS[kind]: kind for kind in ("fish", "scarf", "butterfly")} | {"toolboxes": "toolbox"}

TEMPLATE = Template(
    sites=("reddit",),
    wordings=(
        "(Find|See) the colour of the {things} in the picture of '{post}' and send it, as one word in lower "
        "case, to the author of '{other}' as a private message.",
        "(Look at|Open) the picture of '{post}' and send the author of '{other}' a private message that holds only the "
        "colour of the {things}, in lower case.",
        "The author of '{other}' wants to know the colour of the {things} in the picture of '{post}'. "
        "(Send|Write) it to them in a private message of one word, in lower case.",
        "Send a private message to whoever posted '{other}': one word, in lower case, the colour of the {things} that "
        "'{post}' shows. (Nothing else|No more than that).",
        "In the picture of '{post}' you can see the colour of the {things}. (Tell|Write) it to the author of "
        "'{other}' by private message, in one word and lower case.",
        "What is the colour of the {things} in the picture of '{post}'? (Message|Write) it privately to the author "
        "of '{other}': one lower-case word.",
        "Somebody wonders about the colour of the {things} in '{post}', namely the author of '{other}'. "
        "(Answer|Tell) them by private message with one word, the colour, in lower case.",
        "Open '{post}', look at the {things} in its picture, and remember the colour. Then find '{other}' and send "
        "(its author|whoever posted it) that colour as a private message, one lower-case word.",
        "By the end, the author of '{other}' has a private message from me with a single word in (lower case|small "
        "letters): the colour of the {things} (in|on) the picture of '{post}'.",
        "I would like to let the (author|writer) of '{other}' know the colour of the {things} that the picture of "
        "'{post}' shows. Send (it|the colour) as a private message: one word, lower case.",
        "(View|Find) '{post}', take the colour of the {things} from its picture, and (send|write) it privately to the "
        "author of '{other}', as one word in lower case.",
        "A friend posted '{other}' and (asked|wants to hear) about the colour of the {things} in the picture of "
        "'{post}'. Message (them|this friend) privately: just the colour, one word, lower case.",
        "Colour of the {things} in '{post}'? See (its|the) picture, then send the answer, one word in lower case, to "
        "(the author of|whoever wrote) '{other}' as a private message.",
        "One private message, please, to the (member|person) behind '{other}'. It says the colour of the {things} to "
        "be seen in '{post}' and (no more|nothing else): one lower-case word.",
        "Could you look at the {things} in the picture of '{post}' and (tell|message) the author of '{other}' the "
        "colour privately, in (one|a single) lower-case word?",
        "For the author of '{other}' I need you to (find|see) a colour: that of the {things} in the picture of "
        "'{post}'. Send it in a private message, (all lower case|in lower case), one word.",
        "The {things} in the picture of '{post}': I want to send the colour, as one lower-case word, in a private "
        "message to the member who (posted|wrote) '{other}'. (Please do|Do it for me).",
        "(Go to|Visit) '{other}' and send its author, in a private message, the colour of the {things} in the picture "
        "of '{post}': one word, (all lower case|no capitals).",
        "Nobody told the author of '{other}' the colour of the {things} that one sees in '{post}'. (Look at that "
        "picture|Have a look) and (tell|send) it to them by private message in one lower-case word.",
        "A word in lower case, the colour of the {things} (pictured|shown) in '{post}', is all that my private "
        "message to the author of '{other}' should (say|hold). Send it.",
    ),
    held_out=(
        "Write to the member who posted '{other}', privately, with one lower-case word: the colour of the {things} in "
        "the picture of '{post}'.",
        "Check the picture of '{post}' for the colour of the {things}, then message that colour, in lower case and "
        "alone, to the author of '{other}'.",
    ),
    plan="colour of {things} in '{post}'; message author of '{other}': colour",
    draw=draw,
    reasoning="hard",
    visual="medium",
    tags=("long-memory",),
)
