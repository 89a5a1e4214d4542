"""The board about desks and small rooms."""

from .kinds import Board, Read, Talk, View

BOARD = Board(
    name="desks",
    title="Desks and small rooms",
    description="Where we work, read and write. Lamps, shelves, quiet.",
    rules=("Cables are allowed in pictures.", "No price tags over a thousand.", "Say what you do there."),
    hue=160,
    words={
        "room": ("the box room", "a corner of the kitchen", "the landing", "the cellar", "under the stairs"),
        "nuisance": ("glare", "cold feet", "cables", "the washing machine", "dust", "echo"),
        "furniture": ("desk", "lamp", "chair", "shelf", "footrest", "pinboard"),
        "colour": ("grey", "moss green", "off-white", "dark blue", "brick red"),
    },
    talks=(
        Talk(
            "Working from {room}: {nuisance}",
            "It is {n} square metres and I have been there since {month}. Everything fits but my knees. "
            "The {furniture} is from my aunt, the rest is from the street. What bothers me most is "
            "{nuisance}, from {hour} on every day.\n\nHow would you arrange it?",
        ),
        Talk(
            "Painted {room} {colour}, no regrets",
            "Two coats, {n} litres, one weekend, ${money}. The number of the paint is **{code}**, since "
            "I was asked. {person} thinks that it looks like a submarine. I think that I have never been "
            "so calm on a {day}.\n\nThe {furniture} stays as it is.",
        ),
        Talk(
            "A quiet desk, {n} metres from my partner",
            "Noise matters here. I have now tried the **{ware}** from Larkspur Market ({price}) for "
            "{many} days and we are still together. The **{ware_b}** for {price_b} was my second "
            "choice.\n\nNext project: {nuisance}.",
        ),
        Talk(
            "A {furniture} from an old door",
            "The door came from a school in {town}. I sanded it for {n} hours, oiled it, and put it on "
            "two trestles. {person} helped to carry it up. There is still a number on it, {many}, which "
            "was the chemistry room. It is the best thing I own.",
        ),
        Talk(
            "Poll: tidy or not?",
            "There are {many} things on my desk at this moment, I counted. Somebody in the office has "
            "none. I do not trust them.",
            poll=("How does your desk look right now?", "Empty", "A few things", "Full", "Which desk?"),
        ),
        Talk(
            "Book room in {town} with free seats",
            "Above the bank on {street}, third floor, nobody knows of it. Open from {hour}, closed on "
            "{day}. The Wi-Fi is bad, which is the point. You get a place number at the desk; number "
            "**{n}** has the window. Say hello to {person}.",
        ),
        Talk(
            "Which {furniture} survives a toddler?",
            "So far we have lost a lamp, a drawer and the letter E. He is {n} months past his first "
            "birthday and climbs. It has to be heavy, round and {colour}, because the rest is. Budget "
            "${money}.",
        ),
        Talk(
            "I sit by the window now",
            "That is all. I moved the {furniture} by {n} metres and it changed my life. There is a tree, "
            "there is {person} with the dog at {hour}, and no more {nuisance}. >!I get half as much "
            "done.!<",
        ),
    ),
    views=(
        View("My corner, finally done", ("potted-plant", "books", "mug"), (1, 2, 3, 4), ("table", "shelf")),
        View(
            "They keep me on time",
            ("alarm-clock",),
            (1, 2, 3, 4),
            ("shelf", "table"),
            ("blue", "green", "yellow", "purple", "orange"),
            noun="",
        ),
        View("Green company", ("potted-plant",), (2, 3, 4, 5, 6), ("shelf", "room")),
        View("How it looks on a Friday", ("mug",), (3, 4, 5, 6, 7), ("table",), ()),
        View("Office mates", ("cat", "dog", "fish"), (1, 2), ("room",), others=("potted-plant", "books")),
    ),
    reads=(
        Read(
            "The smallest office in {town} is for rent",
            "hartwell-gazette.example",
            "{n} square metres with a view of {street}",
            "It used to be a ticket window. The rent is ${money}, the ceiling is high, and the door "
            "bears the number {code}.\n\n{person}, who worked there for {many} years, left a note on the "
            "wall. It says: bring a cushion.",
        ),
        Read(
            "Plants do not clean the air, but",
            "smallscience.example",
            "What a plant on the desk is good for",
            "You would need {many} of them in a room to change the air. People with one plant, however, "
            "looked up {n} times more often, and had fewer headaches.\n\n{person}, who ran the study, has "
            'none. "I forget to water."',
        ),
    ),
    remarks=(
        "Move the {furniture} by ninety degrees, that solves {nuisance}.",
        "{colour} is brave. I like it.",
        "I work in {room} too, and I have a rug. Get a rug.",
        "A lamp from the left if you write with the right.",
        "Under the desk: a board and a hot-water bottle.",
        "{nuisance} got me in the end, I went back to the library.",
        "Doors make the best desks.",
        "Cable channels, the cheap ones. Paint them {colour}.",
        "Seat height first, everything else later.",
        "Mine is full and I know where everything is.",
        "Heavy curtains, and the echo is gone.",
        "You want a {furniture} with round corners, believe me.",
        "Never put a bed in the same room. Never.",
        "What is behind you in calls? That is all that counts.",
        "I measured twice and it still did not fit through the door.",
        "A window is worth more than a {furniture}.",
    ),
    pictured=(
        "So calm.",
        "How many of those do you need?",
        "Where do the cables go?",
        "The left one needs water, I think.",
        "I want to sit down there and read.",
        "It looked different last {month}, did it not?",
        "Is that {colour} on the wall?",
        "Do you ever get anything done there?",
    ),
    wares=("Keyboard", "Mouse", "Headphones", "Chair", "Microphone"),
)
