"""Read the reference of one of six wanted ads and quote it to a seller: it is needed many pages later."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, begin

from ._classifieds import changes, click, listings, sent, stop, write_to

_TEXTS = ("My reference is R.", "Please quote R when you write.", "It is about the ad R.", "See the wanted ad R.")


def draw(drawing: Drawing) -> Draft:
    """An ad and another one, and a listing whose seller gets the reference."""
    ads = drawing.rows("classifieds", "SELECT title, reference FROM wanted ORDER BY id")
    ad, other = drawing.rng.sample(ads, 2)
    row = drawing.choose(listings(drawing), "title")
    text = drawing.rng.choice(_TEXTS)

    def quoting(each: dict[str, str]) -> list[dict[str, object]]:
        code = each["reference"]
        told = text.replace("R.", f"{code}.").replace("R ", f"{code} ")
        return [
            click("link", "Wanted"),
            click("link", each["title"]),
            *begin(1, write_to(row, told, note=f"reference '{code}'")),
            stop(),
        ]

    right = text.replace("R.", f"{ad['reference']}.").replace("R ", f"{ad['reference']} ")
    return Draft(
        values={"ad": ad["title"], "listing": row["title"], "text": text},
        evaluation=changes(drawing, sent(row, right)),
        oracle=quoting(ad),
        near_miss=quoting(other),
        login=True,
    )


TEMPLATE = Template(
    sites=("classifieds",),
    wordings=(
        "(Read|Look up) the reference of the wanted ad '{ad}'. Then send the seller of '{listing}' the message "
        "'{text}', with the reference in place of R.",
        "Write '{text}' to the seller of '{listing}', where R is the code that the wanted ad '{ad}' (asks to "
        "quote|says one should quote).",
        "Among the wanted ads is '{ad}'. (Note|Remember) the code R it gives and send '{text}' to whoever offers "
        "'{listing}'.",
        "The seller of '{listing}' should get this message: '{text}' R is the reference (named|given) in the wanted ad "
        "'{ad}'.",
        "First open the wanted ad '{ad}' for its reference R, then (contact|write to) the seller of '{listing}' with "
        "'{text}'.",
        "The wanted ad '{ad}' has a reference, R for short. Let the (seller|person) behind '{listing}' know: "
        "'{text}' (Put the reference|Write the reference) where R stands.",
        "Before you write to the seller of '{listing}', (open|look at) '{ad}' among the wanted ads: its reference "
        "takes the place of R in (my|the) message '{text}'",
        "I answer an ad. Its title is '{ad}', it is (on the page of wanted ads|among the wanted ads) and gives a "
        "reference R. Tell (whoever sells|the seller of) '{listing}': '{text}'",
        "(First get|Get) the reference R from the wanted ad '{ad}'; (then|after that) drop the seller of '{listing}' a "
        "line that reads '{text}', with the reference for R.",
        "By the end, the (owner|seller) of '{listing}' has a message from me: '{text}' R in it (is|stands for) the "
        "reference from the wanted ad '{ad}'.",
        "I would like (to send|you to send) a message about '{listing}' to its seller: '{text}' In place of R it "
        "(quotes|must have) the reference given by the wanted ad '{ad}'.",
        "Could you (check|see) under Wanted which reference the ad '{ad}' has, and then (message|write to) the seller "
        "of '{listing}': '{text}'? Replace R by the reference.",
        "On the Wanted page, '{ad}' (has|comes with) a reference: replace R by it in the message '{text}' and "
        "(send|post) this to the seller of '{listing}'.",
        "'{listing}': its seller (needs to hear|has to be told) '{text}', and R (there|in these words) must be the "
        "reference of the wanted ad '{ad}'.",
        "A friend (asked|told) me to quote the reference of the wanted ad '{ad}'. So (send|write) '{text}' to the "
        "seller of '{listing}', with that reference instead of R.",
        "Use the contact form of '{listing}' to send '{text}', but (replace R by|put in for R) the reference that (you "
        "find|stands) in the wanted ad '{ad}'.",
        "What reference does the wanted ad '{ad}' (carry|have)? (Fill it in|Put it in) for R and send the seller of "
        "'{listing}' the message '{text}'",
        "Make sure that whoever posted '{listing}' (gets|receives) the message '{text}', R being (replaced by|swapped "
        "for) the reference in the wanted ad '{ad}'.",
        "Wanted ad: '{ad}'. Listing: '{listing}'. (Take|Copy) the reference from the ad, and (send|write) the "
        "listing's seller '{text}' with the reference as R.",
        "In the message '{text}', R (is a gap|is to be filled in): the wanted ad '{ad}' has the reference that goes "
        "there. Send the (finished|complete) message to the seller of '{listing}'.",
    ),
    held_out=(
        "There is a code R in the ad '{ad}' on the page of wanted things. Tell the seller of '{listing}' exactly this, "
        "with the code put in: '{text}'",
        "'{text}' is my message for the person who sells '{listing}'; what R is, the wanted ad '{ad}' tells.",
    ),
    plan="code R in wanted ad '{ad}'; message seller of '{listing}': '{text}' with R",
    draw=draw,
    tags=("long-memory",),
)
