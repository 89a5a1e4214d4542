"""Say which colour something has when only its photos tell."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, begin

from ._classifieds import COLOURS, answer, colour_hidden, open_listing, stop


def draw(drawing: Drawing) -> Draft:
    """A listing whose colour is neither in its title nor in its text, and one of another colour."""
    hidden = colour_hidden(drawing)
    row = drawing.choose(hidden, "title")
    rival = drawing.rng.choice([each for each in hidden if each["colour"] != row["colour"]])
    wrong = [colour for colour in COLOURS if colour != row["colour"]]
    return Draft(
        values={"listing": row["title"]},
        evaluation=answer(row["colour"], without=wrong),
        oracle=[*open_listing(row), *begin(1, [stop(row["colour"], note=f"{row['colour']} {row['kind']}")])],
        near_miss=[*open_listing(rival), stop(rival["colour"])],
    )


TEMPLATE = Template(
    sites=("classifieds",),
    wordings=(
        "(What|Which) colour does '{listing}' have?",
        "In (what|which) colour is '{listing}' offered? The photos show it.",
        "(Look at|Find) the listing '{listing}' and tell me the colour of what it offers.",
        "I might buy '{listing}'. (Which|What) colour is it?",
        "The title '{listing}' does not say the colour. (Look at the photos and name it.|What is it?)",
        "Have a look at '{listing}': (what|which) colour is the thing in the (photo|picture)?",
        "My sister asks which colour '{listing}' is. (What do I tell her?|What shall I say?)",
        "I cannot open the photos of '{listing}'. Which colour do they (show|have)?",
        "(Check|See) in the photos of '{listing}' what colour it is(| and tell me).",
        "I (would like|want) to know the colour of '{listing}'(, please|, as its photos show it).",
        "Please (name|report) the colour of the thing (offered|for sale) as '{listing}'.",
        "Could you (say|find out) what colour '{listing}' (is|comes in)?",
        "No word on the page of '{listing}' tells its colour, but the (photos|pictures) do. (Name it.|Which is it?)",
        "By the end I know the colour of '{listing}': (answer|reply) with (it|the colour).",
        "A friend (wants|would buy) '{listing}' only in the right colour. (In what colour is it?|Which colour is it, "
        "by the photos?)",
        "'{listing}': (state|give) its colour(|, please).",
        "The colour of '{listing}'? (See its photos|Look at its pictures) and (answer|reply).",
        "From the pictures, (which|what) colour would you say '{listing}' (is|has)?",
        "Open the (ad|offer) '{listing}', look at what it shows and (answer|reply) with its colour.",
        "I need (a gift|something) to go with '{listing}'. What colour do its photos (show|tell)?",
    ),
    held_out=(
        "Would '{listing}' suit my room? For that I have to know its colour.",
        "Describe what '{listing}' shows to somebody who cannot see it: name the colour.",
    ),
    plan="open '{listing}'; answer colour in photo",
    draw=draw,
    reasoning="easy",
    visual="medium",
)
