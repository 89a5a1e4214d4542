"""Change the price of one of one's own listings and leave the rest as it is."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, begin

from ._classifieds import changes, click, fill, listings, stop


def draw(drawing: Drawing) -> Draft:
    """Two listings of the demo user and a new price for the first."""
    own = listings(drawing, own=True)
    row = drawing.choose(own, "title")
    rival = drawing.rng.choice([each for each in own if each["id"] != row["id"]])
    price = max(1, row["price"] // 100 + drawing.rng.choice((-7, -6, -5, -4, -3, 3, 4, 6, 8, 9)))
    if price == row["price"] // 100:
        price += 2

    def changing(each: dict[str, object]) -> list[dict[str, object]]:
        return [
            click("link", "My listings"),
            click("link", f"Edit {each['title']}", note=f"edit '{each['title']}'"),
            *begin(1, [fill("Price in dollars", str(price), note=f"price '{price}'")]),
            click("button", "Save changes"),
            stop(),
        ]

    return Draft(
        values={"listing": row["title"], "price": str(price)},
        evaluation=changes(drawing, f"changed {row['title']}: {price}"),
        oracle=changing(row),
        near_miss=changing(rival),
        login=True,
    )


TEMPLATE = Template(
    sites=("classifieds",),
    wordings=(
        "(Change|Set) the price of my listing '{listing}' to ${price}; leave its description as it is.",
        "My '{listing}' should cost ${price} from now on. (Change nothing but|Only change) the price.",
        "(Edit|Go to) my listing '{listing}' and enter ${price} as the price, nothing else.",
        "I want ${price} for my '{listing}'. Please (adjust|change) the listing's price, not its text.",
        "Please put '{listing}', one of my listings, at ${price}. (The text stays the same.|Keep the text.)",
        "'{listing}' is a listing of mine. (Make it cost|Mark it at) ${price} and leave everything else (alone|as it "
        "is).",
        "New price for my listing '{listing}': ${price}. (Title and text stay.|Nothing else is new.)",
        "Would you (update|correct) the price of '{listing}' among my listings? It (should be|is) ${price}, with the "
        "same text.",
        "(Bring|Move) the price of '{listing}', which I am selling, to ${price}, and (keep|leave) its title and text.",
        "By the end, '{listing}' from my listings (costs|stands at) ${price} and (is otherwise unchanged|has the same "
        "text as before).",
        "I would like to (ask|charge) ${price} for '{listing}', a listing of mine. (Edit|Replace) its price and "
        "nothing besides.",
        "Could you (open|go to) my listings and give '{listing}' the price ${price}? (Everything else stays.|Leave the "
        "rest.)",
        "I have (thought again|changed my mind) about '{listing}', which I sell: set its price to ${price}, without "
        "rewriting the (description|title or the text).",
        "${price} is (the right|the new) price for '{listing}', which I posted. Save it in the listing and "
        "(alter|edit) nothing more.",
        "In my listings, '{listing}' has the wrong price: (correct|change) it to ${price}, (without other changes|and "
        "change nothing more).",
        "A friend (told|advised) me to ask ${price} for my '{listing}'. Put that in as the listing's price and (keep "
        "everything else|leave the other fields alone).",
        "Use the edit page of my ad '{listing}' to (replace the price by|change the price to) ${price}; the title and "
        "the description (remain|stay) the same.",
        "The amount asked for my '{listing}' (should|has to) become ${price}. (Amend|Modify) that figure alone.",
        "Make sure that my ad '{listing}' (shows|has) the price ${price}, with no change to (its description|anything "
        "else).",
        "Price of my '{listing}': make that ${price}, please. Do not (edit|rewrite) (the rest|the words).",
    ),
    held_out=(
        "The price field of my '{listing}' is out of date: it is ${price} now. Touch no other field.",
        "Let people have my '{listing}' for ${price}: update the price, and only that.",
    ),
    plan="edit my '{listing}'; price {price}",
    draw=draw,
    reasoning="easy",
)
