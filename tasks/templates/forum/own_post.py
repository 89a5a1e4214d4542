"""Read a code in a post and replace the text of an own post by it."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

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
            *begin(1, open_post(mine, note)),
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
        "By the end, the text of my post '{mine}' is {what}, (read|taken) from '{post}', and (nothing else|no other "
        "word).",
        "I would like to edit '{mine}', which is my post. (Delete|Remove) its text and (enter|type) {what}, which you "
        "can read in '{post}'.",
        "(Open|Visit) '{post}' and see {what}. Then (open|go to) '{mine}', which I wrote, press Edit, and let the "
        "body be only that.",
        "What is {what} in '{post}'? Put (it|the answer) into my post '{mine}' as its (only|entire) text, in place of "
        "the old one.",
        "Could you update my (post|thread) '{mine}'? Its old text goes, and {what}, as '{post}' (tells|has) it, is "
        "all that it says from now on.",
        "The old text of '{mine}', my own post, is (out of date|wrong). Edit the post so that it (says|holds) {what} "
        "from '{post}' and nothing more.",
        "I am the author of '{mine}'. Edit its body: it (becomes|is now to be) {what} from the post '{post}', (no "
        "more and no less|and just that).",
        "Somebody told {what} in '{post}'. With that, (overwrite|replace) everything that my post '{mine}' says (so "
        "far|until now).",
        "Get {what} from the (post|thread) '{post}'; in my post '{mine}', use Edit to (swap|exchange) the whole text "
        "for it.",
        "My readers should find only {what} when they open my post '{mine}'. '{post}' has it: (look it up|read it "
        "there) and (change|edit) the text.",
        "In '{mine}', a text of my own, all (words|lines) are to be replaced by {what}. You (will find|can find) that "
        "in '{post}'.",
        "Please do an edit for me: post '{mine}', new (text|body) {what}, to be found in '{post}', (nothing added|and "
        "nothing else).",
    ),
    held_out=(
        "My post '{mine}' needs a new body: exactly {what}, as '{post}' gives it.",
        "Rewrite '{mine}', a post of mine, to say only {what}. The post '{post}' has it.",
    ),
    plan="{what} in '{post}'; edit my post '{mine}': it",
    draw=draw,
    reasoning="hard",
    tags=("long-memory",),
)
