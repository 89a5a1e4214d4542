"""Read the serial number on a label in a photo."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, begin

from ._classifieds import last_photo, listings, open_listing, stop


def draw(drawing: Drawing) -> Draft:
    """A listing with a label on its last photo, and another one with a label."""
    labelled = [row for row in listings(drawing) if row["serial"]]
    row = drawing.choose(labelled, "title")
    rival = drawing.rng.choice([each for each in labelled if each["id"] != row["id"]])

    def reading(each: dict[str, object]) -> list[dict[str, object]]:
        return [
            *open_listing(each),
            *begin(1, [last_photo(each)]),
            *begin(2, [stop(str(each["serial"]), note=f"serial '{each['serial']}'")]),
        ]

    return Draft(
        values={"listing": row["title"]},
        evaluation={"eval_types": ["string_match"], "reference_answers": {"exact_match": row["serial"]}},
        oracle=reading(row),
        near_miss=reading(rival),
    )


TEMPLATE = Template(
    sites=("classifieds",),
    wordings=(
        "(What|Which) serial number does the label in the photos of '{listing}' show? Answer with the number only.",
        "(Read|Find) the serial number on a photo of '{listing}' and answer with it alone.",
        "One photo of '{listing}' shows a label. (What|Which) serial number is on it? Give just the number.",
        "I want to check whether '{listing}' is stolen. Answer with its serial number, (from the photos|as its "
        "photos have it), and no other word.",
        "(Look through|Go through) the photos of '{listing}' and report the serial number, nothing else.",
        "Among the photos of '{listing}' is one of a label. (Copy|Give me) the serial number on it, (without any "
        "other word|and nothing else).",
        "Before I buy '{listing}' I want its serial number. It is (on|in) one of the photos; answer with just the "
        "number.",
        "Open '{listing}', go to the photo (with the label|that shows a label) and give me the serial number, alone.",
        "(Check|View) the photos of '{listing}' for a label and (reply with|write) the serial number on it, just that.",
        "I would like to (have|know) the serial number of '{listing}', which one of its photos shows. (Answer with "
        "just the number.|Nothing but the number, please.)",
        "By the end your answer is the (bare|plain) serial number of '{listing}', (read|taken) from a photo of its "
        "label.",
        "Could you (find|look for) the label in the photos of '{listing}' and write out its serial number, (without "
        "anything else|with no words around it)?",
        "A friend thinks that '{listing}' is (hers|his). To check, give me the serial number from its photos, (by "
        "itself|with nothing added).",
        "'{listing}': (read|take) the serial number off the label in a photo and answer with (nothing more|that only).",
        "Please (type|write) the serial number that the label of '{listing}' bears in a photo; (no sentence, just the "
        "number|only the number counts).",
        "For my (insurance|records), I need the serial number of '{listing}'. A photo (has|shows) it on a label; reply "
        "with the number and no more.",
        "What is printed as the serial number on the label that the (ad|offer) '{listing}' shows in a photo? (Only "
        "that|Just this) number, please.",
        "In the ad '{listing}', (turn to|open) the picture of a label, (read|find) the serial number and answer with "
        "exactly that.",
        "The seller of '{listing}' has (put up|posted) a photo of a label. Its serial number, with nothing around it, "
        "is (all I ask for|the answer I want).",
        "The serial number of '{listing}', as its label in the photos (has|gives) it: answer with (that|the number) "
        "and not a word more.",
    ),
    held_out=(
        "Copy the code from the paper label that was photographed with '{listing}'. Only the code, please.",
        "There is a serial number to be seen among the pictures of '{listing}'; your answer is that number alone.",
    ),
    plan="open '{listing}'; photo with serial number; answer serial number",
    draw=draw,
    reasoning="easy",
    visual="hard",
)
