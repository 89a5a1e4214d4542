"""Look at two pictures and vote for the one that shows more."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

from ._forum import changes, click, count_hidden, open_post, page_checks, pictures, stop, views


def draw(drawing: Drawing) -> Draft:
    """Two pictures with a single kind of thing each, and not as many."""
    plain = [post for post in count_hidden(pictures(drawing)) if post["other"] is None]
    first, second = drawing.sample(plain, 2, "title")
    if abs(first["count"] - second["count"]) < 2:
        raise Unfit("it is too close")
    more, less = (first, second) if first["count"] > second["count"] else (second, first)
    if max(views()[less["title"]].counts) <= min(views()[more["title"]].counts):
        raise Unfit("the titles tell which shows more")
    seen = [f"{post['count']} {post['things']}" for post in (first, second)]
    looking = [*open_post(first), *begin(1, open_post(second, note=seen[0]))]
    verdict = f"{seen[1]}: more '{more['title']}'"

    def voting(post: dict[str, object], note: str = "") -> list[dict[str, object]]:
        if post is second:
            return [*begin(2, [click("button", "Upvote", note)]), stop()]
        return [*begin(2, open_post(post, note)), click("button", "Upvote"), stop()]

    return Draft(
        values={"first": first["title"], "second": second["title"]},
        evaluation=page_checks(changes(drawing, f"vote 1 on {more['id']}")),
        oracle=[*looking, *voting(more, verdict)],
        near_miss=[*looking, *voting(less)],
        login=True,
    )


TEMPLATE = Template(
    sites=("reddit",),
    wordings=(
        "(Look at|Compare) the pictures of '{first}' and '{second}' and upvote the post whose picture shows more "
        "things.",
        "Upvote either '{first}' or '{second}': the one with (more|the larger number of) things in its picture.",
        "Which picture has more things in it, '{first}' or '{second}'? (Give that post an upvote|Upvote that post).",
        "Count what the pictures of '{first}' and '{second}' show and (vote up|upvote) the post with the higher "
        "number.",
        "(Two pictures|I have two pictures for you): '{first}' and '{second}'. The post that shows more things gets an "
        "upvote, the other one nothing.",
        "I wonder whether '{first}' or '{second}' has more things in its picture. (See|Find out) and upvote (that "
        "post|the one with more).",
        "Vote for one of two posts: for '{first}' if its picture shows more things than that of '{second}', "
        "(else|otherwise) for '{second}'.",
        "Open '{first}' and '{second}', count the things in each picture and (press Upvote|give your upvote) where "
        "there are more.",
        "By the end, (only|just) one of '{first}' and '{second}' has my upvote: the one whose picture (shows|holds) "
        "more things.",
        "I would like to upvote the fuller picture, '{first}' or '{second}'. Count the things in (both|each) and vote "
        "up the (post|one) that has more.",
        "(A friend says|I think) that '{first}' has more things in its picture than '{second}'. If so, upvote "
        "'{first}'; (if not|otherwise), upvote '{second}'.",
        "How many things are in the picture of '{first}', and how many in that of '{second}'? The post with the "
        "(larger|higher) number (gets|earns) an upvote from me.",
        "Could you (check|see) which of the pictures '{first}' and '{second}' shows the (greater|larger) number of "
        "things, and upvote that post?",
        "The number of things in a picture decides: (open|visit) '{first}' and '{second}', and upvote the post where "
        "you see more of them(|, not the other).",
        "One upvote, (please|if you will), for '{first}' or for '{second}': for whichever picture has (more|the "
        "greater number of) things in it.",
        "(Take a look at|Go and see) the picture in '{first}' and the picture in '{second}'. Where there are more "
        "things to count, (press|click) Upvote.",
        "There are things to count in '{first}' and in '{second}'. (Do so|Count them), and vote for the post that "
        "(has more|comes out ahead).",
        "Help me choose between '{first}' and '{second}': my vote (is for|belongs to) the one with more things "
        "pictured. Find out which (it is|that is) and upvote it.",
        "The picture with fewer things gets no vote, the one with more gets (an upvote|my upvote). (They are|The two "
        "are) '{first}' and '{second}'.",
        "Vote up '{first}' or '{second}' (after counting|once you have counted) what they picture; it must be the "
        "post with (more|the larger number of) things.",
    ),
    held_out=(
        "Of '{first}' and '{second}', upvote only the post on whose picture you count more things.",
        "My upvote goes to the picture with more things in it, '{first}' or '{second}'. Please look at both and "
        "cast it.",
    ),
    plan="count in '{first}'; count in '{second}'; upvote the one with more",
    draw=draw,
    visual="hard",
)
