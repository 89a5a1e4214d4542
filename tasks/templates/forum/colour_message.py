"""See a colour in a picture and write it to the author of another picture, which shows another colour."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template

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
            *open_post(other, note=f"{seen['colour']} {_name(seen)}"),
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
    ),
    held_out=(
        "Write to the member who posted '{other}', privately, with one lower-case word: the colour of the {things} in "
        "the picture of '{post}'.",
        "Check the picture of '{post}' for the colour of the {things}, then message that colour, in lower case and "
        "alone, to the author of '{other}'.",
    ),
    draw=draw,
    reasoning="hard",
    visual="medium",
    tags=("long-memory",),
)
