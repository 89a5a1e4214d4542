"""Count things in two pictures and write both numbers under a third post."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit

from ._forum import count_hidden, pictures, two_under_a_third


def draw(drawing: Drawing) -> Draft:
    """Two pictures to count in, and a third with another number of things."""
    shown = [post for post in count_hidden(pictures(drawing)) if post["count"] > 1]
    first, second, place = drawing.sample(shown, 3, "title")
    if len({post["count"] for post in (first, second, place)}) < 3:
        raise Unfit("two numbers are the same")
    counts = [str(post["count"]) for post in (first, second)]
    return two_under_a_third(
        drawing,
        (first, second, place),
        "things",
        facts=counts,
        notes=[f"{post['count']} {post['things']}" for post in (first, second)],
        wrong=", ".join(reversed(counts)),
    )


TEMPLATE = Template(
    sites=("reddit",),
    wordings=(
        "Count the {first_things} in the picture of '{first}' and the {second_things} in the picture of '{second}'. "
        "(Comment|Write) the two numbers under '{place}', in this order, as in 'A, B'.",
        "How many {first_things} does the picture of '{first}' show, and how many {second_things} the one of "
        "'{second}'? (Leave|Post) the numbers as a comment under '{place}', with a comma and a blank between them.",
        "Under the post '{place}', write a comment (of the form|like) 'A, B': A is the number of {first_things} in the "
        "picture of '{first}', B the number of {second_things} in that of '{second}'.",
        "(Look at|Open) '{first}' and '{second}' and count {first_things} and {second_things} in their pictures. Then "
        "comment just the two numbers, in the form 'A, B', under '{place}'.",
        "They want two numbers under '{place}', written 'A, B': the {first_things} to be seen in '{first}' and the "
        "{second_things} to be seen in '{second}'. (Please comment them|Add that comment).",
        "I have two pictures to count in: {first_things} in '{first}', {second_things} in '{second}'. (Report|Write) "
        "the numbers as a comment 'A, B' under '{place}'.",
        "How many {first_things} are in '{first}'? How many {second_things} are in '{second}'? (Comment|Post) 'A, B' "
        "with these two numbers, in digits, under '{place}'.",
        "Go and see the picture of '{first}', then that of '{second}'. Under '{place}', note how many {first_things} "
        "and how many {second_things} you (saw|counted), as 'A, B'.",
    ),
    held_out=(
        "Add a comment 'A, B' to '{place}', with A for the {first_things} on the picture of '{first}' and B for the "
        "{second_things} on the picture of '{second}', both in digits.",
        "First count {first_things} in '{first}', then {second_things} in '{second}', and put both numbers, "
        "divided by a comma and a blank, as a comment under '{place}'.",
    ),
    draw=draw,
    reasoning="hard",
    visual="hard",
    tags=("long-memory",),
)
