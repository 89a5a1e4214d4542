"""Say how many pieces belong to a set when only its photos tell."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, begin

from ._classifieds import NUMBERS, answer, listings, open_listing, quiet, stop


def draw(drawing: Drawing) -> Draft:
    """A listing of several pieces on whose page no number from two to eight is spoken of, and a set of another size."""
    # A racket comes with a ball, so that one might count either; gloves are always two.
    unclear = ("tennis racket", "boxing glove")
    hidden = [row for row in listings(drawing) if row["pieces_hidden"] and row["kind"] not in unclear]
    hidden = quiet(hidden, [word for number in range(2, len(NUMBERS)) for word in (str(number), NUMBERS[number])])
    row = drawing.choose(hidden, "title")
    rival = drawing.rng.choice([each for each in hidden if each["pieces"] != row["pieces"]])
    pieces = row["pieces"]
    wrong = [word for number, word in enumerate(NUMBERS) if number not in (0, 1, pieces)]
    return Draft(
        values={"listing": row["title"]},
        evaluation=answer(f"{pieces} |OR| {NUMBERS[pieces]}", without=wrong),
        oracle=[*open_listing(row), *begin(1, [stop(str(pieces), note=f"{pieces} pieces")])],
        near_miss=[*open_listing(rival), stop(str(rival["pieces"]))],
    )


TEMPLATE = Template(
    sites=("classifieds",),
    wordings=(
        "How many (pieces|things) does the listing '{listing}' consist of?",
        "(Count|Look at the photo and count) what is offered as '{listing}'. How many are there?",
        "'{listing}' is a set. (How many pieces are in it?|Of how many?)",
        "I would like to know how many I get when I buy '{listing}'. (See the photos.|Look at the photos.)",
        "(Open|Find) '{listing}' and tell me the number of pieces in the photo.",
        "What number of pieces do I (get|see) with '{listing}'? The text does not say, the (photo|first photo) does.",
        "Somebody sells '{listing}'. (Count the pieces for me.|How many pieces are they?)",
        "I need a certain number of these: '{listing}'. How many are (offered|pictured)?",
        "(Tell me|I would like to know) the number of (pieces|items) that belong to '{listing}', as pictured.",
        "Please (look at|check) the photo of '{listing}': how many (items|single pieces) are for sale there?",
        "Could you count the (pieces|things) in the (photo|first photo) of '{listing}'?",
        "By its photo, '{listing}' is made up of several pieces. (Give|Report) the (count|exact number).",
        "A friend (wants|needs) '{listing}' and asks how many pieces it has. (Find out from the photo.|What do I say?)",
        "'{listing}': (how many|what number of) pieces are (pictured|seen) in the photo?",
        "How large is the set '{listing}'? Count (its pieces|what belongs to it) in the (photo|picture).",
        "Before I (buy|fetch) '{listing}', I want to know the number of pieces in it. (Count them in the photo.|The "
        "photo has the answer.)",
        "The offer '{listing}' is of (more than one thing|several pieces). How many, (to judge|going) by the photo?",
        "Go to the ad '{listing}', count what is (for sale|on offer) there and (answer|reply) with the number.",
        "If I (take|buy) '{listing}', how many pieces will I (carry home|have)?",
        "The number of pieces in '{listing}': look at its (photo|picture) and (tell me|answer).",
    ),
    held_out=(
        "The seller of '{listing}' did not write how many there are; please count them for me.",
        "One, two, or more? Say how many pieces the photo of '{listing}' shows.",
    ),
    plan="open '{listing}'; answer count in photo",
    draw=draw,
    reasoning="easy",
    visual="hard",
)
