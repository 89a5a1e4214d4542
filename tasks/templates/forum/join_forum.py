"""Save a post and subscribe to the forum it stands in."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, begin

from ._forum import ME, click, different, kept, open_post, page_checks, posts, stop

_NOTHING = "SELECT {} FROM {} AS mark JOIN user ON user.id = mark.user_id {} WHERE user.name = ? ORDER BY 1"


def draw(drawing: Drawing) -> Draft:
    """A post of a forum that the member has not subscribed to, and another of another one."""
    saved = drawing.rows("forum", _NOTHING.format("post_id", "saved", ""), ME)
    joined = drawing.rows(
        "forum", _NOTHING.format("forum.name", "subscription", "JOIN forum ON forum.id = mark.forum_id"), ME
    )
    names = [row["name"] for row in joined]
    ids = [row["post_id"] for row in saved]
    free = [post for post in posts(drawing, "post.kind = 'text'") if post["forum"] not in names]
    post, other = pair = drawing.sample([each for each in free if each["id"] not in ids], 2, "title")
    different(pair, "forum")

    def joining(row: dict[str, object]) -> list[dict[str, object]]:
        return [*open_post(row), click("button", "Save"), *begin(1, [click("button", "Subscribe")]), stop()]

    return Draft(
        values={"post": post["title"]},
        evaluation=page_checks(
            kept("saved", *(str(each) for each in sorted([*ids, post["id"]]))),
            kept("subscriptions", *sorted([*names, post["forum"]])),
        ),
        oracle=joining(post),
        near_miss=joining(other),
        login=True,
    )


TEMPLATE = Template(
    sites=("reddit",),
    wordings=(
        "Save the post '{post}' (for me|) and subscribe to the forum it stands in.",
        "(Find|Open) the post '{post}', save it, and subscribe to its forum.",
        "I like '{post}'. (Please save it|Save it) and subscribe me to the forum where it was posted.",
        "Subscribe to the forum that the post '{post}' belongs to, and (keep|put) the post among my saved ones.",
        "(Two things|Do two things) with '{post}': save the post, and subscribe to the forum it is in.",
        "I do not want to lose sight of '{post}': (save it|save that post) for me and subscribe to its forum.",
        "Open '{post}'. Both the post and its forum interest me, so save the one and subscribe to the (other|forum).",
        "Could you save '{post}' and then subscribe to the forum (where|in which) it was posted?",
        "(Join|Become a member of) the forum where '{post}' was posted, and save (the post itself|that post) as well.",
        "By the end, '{post}' is (among|one of) my saved posts and I (am subscribed to|am a subscriber of) its forum.",
        "(A friend|Somebody) showed me '{post}'. I (would like|want) to have the post saved and to follow the forum "
        "it comes from.",
        "Which forum is '{post}' in? (Subscribe me to it|Make me a subscriber there), and save the post (too|while "
        "you are there).",
        "Please (bookmark|save) '{post}' with the Save button, then (press|click) Subscribe for the forum it is in.",
        "I have two wishes: a subscription to the forum of '{post}', and (the post itself saved|that post kept for me "
        "with Save).",
        "'{post}': save (it|this post) and (follow|sign me up for) the forum that it was posted to.",
        "From now on I (want|wish) to follow the forum that has '{post}'. Subscribe to it, and save the post (for me "
        "|)too.",
        "First save the (post|thread) '{post}', and after that subscribe to the (board|community|forum) it is part of.",
        "So that I can read '{post}' again, (save it|put it on my list of saved posts). Its forum (is to be|should "
        "be) subscribed to as well.",
        "Look up '{post}', (click|press) Save, and subscribe to the forum (around it|that it belongs to).",
        "(Can|Will) you make me a subscriber of the forum with the post '{post}' in it, and (save|keep) that post on "
        "my list of saved ones?",
    ),
    held_out=(
        "The post '{post}' should be saved, and its forum be one that I subscribe to.",
        "Add '{post}' to my saved posts. Then join the forum in which it was written.",
    ),
    plan="save post '{post}'; subscribe to its forum",
    draw=draw,
    reasoning="easy",
)
