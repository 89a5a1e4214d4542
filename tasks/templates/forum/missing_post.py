"""Asked to vote for a post that does not exist, beside one that almost has its title: nothing can be done."""

from __future__ import annotations

import re

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit

from ._forum import changes, click, not_there, open_post, posts, search, stop

_TOWNS = ("Ashford", "Brookton", "Carden", "Dunwich", "Eastbury", "Fairview", "Glenmoor", "Hartwell", "Kingsley")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def draw(drawing: Drawing) -> Draft:
    """A post whose title names a town or a day, asked for with another town or day."""
    pattern = re.compile(rf"\b({'|'.join((*_TOWNS, *_DAYS))})\b")
    named = [post for post in posts(drawing, "post.kind = 'text'") if len(pattern.findall(post["title"])) == 1]
    post = drawing.choose(named, "title")
    (word,) = pattern.findall(post["title"])
    wrong = drawing.rng.choice([each for each in (_TOWNS if word in _TOWNS else _DAYS) if each != word])
    title = pattern.sub(wrong, post["title"])
    if posts(drawing, "post.title = ?", title):
        raise Unfit("there is such a post")
    known = " ".join(pattern.sub(" ", post["title"]).split())
    return not_there(
        "post",
        title,
        post["title"],
        changes(drawing),
        [search(title), search(known, note="nothing found; without the name")],
        [*open_post(post), click("button", "Upvote"), stop("done")],
    )


TEMPLATE = Template(
    sites=("reddit",),
    wordings=(
        "(Upvote|Give an upvote to) the post '{post}'.",
        "(Find|Look for|Open) the post '{post}' and upvote it.",
        "I liked '{post}' on the forum. (Please upvote it|Vote it up for me).",
        "The post with the title '{post}' should get (an upvote|my upvote|my vote).",
        "Please (vote for|upvote) '{post}' for me.",
        "There is a post called '{post}' that I (like|enjoyed). Give it (an upvote|my upvote).",
        "Go to '{post}' and press Upvote(| once).",
        "(I would like|I want) to upvote '{post}'. (Do it for me, please|Please do that).",
        "By the end, '{post}' has (my upvote|an upvote from me)(|, please).",
        "Look up the (post|thread) '{post}' and (vote it up|give it my upvote|press its Upvote button).",
        "A friend (wrote|posted) '{post}' and (hopes for|asks for) an upvote. Give (it|the post) one.",
        "Would you (please |)upvote the post (titled|called) '{post}'?",
        "'{post}' is a (good|great|fine) post: upvote it(|, please).",
        "(Search the forum for|On the forum, look for) '{post}', open (it|the post) and vote it up.",
        "Let '{post}' have (my upvote|an upvote from me)(| on the forum).",
        "I forgot to (upvote|vote for) '{post}'; do (it|so) now(|, please).",
        "My vote is for '{post}': (open it and upvote it|go there and press Upvote).",
        "One upvote for the post '{post}', (please|if you can).",
        "What I (want|need) is an upvote of mine for '{post}'(|, nothing else).",
    ),
    held_out=(
        "Cast an upvote on '{post}', which is somewhere on the forum.",
        "On Gatherwell there is '{post}'. Vote that post up.",
    ),
    plan="open post '{post}'; upvote it",
    draw=draw,
)
