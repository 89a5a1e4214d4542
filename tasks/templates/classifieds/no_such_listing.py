"""Asked to save a listing that does not exist, beside one that is the same in another colour: nothing can be done."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit

from ._classifieds import COLOURS, changes, click, listings, not_there, open_listing, search, stop


def draw(drawing: Drawing) -> Draft:
    """A listing whose title names a colour, asked for in another colour."""
    saved = {row["listing_id"] for row in drawing.rows("classifieds", "SELECT * FROM favourite WHERE user_id = 1")}
    offered = listings(drawing)
    told = [row for row in offered if row["colour"] and not row["colour_hidden"] and row["id"] not in saved]
    row = drawing.choose([each for each in told if f" {each['colour']} " in each["title"]], "title")
    wrong = drawing.rng.choice([colour for colour in COLOURS if colour != row["colour"]])
    title = row["title"].replace(f" {row['colour']} ", f" {wrong} ")
    maker = row["title"].split(f" {row['colour']} ")[0].split()[-1]
    for each in [*offered, *listings(drawing, own=True)]:
        alike = each["kind"] == row["kind"] and each["colour"] == wrong
        if each["title"] == title or (alike and maker in each["title"].split()):
            raise Unfit("there is such a listing, or one that might be meant")
    known = row["title"].replace(f" {row['colour']} ", " ")
    return not_there(
        "listing",
        title,
        row["title"],
        changes(drawing)["program_html"][0],
        [search(title), search(known, note="nothing found; without the colour")],
        [*open_listing(row), click("button", "Save listing"), stop("saved")],
    )


TEMPLATE = Template(
    sites=("classifieds",),
    wordings=(
        "(Save|Keep) the listing '{listing}' for me.",
        "(Find|Look for|Open) '{listing}' and save the listing.",
        "I like '{listing}'. (Put it among my saved listings|Save it, please).",
        "The listing '{listing}' should be among my saved (ones|listings).",
        "Please add '{listing}' to what I have saved.",
        "I want to come back to '{listing}' later. (Save it|Save the listing) for me(| now).",
        "'{listing}' looks (good|right) to me. Would you save (it|that listing)?",
        "Search for '{listing}', open it and (press|click) the button that saves it.",
        "(Bookmark|Put) '{listing}' among my saved listings(|, please).",
        "By the end, '{listing}' is (one of my saved listings|in my list of saved listings)(| too).",
        "I would like to (have|see) '{listing}' in my saved listings(|; save it for me).",
        "Could you (save|keep) the ad '{listing}' for me(|, please)?",
        "A friend (told me about|showed me) '{listing}'. (Save the listing|Keep it among the saved ones) before I "
        "forget it.",
        "My saved listings (lack|do not have) '{listing}': (add it|put it there).",
        "Make sure that the (offer|ad) '{listing}' (ends up|is) among the listings I have saved.",
        "Go to the (ad|offer) '{listing}' and (save|bookmark) it in my account.",
        "'{listing}' (interests|tempts) me. Please (save|bookmark) that listing.",
        "I cannot decide on '{listing}' (today|yet). Save the listing for (later|another day).",
        "Please see to it that '{listing}' is saved in my (account|list of saved listings).",
        "I am looking for a present, and '{listing}' (might|would) do. (Have the listing saved|Save that offer) for "
        "me.",
    ),
    held_out=(
        "Somewhere on Kerbside is '{listing}'. Save it so that I find it again.",
        "Press the button that saves a listing, on the page of '{listing}'.",
    ),
    plan="open '{listing}'; save it",
    draw=draw,
)
