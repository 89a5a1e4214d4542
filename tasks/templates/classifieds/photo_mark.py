"""Save the one listing of a kind in a region whose photos show a crack, a stain or the like."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit

from ._classifieds import changes, click, found_by, last_photo, listings, search, select, stop

_MARKS = {
    "cracked": "a crack",
    "scratched": "scratches",
    "torn": "a tear",
    "stained": "a brown stain",
    "sticker": "a star sticker",
}


def draw(drawing: Drawing) -> Draft:
    """A listing with a mark that its text keeps to itself; the only one of its kind and region with that mark."""
    offered = listings(drawing)
    saved = {row["listing_id"] for row in drawing.rows("classifieds", "SELECT * FROM favourite WHERE user_id = 1")}
    everything = [*offered, *listings(drawing, own=True)]

    def alone(row: dict[str, object]) -> bool:
        return sum(all(each[key] == row[key] for key in ("kind", "mark", "region")) for each in everything) == 1

    hidden = [row for row in offered if row["mark_hidden"] and row["pieces"] == 1 and alone(row)]
    row = drawing.choose([each for each in hidden if each["id"] not in saved], "title")
    alike = [each for each in offered if each["kind"] == row["kind"] and each["id"] not in saved]
    rivals = [each for each in alike if each["id"] != row["id"]]
    if not rivals or found_by(drawing, row["kind"]) > 8:
        raise Unfit("there is no other, or they fill more than a page")
    rival = drawing.rng.choice(rivals)
    mark = _MARKS[row["mark"]]
    return Draft(
        values={"kind": row["kind"], "region": row["region"], "mark": mark},
        evaluation=changes(drawing, f"saved {row['title']}"),
        oracle=[
            select("Place", row["region"]),
            search(row["kind"]),
            click("link", row["title"], note=f"{mark} on '{row['title']}'"),
            last_photo(row),
            click("button", "Save listing"),
            stop(),
        ],
        near_miss=[search(row["kind"]), click("link", rival["title"]), click("button", "Save listing"), stop()],
        login=True,
    )


TEMPLATE = Template(
    sites=("classifieds",),
    wordings=(
        "(Save|Keep) the listing of a '{kind}' in '{region}' whose photos show {mark}.",
        "One '{kind}' in '{region}' has {mark} on it in the photos. (Save it for me|Put it among my saved listings).",
        "(Look through|Go through) the '{kind}' listings from '{region}' and save the one with {mark}.",
        "I repair things. (Find|Look for) the '{kind}' with {mark} that is in '{region}' and save the listing.",
        "In which listing from '{region}' does the '{kind}' have {mark}? (Save that one|Add it to my saved ones).",
    ),
    held_out=(
        "A '{kind}' in '{region}' with {mark}, as one sees in the photos: save that listing.",
        "I collect damaged and decorated things. In '{region}' a '{kind}' was photographed with {mark}; keep its "
        "listing for me among the saved ones.",
    ),
    draw=draw,
    visual="hard",
)
