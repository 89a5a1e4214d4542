"""Read codes in two posts and write both under a third, which tells a code of its own."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template

from ._forum import changes, code_posts, code_texts, comment, different, open_post, page_checks, stop


def draw(drawing: Drawing) -> Draft:
    """Three posts with codes; the first two are asked for."""
    first, second = drawing.sample(code_posts(drawing), 2, "title")
    place = drawing.choose(code_texts(drawing, first, second), "title")
    different([first, second, place], "code")
    text, wrong = f"{first['code']}, {second['code']}", f"{place['code']}, {second['code']}"
    return Draft(
        values={
            "first": first["title"],
            "first_what": first["what"],
            "second": second["title"],
            "second_what": second["what"],
            "place": place["title"],
        },
        evaluation=page_checks(changes(drawing, f"comment on {place['id']}: {text}")),
        oracle=[
            *open_post(first),
            *open_post(second, note=f"first code '{first['code']}'"),
            *open_post(place, note=f"second code '{second['code']}'"),
            *comment(text),
            stop(),
        ],
        near_miss=[*open_post(second), *open_post(place), *comment(wrong), stop()],
        login=True,
    )


TEMPLATE = Template(
    sites=("reddit",),
    wordings=(
        "(Look up|Find) {first_what} in '{first}' and {second_what} in '{second}'. (Comment|Write) both under the post "
        "'{place}', in this order, with a comma and a blank between them and nothing else.",
        "Under '{place}' I want a comment with two things, (separated by|with) a comma and a blank: {first_what} from "
        "'{first}', then {second_what} from '{second}'. (Nothing else|No other words).",
        "Read the posts '{first}' and '{second}'. The first tells {first_what}, the second {second_what}. (Post|Leave) "
        "the two as a comment under '{place}', as in 'A, B'.",
        "(Please write|Write) a comment under '{place}' that reads 'A, B', where A is {first_what} in '{first}' "
        "and B is {second_what} in '{second}'.",
        "I promised to tell them under '{place}': first {first_what} ('{first}'), then {second_what} "
        "('{second}'). Make it (one comment of|a single comment with) just the two, with a comma and a blank between.",
    ),
    held_out=(
        "Two posts, '{first}' and '{second}': one gives {first_what}, the other {second_what}. Put them under "
        "'{place}' as one comment in the form 'A, B'.",
        "Leave 'A, B' as a comment under '{place}'. A stands for {first_what}, told in '{first}', B for {second_what}, "
        "told in '{second}'.",
    ),
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
