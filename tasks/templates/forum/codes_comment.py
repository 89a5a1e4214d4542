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
        "(Fetch|Get) {first_what} out of '{first}' and {second_what} out of '{second}', then add a comment 'A, B' "
        "with these two, in this order, (to|under) the post '{place}'.",
        "By the end there is a comment of mine under '{place}' that (says|reads) 'A, B': A is {first_what} as "
        "'{first}' (has|tells) it, B is {second_what} as '{second}' (has|tells) it.",
        "What is {first_what} in '{first}', and what is {second_what} in '{second}'? (Say it|Write it) under "
        "'{place}' in a comment of the form 'A, B'(|, with no other words).",
        "In a single comment under '{place}', separated by a comma and a blank, (give|write) {first_what}, which is "
        "in '{first}', and {second_what}, which is in '{second}', in (this|that) order.",
        "Go to the post '{first}' for {first_what} and to the post '{second}' for {second_what}. What you (find|read) "
        "there goes under '{place}' as a comment, 'A, B', (without|with no) further words.",
        "The people of '{place}' (asked|are waiting) for {first_what} and for {second_what}. Read the first in "
        "'{first}', the second in '{second}', and comment them in the form 'A, B' under (their post|that post).",
        "I would like to see (one comment|a comment) from me under '{place}': {first_what} from the thread '{first}', "
        "a comma, a blank, and {second_what} from the thread '{second}'(|, that is all).",
        "Look at '{first}' to learn {first_what}; look at '{second}' to learn {second_what}; and then (open|go to) "
        "'{place}' and comment 'A, B', (these two in order|that is, the first and the second).",
        "Could you collect {first_what} ('{first}') and {second_what} ('{second}') and (post|add) them as one comment "
        "to '{place}', written 'A, B' (and nothing else|without more words)?",
        "Comment on '{place}' for me, (please|if you can): 'A, B', where '{first}' tells you A, {first_what}, and "
        "'{second}' tells you B, {second_what}.",
        "For the comment that I (owe|promised) '{place}' you need {first_what} (see '{first}') and {second_what} (see "
        "'{second}'). Its text is (just|only) 'A, B', the two in this order.",
        "'{place}' is to get a comment. Its text: first {first_what}, (found|told) in '{first}', then a comma and a "
        "blank, then {second_what}, (found|told) in '{second}'.",
    ),
    held_out=(
        "Two posts, '{first}' and '{second}': one gives {first_what}, the other {second_what}. Put them under "
        "'{place}' as one comment in the form 'A, B'.",
        "Leave 'A, B' as a comment under '{place}'. A stands for {first_what}, told in '{first}', B for "
        "{second_what}, told in '{second}'.",
    ),
    plan="{first_what} in '{first}'; {second_what} in '{second}'; comment on '{place}': both",
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
