"""Read a category's tag in a table of eleven and write it into a comment on a listing."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, begin

from ._classifieds import changes, click, comment, listings, open_listing, stop


def draw(drawing: Drawing) -> Draft:
    """A category and another one, and a listing to comment on."""
    tags = drawing.rows("classifieds", "SELECT name, tag FROM category ORDER BY id")
    wanted, other = drawing.rng.sample(tags, 2)
    row = drawing.choose(listings(drawing), "title")
    stars = drawing.rng.randint(2, 5)
    title = drawing.rng.choice(("Tag", "Please add", "Missing tag", "For the rules"))

    def commenting(tag: str) -> list[dict[str, object]]:
        reading = [click("link", "Rules for listings"), *begin(1, open_listing(row, note=f"tag '{tag}'"))]
        return [*reading, *comment(stars, title, tag), stop()]

    return Draft(
        values={"category": wanted["name"], "listing": row["title"], "title": title, "stars": str(stars)},
        evaluation=changes(drawing, f"comment on {row['title']}: {stars}, {title}, {wanted['tag']}"),
        oracle=commenting(wanted["tag"]),
        near_miss=commenting(other["tag"]),
        login=True,
    )


TEMPLATE = Template(
    sites=("classifieds",),
    wordings=(
        "(Look up|Find) the tag of the category '{category}' in the rules for listings. Then comment on '{listing}': "
        "{stars} stars, the title '{title}', and the tag alone as the text.",
        "Comment on '{listing}' with {stars} stars. The title is '{title}' and the comment is just the tag that the "
        "rules (give|name) for the category '{category}'.",
        "The rules for listings (have|list) a tag for '{category}'. Write it, and nothing else, as a comment with the "
        "title '{title}' and {stars} stars on '{listing}'.",
        "(Read|Note) the tag of '{category}' on the page with the rules, go to '{listing}' and leave a comment there: "
        "title '{title}', {stars} stars, the tag as its only word.",
        "'{listing}' should get a comment from me: {stars} stars, title '{title}', and as text the tag of the category "
        "'{category}', which (stands|is) in the rules.",
        "Every category has a tag in the rules for listings. Take the one of '{category}' and (leave|write) it as a "
        "comment on '{listing}', with {stars} stars and the title '{title}', without any other word.",
        "Comment on '{listing}' for me: title '{title}', {stars} stars, and (as the text|as the comment) only the "
        "tag of '{category}' from the rules for listings.",
        "See in the rules for listings which tag '{category}' has. (Post|Write) this tag alone under '{listing}', as "
        "a comment titled '{title}' with {stars} stars.",
        "(Go to|Open) the rules for listings and (get|take) the tag of the category '{category}'. Then give "
        "'{listing}' {stars} stars in a comment titled '{title}' whose whole text is that tag.",
        "By the end, there is a comment of mine (on|under) '{listing}': {stars} stars, headed '{title}', its text "
        "(only|just) the tag that the rules for listings give '{category}'.",
        "I would like to (comment|leave a comment) on '{listing}' with the title '{title}' and {stars} stars. The text "
        "(is|should be) the tag of '{category}', found in the rules for listings, and nothing more.",
        "Could you (check|see) in the rules for listings what the tag of '{category}' is, and comment on '{listing}' "
        "with it (as the only text|alone)? Title: '{title}'. Stars: {stars}.",
        "{stars} stars for '{listing}': add a comment with the title '{title}', and as its text (put|enter) nothing "
        "but the tag of the category '{category}', which is (in|on the page of) the rules for listings.",
        "Title '{title}', {stars} stars, and as the text the bare tag of '{category}': (write|add) this comment on "
        "'{listing}'. The tag (is|stands) in the rules for listings.",
        "A friend said that '{listing}' (lacks|needs) the tag of '{category}'. (Find|Look up) that tag in the rules "
        "for listings and leave it there, by itself, as a comment: title '{title}', {stars} stars.",
        "Under '{listing}', (write|enter) a comment titled '{title}' that has {stars} stars and (only|just) the tag of "
        "the category '{category}' as its text. See the rules for listings for the tag.",
        "Make sure that '{listing}' (gets|has) a comment from me with {stars} stars, the title '{title}' and, as "
        "(its|the) whole text, the tag of '{category}' in the rules for listings.",
        "You will need the tag of the category '{category}' from the rules for listings. (Remember|Note) it, then "
        "comment on the ad '{listing}': {stars} stars, '{title}' as the title, (the|this) tag as the text and no more "
        "words.",
        "The text of my comment on '{listing}' (is|will be) one tag, that of '{category}' in the rules for listings; "
        "its title is '{title}' and it gives {stars} stars. Please (send|write) it.",
        "Please (review|comment on) the ad '{listing}' with {stars} stars: heading '{title}', text the tag that you "
        "(read|find) for '{category}' in the rules for listings, nothing else.",
    ),
    held_out=(
        "Rate '{listing}' with {stars} stars under the title '{title}'. For the text of the comment, copy the tag that "
        "belongs to '{category}' from the rules.",
        "Which tag do the rules for listings want for '{category}'? Post it as a comment on '{listing}', titled "
        "'{title}', with {stars} stars.",
    ),
    plan="tag of '{category}' in rules for listings; comment on '{listing}': {stars} stars, '{title}', tag",
    draw=draw,
    tags=("long-memory",),
)
