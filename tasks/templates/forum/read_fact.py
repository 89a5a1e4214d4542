"""Read one fact of a post: the control, which needs neither memory nor a picture."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit

from ._forum import answer, open_post, posts, stop

_FACTS = {"score": "the score of", "comments": "the number of comments under", "author": "the author of"}


def draw(drawing: Drawing) -> Draft:
    """A post, one of its facts, and another post for which the fact is another one."""
    candidates = posts(drawing, "post.kind = 'text'")
    post, other = drawing.sample(candidates, 2, "title")
    fact, what = drawing.rng.choice(sorted(_FACTS.items()))
    right, wrong = str(post[fact]), str(other[fact])
    if right == wrong:
        raise Unfit("both posts give the same answer")
    if right in post["title"]:
        raise Unfit("the title gives the answer")
    return Draft(
        values={"post": post["title"], "what": what},
        evaluation=answer(right),
        oracle=[*open_post(post), stop(right, note=f"{fact} '{right}'")],
        near_miss=[*open_post(other), stop(wrong)],
    )


TEMPLATE = Template(
    sites=("reddit",),
    wordings=(
        "(Look up|Find out) {what} the post '{post}' (on the forum|) and answer with it.",
        "(What is|Tell me) {what} the post '{post}'?",
        "I would like to know {what} the post '{post}'. (Open it and read it off|Please look).",
        "(Search for|Find|Open) the post '{post}' and report {what} it.",
        "(Please give|Give) me {what} the post with the title '{post}'.",
        "Can you tell me {what} the post '{post}'?",
        "Please (check|see) {what} the post '{post}', and (answer|reply) with it.",
        "Open the post '{post}'. (I need to know|I want to hear) {what} it.",
    ),
    held_out=(
        "Go to the post '{post}' on Gatherwell: I need {what} that post.",
        "Somebody told me about '{post}'. Could you (tell|give) me {what} that post?",
    ),
    draw=draw,
    reasoning="easy",
)
