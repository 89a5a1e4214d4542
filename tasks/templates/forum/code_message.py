"""Read a code in one post and send it to the author of another, which tells a code of its own."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, begin

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
            *begin(1, open_post(other, note=f"code '{told['code']}'")),
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
        "(Check|Look into) '{post}' for {what}, go to '{other}', and send the member who (posted|wrote) it a private "
        "message with that alone.",
        "By the end the author of '{other}' has a private message from me that (consists of|holds) {what}, taken from "
        "'{post}', (and no other word|and nothing more).",
        "I would like to tell the author of '{other}' {what} by private message. (The post '{post}' has it|You can "
        "read it in '{post}'); (write|send) nothing else.",
        "What is {what}, according to (|the post )'{post}'? Let the (author|writer) of '{other}' know in a private "
        "message of just that.",
        "A friend, the (author|writer) of '{other}', (needs|asked for) {what}. Read it in '{post}' and message it "
        "privately, with no words around it.",
        "Open '{post}', note {what}, open '{other}', (click|go to) its author and send a private message: (just|only) "
        "what you noted.",
        "(Write privately to|Send a private message to) whoever started the thread '{other}'. All that it says is "
        "{what}, (found|to be read) in the thread '{post}'.",
        "To the author of '{other}', privately: {what}. It (stands|can be found) in '{post}', and I want (no other "
        "text|nothing else) in the message.",
        "Get {what} from (|the post )'{post}' and (forward|hand) it to the member behind '{other}' in a private "
        "message that has no other text.",
        "Could you (look up|read) {what} in '{post}' and drop the author of '{other}' a private message with (it "
        "alone|nothing but that)?",
        "There is a post '{other}' to whose author I must send {what}. Find (that|it) in '{post}' and put it, "
        "(bare|alone), into a private message.",
        "One private message is to be (sent|written) for me: the receiver is the author of '{other}', the content is "
        "{what} from '{post}', (with nothing added|without a greeting).",
    ),
    held_out=(
        "Message the author of '{other}'. The text is {what}, which you find in the post '{post}', and nothing "
        "besides.",
        "In '{post}' somebody gives {what}. The person who posted '{other}' should get exactly this by private "
        "message.",
    ),
    plan="{what} in '{post}'; message author of '{other}': it",
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
