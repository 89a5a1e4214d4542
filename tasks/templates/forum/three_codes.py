"""Read a code in each of three posts and answer with all of them."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, begin

from ._forum import answer, code_posts, different, open_post, stop


def draw(drawing: Drawing) -> Draft:
    """Three posts to read and a fourth whose code would be wrong."""
    told = code_posts(drawing)
    three = drawing.sample(told, 3, "title")
    other = drawing.rng.choice([post for post in told if post not in three])
    different([*three, other], "code")
    codes = [post["code"] for post in three]
    values = {f"{name}{what}": post[key] for name, post in zip("abc", three, strict=True) for what, key in _GAPS}
    return Draft(
        values=values,
        evaluation=answer(*codes),
        oracle=[
            *open_post(three[0]),
            *begin(1, open_post(three[1], note=f"first code '{codes[0]}'")),
            *begin(2, open_post(three[2], note=f"second code '{codes[1]}'")),
            *begin(3, [stop(", ".join(codes), note=f"third code '{codes[2]}'")]),
        ],
        near_miss=[
            *open_post(other),
            *open_post(three[1]),
            *open_post(three[2]),
            stop(", ".join([other["code"], *codes[1:]])),
        ],
    )


_GAPS = (("", "title"), ("_what", "what"))

TEMPLATE = Template(
    sites=("reddit",),
    wordings=(
        "(Look up|Find) {a_what} in '{a}', {b_what} in '{b}' and {c_what} in '{c}', and (answer with|report) all "
        "three.",
        "I need three things from the forum: {a_what} ('{a}'), {b_what} ('{b}') and {c_what} ('{c}'). (What are "
        "they|Tell me them in this order)?",
        "(Read|Go through) the posts '{a}', '{b}' and '{c}'. What are {a_what}, {b_what} and {c_what}?",
        "(Give|Tell) me {a_what} from the post '{a}', then {b_what} from '{b}', and at last {c_what} from '{c}'.",
        "(Open|Visit) '{a}', '{b}' and '{c}' one after the other and (collect|note) {a_what}, {b_what} and "
        "{c_what} for me.",
        "Please get me {a_what} (post '{a}'), {b_what} (post '{b}') and {c_what} (post '{c}'), (all|listed) in this "
        "order.",
        "Three posts, '{a}', '{b}', '{c}', tell one thing each: {a_what}, {b_what}, {c_what}. (What do they "
        "say?|What are the three?)",
        "I am after {a_what}, which '{a}' has, {b_what}, which '{b}' has, and {c_what}, which '{c}' has. (Answer "
        "with the three.|List the three.)",
        "By the end I (want|would like) to know {a_what} from '{a}', {b_what} from '{b}' and {c_what} from '{c}'. Put "
        "all three into (your|the) answer.",
        "'{a}' tells {a_what}, '{b}' tells {b_what}, and '{c}' tells {c_what}. (Read|Open) all three posts and "
        "(answer with|report) what they tell.",
        "I would like a list of three: {a_what} (see '{a}'), {b_what} (see '{b}') and {c_what} (see '{c}'). (Keep "
        "this order.|In this order, please.)",
        "Could you (check|look up) three posts for me? In '{a}' I am looking for {a_what}, in '{b}' for {b_what} and "
        "in '{c}' for {c_what}; (tell me|answer with) all of them.",
        "A friend needs {a_what}, {b_what} and {c_what}. They (are|stand) in the forum posts '{a}', '{b}' and '{c}', "
        "in the same order. (Tell me the three.|Answer with the three.)",
        "What is {a_what}, going by '{a}'? What is {b_what}, going by '{b}'? And (what is|what about) {c_what}, going "
        "by '{c}'? (Answer all three.|Give all the answers at once.)",
        "Start with the thread '{a}' and (note|remember) {a_what}; go on to '{b}' for {b_what}; end with '{c}' for "
        "{c_what}. Then (report|tell me) the three.",
        "Your answer should (hold|contain) {a_what}, told in '{a}', {b_what}, told in '{b}', and {c_what}, told in "
        "'{c}'(|, separated by commas).",
        "For my (notes|records): {a_what} as in '{a}', {b_what} as in '{b}', {c_what} as in '{c}'. Please (read them "
        "off|find them) and answer with all.",
        "Search the forum for '{a}', '{b}' and '{c}'. The first has {a_what}, the second {b_what}, the third "
        "{c_what}: (I need|give me) all three.",
        "(Fetch|Bring) me {a_what}, {b_what} and {c_what}, one from each of the posts '{a}', '{b}' and '{c}', in (the "
        "same|that) order.",
        "My list still lacks three (things|facts): {a_what}, told in the post '{a}'; {b_what}, told in '{b}'; "
        "{c_what}, told in '{c}'. What (are they|do I write)?",
    ),
    held_out=(
        "One answer, three parts, please: from '{a}' {a_what}, from '{b}' {b_what}, from '{c}' {c_what}.",
        "Which code does each of these posts give? '{a}' ({a_what}), '{b}' ({b_what}), '{c}' ({c_what}).",
    ),
    plan="{a_what} in '{a}'; {b_what} in '{b}'; {c_what} in '{c}'; answer three",
    draw=draw,
    tags=("long-memory",),
)
