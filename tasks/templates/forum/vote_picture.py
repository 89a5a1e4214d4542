"""Find the post of a forum whose picture shows something, and vote for it."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit

from ._forum import changes, click, page_checks, pictures, stop


def draw(drawing: Drawing) -> Draft:
    """A picture that only one post of its forum shows, on the first page, and another picture of the forum."""
    shown = [post for post in pictures(drawing) if post["count"] > 1]
    post = drawing.choose(shown, "title")
    everything = [each for each in pictures(drawing) if each["forum"] == post["forum"]]
    same = [each for each in everything if post["kind"] in (each["kind"], each["other"])]
    others = [each for each in everything if each["id"] != post["id"]]
    if len(same) > 1 or not others:
        raise Unfit("two pictures of the forum show it")
    hot = drawing.rows(
        "forum", "SELECT post.id FROM post WHERE forum_id = ? ORDER BY hot DESC, id DESC LIMIT 10", post["forum_id"]
    )
    first_page = {row["id"] for row in hot}
    others = [each for each in others if each["id"] in first_page]
    if post["id"] not in first_page or not others:
        raise Unfit("it stands on the second page")
    other = drawing.rng.choice(others)
    what = f"{post['colour']} {post['things']}" if post["colour"] else post["things"]
    way = [click("link", "Forums"), click("link", post["forum_title"])]

    def voting(title: str, note: str = "") -> list[dict[str, object]]:
        return [click("link", title), click("button", "Upvote", note), stop()]

    return Draft(
        values={"forum": post["forum_title"], "what": what},
        evaluation=page_checks(changes(drawing, f"vote 1 on {post['id']}")),
        oracle=[*way, *voting(post["title"], note=f"{post['count']} {what}: '{post['title']}'")],
        near_miss=[*way, *voting(other["title"])],
        login=True,
    )


TEMPLATE = Template(
    sites=("reddit",),
    wordings=(
        "One of the picture posts in the forum '{forum}' shows {what}. (Upvote it|Give it an upvote).",
        "(Find|Look for) the picture of {what} in the forum '{forum}' and upvote (the post|its post).",
        "In '{forum}' somebody posted a picture of {what}. (Please vote it up|Vote it up|I want to upvote it).",
        "Which post in '{forum}' has {what} in its picture? (Upvote that one|Give that one your upvote).",
        "(Look through|Check) the pictures in the forum '{forum}' and upvote the one with {what}.",
    ),
    held_out=(
        "A picture with {what} was posted to '{forum}'. It deserves an upvote from me.",
        "Upvote whatever post in '{forum}' has {what} to see in its picture.",
    ),
    draw=draw,
    visual="medium",
)
