"""Find the post of a forum whose picture shows something, and vote for it."""

from __future__ import annotations

import json

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin
from confkv_agents.web.tasks.worlds import Row

from ._forum import changes, click, could_show, page_checks, pictures, posts, stop


def draw(drawing: Drawing) -> Draft:
    """A picture that only one post of its forum shows, and another on the same page whose title fits as well."""
    choices = [(post, _rivals(drawing, post)) for post in pictures(drawing) if post["count"] > 1]
    fitting = [choice for choice in choices if choice[1]]
    if not fitting:
        raise Unfit("titles tell which one it is")
    post, rivals = drawing.rng.choice(fitting)  # no name of theirs is in the task
    other = drawing.rng.choice(rivals)
    what = f"{post['colour']} {post['things']}" if post["colour"] else post["things"]
    way = [click("link", "Forums"), click("link", post["forum_title"])]

    def voting(title: str, note: str = "") -> list[dict[str, object]]:
        return [*begin(1, [click("link", title)]), *begin(2, [click("button", "Upvote", note)]), stop()]

    return Draft(
        values={"forum": post["forum_title"], "what": what},
        evaluation=page_checks(changes(drawing, f"vote 1 on {post['id']}")),
        oracle=[*way, *voting(post["title"], note=f"{post['count']} {what}: '{post['title']}'")],
        near_miss=[*way, *voting(other["title"])],
        login=True,
    )


def _rivals(drawing: Drawing, post: Row) -> list[Row]:
    """Other pictures on the first page of the forum whose titles fit what a post shows; none unless it is there too."""
    kind, colour = post["kind"], post["colour"]
    pictured = posts(drawing, "post.kind = 'picture' AND forum_id = ? AND post.id <> ?", post["forum_id"], post["id"])
    pictured = [each | json.loads(each["shot"]) for each in pictured]
    same = [each for each in pictured if kind in (each["kind"], each["other"])]
    if any(not colour or each["colour"] in (None, colour) for each in same):
        return []  # another shows it
    hot = "SELECT post.id FROM post WHERE forum_id = ? ORDER BY hot DESC, id DESC LIMIT 10"
    first_page = {row["id"] for row in drawing.rows("forum", hot, post["forum_id"])}
    fitting = [each for each in pictured if each["id"] in first_page and could_show(each, kind, colour)]
    return fitting if post["id"] in first_page else []


TEMPLATE = Template(
    sites=("reddit",),
    wordings=(
        "One of the picture posts in the forum '{forum}' shows {what}. (Upvote it|Give it an upvote).",
        "(Find|Look for) the picture of {what} in the forum '{forum}' and upvote (the post|its post).",
        "In '{forum}' somebody posted a picture of {what}. (Please vote it up|Vote it up|I want to upvote it).",
        "Which post in '{forum}' has {what} in its picture? (Upvote that one|Give that one your upvote).",
        "(Look through|Check) the pictures in the forum '{forum}' and upvote the one with {what}.",
        "Somewhere in the forum '{forum}' is a picture with {what} (in it|on it). Upvote its post.",
        "I remember a picture of {what} from '{forum}'. (Find that post|Look for that post) and vote it up.",
        "My upvote goes to the post in '{forum}' whose picture shows {what}; (cast it|see to it).",
        "By the end I have upvoted the post in the forum '{forum}' (whose picture shows|that pictures) {what}(|, and "
        "no other).",
        "I would like to (upvote|vote for) a picture of {what}. It is (somewhere in|in) the forum '{forum}'; find it "
        "and do so.",
        "(Visit|Open) the forum '{forum}', (look at the pictures|go through its picture posts) until you see {what}, "
        "and press Upvote there.",
        "A friend (put|posted) a photo of {what} in the forum '{forum}'. Upvote (it|that post) for me.",
        "Could you find the post with {what} in its (picture|photo) in '{forum}' and (upvote it|give it my vote)?",
        "There should be {what} in one of the pictures of '{forum}'. Find out in which (one|post), and vote (it|this "
        "post) up.",
        "Where in '{forum}' are {what} to be seen? (Vote up|Upvote) that picture post(|, please).",
        "Titles do not tell (it|this), so look at the pictures in '{forum}': the post that shows {what} gets (an "
        "upvote|my upvote).",
        "An upvote for {what}: they are (shown|pictured) in one post of the forum '{forum}', and that post (should "
        "get it|is the one to vote for).",
        "(Please see|See) which picture in the board '{forum}' has {what} on it; (then upvote|upvote) its post.",
        "One picture in the forum '{forum}' is of {what}. My vote is for (this one|that post): (find it and vote it "
        "up|look for it and upvote it).",
        "Search '{forum}' by eye for {what}. The picture post that (has|shows) them (is to be upvoted|should have my "
        "upvote at the end).",
    ),
    held_out=(
        "A picture with {what} was posted to '{forum}'. It deserves an upvote from me.",
        "Upvote whatever post in '{forum}' has {what} to see in its picture.",
    ),
    plan="forum '{forum}'; picture with {what}; upvote it",
    draw=draw,
    visual="medium",
)
