"""Read one fact of a post: the control, which needs neither memory nor a picture."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

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
        oracle=[*open_post(post), *begin(1, [stop(right, note=f"{fact} '{right}'")])],
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
        "By the end I (want|would like) to know {what} the post '{post}'; (answer with|tell me just) that.",
        "There is a post '{post}' (on the forum|somewhere on the forum). What is {what} it?",
        "'{post}': (say|write) in your answer {what} this post(|, please).",
        "(Visit|Look at) '{post}' and let me (know|have) {what} this post.",
        "A friend asked (me|us) for {what} the thread '{post}'. Look it up and (answer|tell me).",
        "(Would|Will) you read off {what} the forum post '{post}' (for me|and answer with it)?",
        "Your answer should be {what} the (post|thread) '{post}' (and nothing more|alone).",
        "(I wonder|I was wondering) about '{post}': what is {what} (this|the) post?",
        "(Report|State) {what} the post that is called '{post}'(|, as its page shows it).",
        "For my notes, (please get|get) me {what} the post '{post}', as the (forum|site) shows it.",
        "Look for a (post|thread) on the forum with the title '{post}', and answer with {what} it(|; that is all).",
        "What does the forum (give|show) as {what} the (post|thread) '{post}'?",
    ),
    held_out=(
        "Go to the post '{post}' on Gatherwell: I need {what} that post.",
        "Somebody told me about '{post}'. Could you (tell|give) me {what} that post?",
    ),
    plan="open post '{post}'; answer {what} it",
    draw=draw,
    reasoning="easy",
)
