"""Read codes in two posts and write both under a third, which tells a code of its own."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template

from ._forum import code_posts, code_texts, different, two_under_a_third


def draw(drawing: Drawing) -> Draft:
    """Three posts with codes; the first two are asked for."""
    first, second = drawing.sample(code_posts(drawing), 2, "title")
    place = drawing.choose(code_texts(drawing, first, second), "title")
    different([first, second, place], "code")
    return two_under_a_third(
        drawing,
        (first, second, place),
        "what",
        facts=(first["code"], second["code"]),
        notes=(f"first code '{first['code']}'", f"second code '{second['code']}'"),
        wrong=f"{place['code']}, {second['code']}",
    )


TEMPLATE = Template(
    sites=("reddit",),
    wordings=(
        "(Look up|Find) {first_what} in '{first}' and {second_what} in '{second}'. (Comment|Write) both under the "
        "post '{place}', in this order, with a comma and a blank between them and nothing else.",
        "Under '{place}' I want a comment with two things, (separated by|with) a comma and a blank: {first_what} "
        "from '{first}', then {second_what} from '{second}'. (Nothing else|No other words).",
        "Read the posts '{first}' and '{second}'. The first tells {first_what}, the second {second_what}. "
        "(Post|Leave) the two as a comment under '{place}', as in 'A, B'.",
        "(Please write|Write) a comment under '{place}' that reads 'A, B', where A is {first_what} in '{first}' and "
        "B is {second_what} in '{second}'.",
        "I promised to tell them under '{place}': first {first_what} ('{first}'), then {second_what} ('{second}'). "
        "Make it (one comment of|a single comment with) just the two, with a comma and a blank between.",
        "One after the other, open '{first}' and '{second}' and note {first_what} and {second_what}. Then "
        "(comment|write) the two under '{place}', first the first, with a comma and a blank between.",
        "I want to tell the people under '{place}' two things in one comment, 'A, B': A is {first_what} (in|from) "
        "'{first}', B is {second_what} (in|from) '{second}'.",
        "The post '{first}' has {first_what}, and '{second}' has {second_what}. Comment both under '{place}' in the "
        "form 'A, B', (in this order|as they come here).",
    ),
    held_out=(
        "Two posts, '{first}' and '{second}': one gives {first_what}, the other {second_what}. Put them under "
        "'{place}' as one comment in the form 'A, B'.",
        "Leave 'A, B' as a comment under '{place}'. A stands for {first_what}, told in '{first}', B for "
        "{second_what}, told in '{second}'.",
    ),
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
