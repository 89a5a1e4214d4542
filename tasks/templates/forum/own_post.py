"""Read a code in a post and replace the text of an own post by it."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit

from ._forum import ME, changes, click, code_posts, different, fill, open_post, page_checks, posts, stop


def draw(drawing: Drawing) -> Draft:
    """A post with a code, an own text post, and another code that would be wrong."""
    told, other = pair = drawing.sample(code_posts(drawing), 2, "title")
    different(pair, "code")
    own = posts(drawing, "post.kind = 'text' AND user.name = ? AND post.title NOT LIKE 'Poll:%'", ME)
    if not own:
        raise Unfit("no own post with a text")
    mine = drawing.rng.choice(own)

    def changing(code: str, note: str = "") -> list[dict[str, object]]:
        return [
            *open_post(mine, note),
            click("link", "Edit"),
            fill("Body", code),
            click("button", "Save changes"),
            stop(),
        ]

    return Draft(
        values={"post": told["title"], "what": told["what"], "mine": mine["title"]},
        evaluation=page_checks(changes(drawing, f"edited {mine['id']}: {told['code']}")),
        oracle=[*open_post(told), *changing(told["code"], note=f"code '{told['code']}'")],
        near_miss=[*open_post(other), *changing(other["code"])],
        login=True,
    )


TEMPLATE = Template(
    sites=("reddit",),
    wordings=(
        "(Change|Edit) my post '{mine}': its text should be {what} from the post '{post}', and nothing else.",
        "The post '{post}' tells {what}. (Replace|Overwrite) the text of my own post '{mine}' with it.",
        "(Look up|Find) {what} in '{post}'. Then edit my post '{mine}' so that its body holds (just that|only that).",
        "I want the body of my post '{mine}' to be nothing but {what}; (you find it|it stands) in '{post}'.",
        "Read '{post}', remember {what}, and (put it in place of|let it replace) the whole text of my post '{mine}'.",
        "I wrote '{mine}' and want to replace its text. It should say {what}, as told in the post '{post}', and (no "
        "more|not a word more).",
        "Take {what} from '{post}' and make it the (only|whole) text of my post '{mine}'.",
        "Please look into '{post}' for {what}. My own post '{mine}' should then be edited: (body|text) all gone, "
        "just that in its place.",
    ),
    held_out=(
        "My post '{mine}' needs a new body: exactly {what}, as '{post}' gives it.",
        "Rewrite '{mine}', a post of mine, to say only {what}. The post '{post}' has it.",
    ),
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
