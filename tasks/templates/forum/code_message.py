"""Read a code in one post and send it to the author of another, which tells a code of its own."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template

from ._forum import changes, code_posts, code_texts, different, message, open_post, page_checks, stop


def draw(drawing: Drawing) -> Draft:
    """Two posts with codes, by two members."""
    told = drawing.choose(code_posts(drawing), "title")
    other = drawing.choose(code_texts(drawing, told), "title")
    pair = told, other
    different(pair, "author")
    different(pair, "code")
    writer = other["author"]
    return Draft(
        values={"post": told["title"], "what": told["what"], "other": other["title"]},
        evaluation=page_checks(changes(drawing, f"message to {writer}: {told['code']}")),
        oracle=[
            *open_post(told),
            *open_post(other, note=f"code '{told['code']}'"),
            *message(writer, told["code"], note=f"message to '{writer}'"),
            stop(),
        ],
        near_miss=[*open_post(told), *open_post(other), *message(writer, other["code"]), stop()],
        login=True,
    )


TEMPLATE = Template(
    sites=("reddit",),
    wordings=(
        "(Look up|Find) {what} in the post '{post}' and send it, and nothing else, to the author of '{other}' as a "
        "private message.",
        "The post '{post}' tells {what}. (Send|Write) just that in a private message to the member who wrote "
        "'{other}'.",
        "Read '{post}' and remember {what}. Then (open|find) the post '{other}' and send its author a message with "
        "(only|just) that in it.",
        "Whoever wrote '{other}' asked me for {what}; it stands in '{post}'. (Send it to them|Pass it on) as a private "
        "message without any other words.",
        "I owe the author of '{other}' a message: {what} from '{post}', nothing more. Please (send|write) it.",
        "'{post}' has something that the author of '{other}' needs: {what}. (Send|Write) them a private message with "
        "it and nothing else.",
        "Please find out {what} from the post '{post}', then look for '{other}' and message its author privately. "
        "(Only that should stand in the message.|The message is only that.)",
        "A private message to whoever posted '{other}', (please|if you would): its only content is {what}, as "
        "'{post}' (tells|has) it.",
    ),
    held_out=(
        "Message the author of '{other}'. The text is {what}, which you find in the post '{post}', and nothing "
        "besides.",
        "In '{post}' somebody gives {what}. The person who posted '{other}' should get exactly this by private "
        "message.",
    ),
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
