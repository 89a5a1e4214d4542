"""Save the one listing of a kind whose photos show a crack, a stain or the like."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin
from confkv_agents.web.tasks.worlds import Row

from ._classifieds import changes, click, found_by, listings, plain, search, select, stop

_MARKS = {
    "cracked": "a crack",
    "scratched": "scratches",
    "torn": "a tear",
    "stained": "a brown stain",
    "sticker": "a star sticker",
}
_CLOSE = 3  # which photo shows the mark from near


def draw(drawing: Drawing) -> Draft:
    """A listing with a mark that its text keeps to itself, and others of the kind that text cannot rule out."""
    offered = listings(drawing)
    saved = {row["listing_id"] for row in drawing.rows("classifieds", "SELECT * FROM favourite WHERE user_id = 1")}
    everything = [*offered, *listings(drawing, own=True)]

    def rivals(row: Row, region: str) -> list[Row]:
        alike = [each for each in everything if each["kind"] == row["kind"] and region in ("", each["region"])]
        if sum(each["mark"] == row["mark"] for each in alike) > 1 or found_by(drawing, row["kind"], region) > 8:
            return []  # two have the mark, or they fill more than a page
        # The number of photos would tell too: a marked thing has one more.
        silent = [each for each in alike if plain(each) and each["photos"] == row["photos"] and each in offered]
        return [each for each in silent if each["id"] not in saved | {row["id"]}]

    hidden = [row for row in offered if row["mark_hidden"] and row["pieces"] == 1 and row["id"] not in saved]
    choices = [(row, region, rivals(row, region)) for row in hidden for region in (row["region"], "")]
    fitting = [choice for choice in choices if choice[2]]
    if not fitting:
        raise Unfit("words tell which one it is, or nothing has a mark")
    row, region, alike = drawing.rng.choice(fitting)  # no name of theirs is in the task
    rival = drawing.rng.choice(alike)
    place, mark = f"in '{region}'" if region else "on Kerbside", _MARKS[row["mark"]]

    def saving(each: Row, note: str = "") -> list[Row]:
        return [
            *([select("Place", region)] if region else []),
            search(row["kind"]),
            *begin(1, [click("link", each["title"])]),
            click("link", f"Photo {_CLOSE} of {each['photos']}"),
            *begin(2, [click("button", "Save listing", note)]),
            stop(),
        ]

    return Draft(
        values={"kind": row["kind"], "place": place, "mark": mark},
        evaluation=changes(drawing, f"saved {row['title']}"),
        oracle=saving(row, f"{mark} on '{row['title']}'"),
        near_miss=saving(rival),
        login=True,
    )


TEMPLATE = Template(
    sites=("classifieds",),
    wordings=(
        "(Save|Keep) the listing of a '{kind}' {place} whose photos show {mark}.",
        "One '{kind}' {place} has {mark} on it in the photos. (Save it for me|Put it among my saved listings).",
        "(Look through|Go through) the listings of a '{kind}' {place} and save the one with {mark}.",
        "I repair things. (Find|Look for) the '{kind}' with {mark} that is offered {place} and save the listing.",
        "Which '{kind}' {place} has {mark}, by its photos? (Save that listing|Add that one to my saved listings).",
        "Somebody sells a '{kind}' {place} that has {mark}. Only the photos (tell|show) which; (save|keep) its "
        "listing.",
        "There may be several listings of a '{kind}' {place}. I want the one with {mark} (in|on) its photos among my "
        "saved listings.",
        "Check the photos of every '{kind}' {place}: where you (see|find) {mark}, save the listing.",
        "(Bookmark|Save) the one '{kind}' {place} that, (going|to judge) by its photos, has {mark}.",
        "By the end, my saved listings (include|hold) the '{kind}' {place} that has {mark} in (its photos|a photo).",
        "I would like to (save|bookmark) a '{kind}' {place}: the one whose photos (show|reveal) {mark}.",
        "Could you (search|look) {place} for a '{kind}' whose pictures show {mark}, and save (its listing|that ad)?",
        "With {mark} on it, a '{kind}' {place} is (just what I look for|what I am after). (Find|Pick) it by its photos "
        "and save the listing.",
        "The photos of one '{kind}' {place} (show|reveal) {mark}. That is the listing (to save|to put among my saved "
        "ones).",
        "A friend (lost|sold) a '{kind}' with {mark}. Look at the photos of each one {place} and save the listing that "
        "(fits|matches).",
        "(Compare|View) the pictures of each '{kind}' {place}. Only one has {mark}; (bookmark|save) that ad.",
        "Make sure that the '{kind}' {place} with {mark} in its photos (ends up|is) among my saved (listings|ads).",
        "Which ad for a '{kind}' {place} (pictures|shows) {mark}? Look at all the photos, then save (it|that ad).",
        "Saved listings: please add the '{kind}' {place} that (turns out to have|has) {mark} when you (see|open) its "
        "photos.",
        "Search {place} for '{kind}', (view|look at) the photos of every result, and save the listing that (shows|has) "
        "{mark}.",
    ),
    held_out=(
        "A '{kind}' with {mark} is offered {place}, as one sees in the photos: save that listing.",
        "I collect damaged and decorated things. A '{kind}' {place} was photographed with {mark}; keep its listing for "
        "me among the saved ones.",
    ),
    plan="search '{kind}' {place}; photo with {mark}; save it",
    draw=draw,
    visual="hard",
)
