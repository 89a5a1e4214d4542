"""Sort a forum and read who stands on top: another control."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

from ._forum import answer, click, posts, stop

_ORDERS = {"Top": ("score", "highest score"), "Most commented": ("comments", "most comments")}


def draw(drawing: Drawing) -> Draft:
    """A forum and an order in which one post comes first that is not the first of the hot ones."""
    forums = drawing.rows("forum", "SELECT id, title FROM forum ORDER BY id")
    forum = drawing.choose(forums, "title")
    tab, (column, what) = drawing.rng.choice(sorted(_ORDERS.items()))
    ranked = sorted(posts(drawing, "forum_id = ?", forum["id"]), key=lambda post: -post[column])
    if ranked[0][column] == ranked[1][column]:
        raise Unfit("two posts share the first place")
    (hottest,) = drawing.rows(
        "forum",
        "SELECT user.name AS author, post.score, post.comments FROM post JOIN user ON user.id = post.user_id"
        " WHERE forum_id = ? ORDER BY hot DESC, post.id DESC LIMIT 1",
        forum["id"],
    )
    (best,) = drawing.rows(
        "forum", f"SELECT MAX(score) AS score, MAX(comments) AS comments FROM post WHERE forum_id = {forum['id']}"
    )
    right, wrong = ranked[0]["author"], hottest["author"]
    if best[column] != ranked[0][column] or right == wrong:
        raise Unfit("the first of the hot posts is by the same member")
    way = [click("link", "Forums"), click("link", forum["title"])]
    return Draft(
        values={"forum": forum["title"], "what": what},
        evaluation=answer(right),
        oracle=[*way, *begin(1, [click("link", tab)]), *begin(2, [stop(right, note=f"by '{right}'")])],
        near_miss=[*way, stop(wrong)],
    )


TEMPLATE = Template(
    sites=("reddit",),
    wordings=(
        "Who wrote the post with the {what} (in|of) the forum '{forum}'?",
        "(Find|Look up) the post with the {what} in '{forum}' and tell me (its author|who wrote it).",
        "In the forum '{forum}', one post has the {what} of all. (Which member wrote it|Whose is it)?",
        "Sort the forum '{forum}' so that the post with the {what} (comes first|stands on top) and name its author.",
        "(Which member|Who) has written the post that has the {what} in the forum '{forum}' (of all time|ever)?",
        "Go to the forum '{forum}', find the post with the {what} and (give|tell) me the name of its author.",
        "Of all posts in '{forum}', which one has the {what}, and (who posted it|by whom is it)? The name of the "
        "member is enough.",
        "I (would like|want) to know who is behind the post with the {what} in '{forum}'.",
        "By the end I want to (know|hear) one name: that of the author of the post with the {what} in the forum "
        "'{forum}'.",
        "(Open|Visit) '{forum}', (look for|see) which post has the {what}, and answer with the name of the member who "
        "wrote it.",
        "The forum '{forum}' can be sorted. (Do that|Use this) to find the post with the {what}, and (report|tell me) "
        "who posted it.",
        "Could you look up in the forum '{forum}' who (wrote|posted) the post with the {what}(| of all)?",
        "A friend says that (nobody|no one) in '{forum}' beats the author of its post with the {what}. Who is "
        "(that|this author)?",
        "'{forum}': author of the post with the {what}(|, please)? (Just the name.|The name will do.)",
        "Of everything (posted|written) in the forum '{forum}', one post holds the {what}. I (need|would like to "
        "have) its author's name.",
        "By whom is the post that has the {what} in '{forum}'(| so far)? (Answer|Reply) with the name.",
        "(Please check|Check) the posts of the forum '{forum}': the one with the {what}, who (is its author|wrote it)?",
        "For a list of (busy|well-known) members I need the author of the post that has the {what} in the forum "
        "'{forum}'. What is (the|that) name?",
        "Your answer is a member's name: the (writer|author) of the post in the board '{forum}' that has the {what}(| "
        "there).",
        "Among the threads of '{forum}' there is one with the {what}. (Find it|Look for it), and say who "
        "(started|wrote) it.",
    ),
    held_out=(
        "(Name|Tell me) the member (behind|who made) the post that has the {what} in '{forum}'.",
        "(I am curious about|A question about) '{forum}': whose post there (got|has) the {what}?",
    ),
    plan="forum '{forum}'; sort by {what}; answer author of first post",
    draw=draw,
    reasoning="easy",
)
