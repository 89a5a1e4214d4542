"""Read a category's tag in a table of eleven and write it into a comment on a listing."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template

from ._classifieds import changes, click, comment, listings, open_listing, stop


def draw(drawing: Drawing) -> Draft:
    """A category and another one, and a listing to comment on."""
    tags = drawing.rows("classifieds", "SELECT name, tag FROM category ORDER BY id")
    wanted, other = drawing.rng.sample(tags, 2)
    row = drawing.choose(listings(drawing), "title")
    stars = drawing.rng.randint(2, 5)
    title = drawing.rng.choice(("Tag", "Please add", "Missing tag", "For the rules"))

    def commenting(tag: str) -> list[dict[str, object]]:
        reading = [click("link", "Rules for listings"), *open_listing(row, note=f"tag '{tag}'")]
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
    ),
    held_out=(
        "Rate '{listing}' with {stars} stars under the title '{title}'. For the text of the comment, copy the tag that "
        "belongs to '{category}' from the rules.",
        "Which tag do the rules for listings want for '{category}'? Post it as a comment on '{listing}', titled "
        "'{title}', with {stars} stars.",
    ),
    draw=draw,
    tags=("long-memory",),
)
