"""What a picture shows, as facts and as one line of text.

`3 red mugs and 2 books, on a table`, `blue coat with a stain, in a room`, `2 green t-shirts with an owl`: a number from
two on, the colour, the thing, what is on it, a second thing, where it is. A fact that is unknown or plain is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

MARKS = {
    "cracked": "a crack",
    "scratched": "scratches",
    "torn": "a tear",
    "stained": "a stain",
    "sticker": "a sticker",
}
SCENES = {
    "room": "in a room",
    "carpet": "on a carpet",
    "table": "on a table",
    "garage": "in a garage",
    "grass": "on grass",
    "street": "in a street",
    "meadow": "in a meadow",
    "beach": "on a beach",
    "shelf": "on a shelf",
    "lake": "at a lake",
    "forest": "in a forest",
    "snow": "in snow",
    "night": "at night",
    "aquarium": "in an aquarium",
}
COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "black", "white", "brown", "grey")
MOTIFS = ("cat", "dog", "fox", "panda", "lion", "frog", "owl", "penguin")
# One of them is not the name without its s, or several are not the name with one.
_PLURALS = {
    "bench clamp": "bench clamps", "butterfly": "butterflies", "cactus": "cacti", "cherry": "cherries",
    "compass": "compasses", "dress": "dresses", "fish": "fish", "hibiscus": "hibiscus flowers", "ladybird": "ladybirds",
    "paintbrush": "paintbrushes", "scarf": "scarves", "sheep": "sheep", "strawberry": "strawberries",
    "tomato": "tomatoes", "toolbox": "toolboxes", "wrist watch": "wrist watches", "die": "dice", "mouse": "mice",
    "kitchen knife": "kitchen knives", "bread": "loaves of bread", "honey": "jars of honey", "radio": "radios",
    "torch": "torches",
}  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """What a picture shows.

    Attributes:
        kind: The thing, in small letters, as pages name it.
        colour: One of `COLOURS`, or "" for its natural one.
        count: How many; 0 if the picture does not show all of them.
        mark: A key of `MARKS`, or "".
        motif: The animal on it, or "".
        scene: A key of `SCENES`, or "" for plain ground.
        other: A second kind of thing, or "".
        others: How many of them.
    """

    kind: str
    colour: str = ""
    count: int = 1
    mark: str = ""
    motif: str = ""
    scene: str = ""
    other: str = ""
    others: int = 0


def several(noun: str) -> str:
    """The plural of a noun; nouns that end in s are their own."""
    if noun in _PLURALS:
        return _PLURALS[noun]
    return noun if noun.endswith("s") else noun + "s"


def caption(facts: Facts) -> str:
    """Write facts as one line."""
    line = _counted(facts.count, facts.colour, facts.kind)
    extras = [MARKS[facts.mark]] if facts.mark else []
    if facts.motif:
        extras.append(f"{_article(facts.motif)} {facts.motif}")
    if extras:
        line += " with " + " and ".join(extras)
    if facts.other:
        line += " and " + _counted(facts.others, "", facts.other)
    return line + (f", {SCENES[facts.scene]}" if facts.scene else "")


def read_caption(line: str) -> Facts | None:
    """Read what `caption` wrote; None where a line has no such form.

    Kinds are returned as they stand, so several things come back in the plural.
    """
    found = _LINE.fullmatch(" ".join(line.split()))
    if found is None:
        return None
    scene = next((name for name, words in SCENES.items() if words == found["scene"]), "")
    mark = next((name for name, words in MARKS.items() if words == found["mark"]), "")
    return Facts(
        found["kind"],
        found["colour"] or "",
        int(found["count"] or 1),
        mark,
        found["motif"] or "",
        scene,
        found["other"] or "",
        int(found["others"] or bool(found["other"])),
    )


def agreement(said: Facts | None, shown: Facts) -> dict[str, bool]:
    """Compare what was read from a line with what is shown, fact by fact.

    Only facts that the picture has, or that were said of it, are compared; a count of 0 is not.
    """
    right: dict[str, bool] = {}
    expected = read_caption(caption(shown))
    for field in fields(Facts):
        truth, told = getattr(expected, field.name), getattr(said, field.name) if said else None
        if field.name == "count" and shown.count == 0:
            continue
        if field.name == "colour" and not shown.colour:
            continue  # a natural colour may be named or not
        if field.name in ("kind", "count", "mark", "scene") or truth or told:
            right[field.name] = told == truth
    return right


def _counted(count: int, colour: str, noun: str) -> str:
    number = str(count) if count > 1 else ""
    words = [number, colour, noun if count == 1 else several(noun)]
    return " ".join(word for word in words if word)


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiou" else "a"


_NAME = r"[a-z-]+(?: (?!with\b|and\b)[a-z-]+)*"  # no name holds these words
_LINE = re.compile(
    rf"(?:(?P<count>\d+) )?(?:(?P<colour>{'|'.join(COLOURS)}) )?(?P<kind>{_NAME})"
    rf"(?: with (?:(?P<mark>{'|'.join(MARKS.values())})(?: and )?)?(?:an? (?P<motif>{'|'.join(MOTIFS)}))?)?"
    rf"(?: and (?:(?P<others>\d+) )?(?P<other>{_NAME}))?"
    rf"(?:, (?P<scene>{'|'.join(SCENES.values())}))?"
)
