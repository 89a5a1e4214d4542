"""The board about repairs."""

from .kinds import Board, Read, Talk, View

BOARD = Board(
    name="repair",
    title="Fix it yourself",
    description="Broken things and how they came back to life. Or did not.",
    rules=("Unplug it first.", "Say what it is, how old, and what you tried.", "No shaming of glue."),
    hue=220,
    words={
        "thing": (
            "toaster",
            "kitchen chair",
            "door lock",
            "bicycle lamp",
            "washing machine",
            "wall clock",
            "drawer",
            "coffee grinder",
        ),
        "symptom": (
            "makes a ticking noise",
            "stops after a minute",
            "smells of dust",
            "sticks on wet days",
            "will not close",
            "leaks",
        ),
        "cure": (
            "a drop of oil",
            "a new washer",
            "wood glue and a clamp",
            "cleaning the contacts",
            "one longer screw",
            "patience",
        ),
        "part": ("spring", "hinge", "fuse", "belt", "seal", "switch"),
    },
    talks=(
        Talk(
            "My {thing} {symptom}",
            "It is {n} years old and has been good to us. Since {day} it {symptom}. I opened it, found a "
            "loose {part}, put it back, and now it is worse. The shop in {town} wants ${money} just to "
            "look at it.\n\nIs this something I can do at home?",
        ),
        Talk(
            "Fixed: {thing}. It was the {part}",
            "For everyone who finds this later. It {symptom}, and every page I read said to throw it "
            "away. In the end it was {cure}. Cost: ${n}. Time: an evening, most of it spent looking for "
            "a screw on the floor.\n\nThe part has the number **{code}**, in case you need to order it.",
        ),
        Talk(
            "Repair café in {town} on {day}",
            "We are in the back room of the fire station on {street} from {hour}. Bring your {thing}, "
            "bring its {part}, and bring cake. Last time we fixed {many} things and gave up on {n}. "
            "{person} does everything with a plug.\n\nPlease enter your name in the list by the door.",
        ),
        Talk(
            "What belongs into a first toolbox?",
            "My daughter moves out in {month} and I want to give her a good start. I bought the "
            "**{ware}** at Larkspur Market for {price}. Next on the list is the **{ware_b}**, "
            "{price_b}.\n\nWhat else? It should not be more than {n} things, the flat is small.",
        ),
        Talk(
            "Poll: glue or screws?",
            "Last night a shelf came down, with {many} jars on it. My brother says glue, I say screws, "
            "the jars say nothing. What holds longer?",
            poll=("What holds a shelf?", "Screws", "Glue", "Both", "Hope"),
        ),
        Talk(
            "How I got a stripped screw out",
            "Rubber band: no. Hot iron: no. Swearing: a little. What worked was {cure}, left over night, "
            "and then turning very slowly with the largest driver that would fit. It took {n} tries.\n\n"
            ">!Do not ask what the table looks like now.!<",
        ),
        Talk(
            "Is it worth repairing a {thing}?",
            "New: ${money}. The part alone: ${n}. My time: I do not want to know. On the other hand it "
            "was my grandmother's, and all that is wrong is that it {symptom}. {person} offered to help in exchange "
            "for dinner.\n\nWhere do you draw the line?",
        ),
        Talk(
            "Which oil for an old {part}?",
            "I have cooking oil, sewing-machine oil and something in a can without a label. The {thing} "
            "stands in a damp cellar in {town}, and by {month} everything there is rusty. I was told "
            "{cure} would be better than any oil.",
        ),
    ),
    views=(
        View(
            "Spotted at the flea market, could not resist", ("toolbox",), (1, 2, 3), ("table", "shelf"), noun="Toolbox"
        ),
        View("Sorted my workshop", ("screwdriver", "hammer"), (3, 4, 5, 6), ("shelf", "table"), ()),
        View(
            "It runs again",
            ("alarm-clock", "motor-scooter"),
            (1, 2),
            ("room",),
            ("green", "yellow", "blue", "purple", "orange"),
        ),
        View(
            "Everything that I needed for the job",
            ("screwdriver",),
            (2, 3, 4),
            ("table",),
            ("green", "blue", "yellow", "red"),
            others=("hammer", "mug"),
        ),
        View(
            "Before I start: what do we have here?",
            ("alarm-clock", "kick-scooter"),
            (2, 3, 4),
            ("table", "room"),
            ("red", "orange", "green", "purple"),
        ),
    ),
    reads=(
        Read(
            "The clock on {street} is right again",
            "hartwell-gazette.example",
            "Eleven minutes late for {n} years",
            "The town got used to it, and the bus timetable was printed to match. Now {person} has "
            "repaired the {part}, and the clock is right. There have been {many} complaints.\n\nThe old "
            "{part}, stamped {code}, is on show in the town hall.",
        ),
        Read(
            "Why manuals are so thin now",
            "plaintools.example",
            "What the manual of a {thing} used to tell you",
            "In the oldest manual we found, {many} pages were about repair. In the newest there are two, "
            "and one of them is a telephone number.\n\n{person} collects them and has made drawings for "
            "the missing ones.",
        ),
    ),
    remarks=(
        "Sounds like the {part} to me.",
        "{cure}. Nine times out of ten it is {cure}.",
        "Take a photo before you open it. Always.",
        "If it {symptom} only when it is warm, look for a crack.",
        "Do not force it. If it does not turn, it turns the other way.",
        "I have a {thing} from the same year and it will outlive me.",
        "Replace the {part}, it costs less than a coffee.",
        "Unplug it, wait ten minutes, then open it.",
        "My {thing} {symptom} as well. I turned up the radio.",
        "The repair café in {town} did mine for a donation.",
        "Glue is fine if you clamp it for a whole day.",
        "Contact spray solves half of my life.",
        "The part number is under the label, peel it off carefully.",
        "There is always one screw left over. That is the law.",
        "New is cheaper, but old is better.",
        "Check the cable first.",
    ),
    pictured=(
        "That is a good find.",
        "They do not make them like that any more.",
        "Does it still open and close?",
        "What did you pay?",
        "I have the same one, in another colour.",
        "Clean it with {cure}.",
        "Tidier than my kitchen.",
        "You have one too few, as everybody.",
    ),
    wares=("Hammer", "Screwdriver", "Hand Saw", "Toolbox", "Ladder", "Padlock", "Bench Clamp", "Magnet"),
)
