"""Find what a wanted ad describes by looking at photos, and quote the ad's reference to whoever offers it."""

from __future__ import annotations

import json

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

from ._classifieds import changes, click, colour_hidden, fill, found_by, plain, search, sent, stop

_TEXTS = ("Somebody wants it, see R.", "Please look at the ad R.", "Your thing is wanted: R.", "Answer the ad R.")


def draw(drawing: Drawing) -> Draft:
    """An ad with the listing that it describes, and another by somebody else that text cannot rule out."""
    offered = {row["id"]: row for row in colour_hidden(drawing)}
    ads = drawing.rows("classifieds", "SELECT title, reference, most, facts FROM wanted ORDER BY id")
    ad = drawing.rng.choice(ads)
    row = offered.get(json.loads(ad["facts"])["listing_id"])
    if row is None:
        raise Unfit("its text speaks of a colour")
    rivals = [each for each in offered.values() if each["kind"] == row["kind"] and each["email"] != row["email"]]
    rivals = [each for each in rivals if plain(each) and each["price"] <= 100 * ad["most"]]
    if not rivals or found_by(drawing, row["kind"]) > 8:
        raise Unfit("there is no other, or they fill more than a page")
    text = drawing.rng.choice(_TEXTS).replace("R.", f"{ad['reference']}.")

    def telling(each: dict[str, object]) -> list[dict[str, object]]:
        return [
            click("link", "Wanted"),
            click("link", ad["title"]),
            *begin(1, [search(row["kind"], note=f"{row['colour']} {row['kind']}, reference '{ad['reference']}'")]),
            *begin(2, [click("link", str(each["title"]), note=f"'{each['title']}' is {each['colour']}")]),
            *begin(3, [click("link", "Contact seller", note="contact")]),
            fill("Message", text),
            click("button", "Send message"),
            stop(),
        ]

    return Draft(
        values={"ad": ad["title"], "text": text.replace(ad["reference"], "R")},
        evaluation=changes(drawing, sent(row, text)),
        oracle=telling(row),
        near_miss=telling(drawing.rng.choice(rivals)),
        login=True,
    )


TEMPLATE = Template(
    sites=("classifieds",),
    wordings=(
        "(Read|Open) the wanted ad '{ad}', find the listing that it describes (look at the photos), and send its "
        "seller '{text}', with the ad's reference in place of R.",
        "Somebody offers just what the wanted ad '{ad}' asks for, as the photos show. (Write|Send) that seller "
        "'{text}', where R is the code to quote.",
        "Help the author of the wanted ad '{ad}': (find|look for) the thing in the right colour among the listings and "
        "write '{text}' to its seller. R is the reference in the ad.",
        "Which listing fits the wanted ad '{ad}'? Its seller should get the message '{text}', with R (replaced|filled "
        "in) by the reference of the ad.",
        "Start with the wanted ad '{ad}' and note its reference R. Then find the listing whose photo fits and (tell|"
        "write to) its seller: '{text}'",
        "Someone placed the wanted ad '{ad}'. (Look for|Find) a listing that matches it by its photo, and "
        "(write|send) its seller '{text}', R being the reference of the ad.",
        "I saw '{ad}' among the wanted ads and I think that it is on offer here. Find (it|the thing) by its photo "
        "and tell the seller: '{text}' For R write the ad's reference.",
        "What does '{ad}', a wanted ad, ask for, and which code R does it give? The seller whose photos show (just "
        "that|the very thing) should (read|get): '{text}'",
        "(Go to|Open) the wanted ad '{ad}' and note what it asks for and its reference R. (Then search|Search) the "
        "listings for it, compare the photos, and send the right seller '{text}'",
        "By the end the seller of the thing (sought|asked for) in the wanted ad '{ad}' has my message '{text}', with "
        "the ad's reference (for|in place of) R. The photos show which listing it is.",
        "I would like to (tell|write to) whoever sells what the wanted ad '{ad}' describes: '{text}' R is the ad's "
        "reference, and the (photos|pictures) show whether a listing fits.",
        "Could you (find|track down) the listing that matches the wanted ad '{ad}', going by the photos, and "
        "(message|write to) its seller: '{text}'? Put the ad's reference for R.",
        "A friend (is behind|wrote) the wanted ad '{ad}'. Find the listing with just that thing, judging by its "
        "photos, and (send|write) its seller '{text}', R being the ad's reference.",
        "The message '{text}' is for the seller of what the wanted ad '{ad}' (looks for|seeks). Pick the listing by "
        "its photos, and (replace R by|fill in for R) the reference in the ad.",
        "Is there a listing whose (photos|pictures) show what '{ad}', a wanted ad, asks for? I am sure there is: "
        "(write|send) its seller '{text}' with the ad's reference for R.",
        "Look for the very thing that the wanted ad '{ad}' (wants|describes); only the photos of the listings "
        "(tell|show) which it is. Then send its seller '{text}', with the reference of the ad where R is.",
        "Wanted ad: '{ad}'. Take its reference R, (search|look) for the thing it describes, and use the contact form "
        "of the listing with the (matching|right) photo to send '{text}'",
        "Make sure that the person whose listing (matches|fits) the wanted ad '{ad}' in its photos (gets|receives) the "
        "message '{text}', and put the reference from the ad in place of R.",
        "Several listings may (look|seem) right for the wanted ad '{ad}', but only in one do the photos (agree|match). "
        "Its seller should be sent '{text}', R standing for the ad's reference.",
        "Before you write anything, read the wanted ad '{ad}': you need its reference R and what it (is after|seeks). "
        "The seller of the listing whose photo (matches it|agrees with it) is to have the message '{text}'",
    ),
    held_out=(
        "The ad '{ad}' on the page of wanted things can be answered: one photo among the listings fits it. Message the "
        "person who offers that: '{text}' For R, use the ad's code.",
        "Bring two people together: the author of '{ad}' (a wanted ad with a reference R) and whoever has that thing "
        "on offer. Send the latter '{text}', with that reference for R.",
    ),
    plan="code R in wanted ad '{ad}'; search thing wanted; open it by photo; message its seller: '{text}' with R",
    draw=draw,
    reasoning="hard",
    visual="medium",
    tags=("long-memory",),
)
