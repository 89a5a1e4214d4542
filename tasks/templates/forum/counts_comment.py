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
        "By the end my comment 'A, B' (stands|is) under '{place}': A tells how many {first_things} the picture of "
        "'{first}' (shows|has), B how many {second_things} that of '{second}' does.",
        "I would like to have two numbers, in digits, as a comment 'A, B' under '{place}': how many {first_things} "
        "'{first}' (pictures|shows) and how many {second_things} '{second}' (pictures|shows).",
        "The picture of '{first}' has some {first_things}, the picture of '{second}' some {second_things}. Tell how "
        "many of each (in a|with a) comment under '{place}', in the form 'A, B'.",
        "On '{place}' someone asked (about|for) the number of {first_things} in '{first}' and of {second_things} in "
        "'{second}'. Look at both pictures and comment (just|only) 'A, B' under that post, in digits.",
        "(Visit|See) '{first}' for its {first_things} and '{second}' for its {second_things}; count both, and under "
        "'{place}' (write|post) a comment with the two numbers, 'A, B'.",
        "Could you count something for me: the {first_things} in the picture of '{first}' and the {second_things} in "
        "that of '{second}'? (Enter|Leave) the result under '{place}' as a comment, (as in|in the form) 'A, B'.",
        "My comment under '{place}' is to be two numbers with a comma and a blank between them: the count of "
        "{first_things} in '{first}', (then|and then) the count of {second_things} in '{second}'. (Please write "
        "it|Write it).",
        "Number of {first_things} in the picture of '{first}', number of {second_things} in the picture of "
        "'{second}': (comment|post) these as 'A, B', (in digits|digits only), under '{place}'.",
        "After (looking at|a look at) the pictures '{first}' and '{second}', tell the readers of '{place}' in a "
        "comment how many {first_things} and {second_things} there are, first number first, written 'A, B' (in|with) "
        "digits.",
        "For a comment under '{place}' I need (you to count|a count of) {first_things} in the picture posted as "
        "'{first}' and {second_things} in the one posted as '{second}'. Its text is (nothing but|only) 'A, B'.",
        "(A friend and I|We) disagree on two pictures: how many {first_things} are in '{first}' and how many "
        "{second_things} are in '{second}'? Settle it with a comment 'A, B' under '{place}', (digits only|no other "
        "words).",
        "'{place}' should get the comment 'A, B' from me, where A is how many {first_things} you (count|find) in "
        "'{first}' and B is how many {second_things} you (count|find) in '{second}'.",
    ),
    held_out=(
        "Add a comment 'A, B' to '{place}', with A for the {first_things} on the picture of '{first}' and B for the "
        "{second_things} on the picture of '{second}', both in digits.",
        "First count {first_things} in '{first}', then {second_things} in '{second}', and put both numbers, "
        "divided by a comma and a blank, as a comment under '{place}'.",
    ),
    plan="count {first_things} in '{first}'; count {second_things} in '{second}'; comment on '{place}': both",
    draw=draw,
    reasoning="hard",
    visual="hard",
    tags=("long-memory",),
)
