"""The board about music at home."""

from .kinds import Board, Read, Talk, View

BOARD = Board(
    name="homemusic",
    title="Music at home",
    description="For those who play badly, regularly and with joy.",
    rules=("No teachers' adverts.", "Recordings under three minutes.", "Neighbours are people."),
    hue=345,
    words={
        "instrument": ("guitar", "violin", "accordion", "trumpet", "banjo", "piano", "saxophone"),
        "tune": ("a slow waltz", "the one from the film", "a jig", "a lullaby", "the first page of everything"),
        "trouble": (
            "my fingers hurt",
            "the neighbours knock",
            "I rush",
            "the low notes buzz",
            "I cannot read the bass clef",
        ),
        "group": ("the harbour band", "the kitchen orchestra", "the beginners' circle", "the Tuesday quartet"),
    },
    talks=(
        Talk(
            "{n} months of {instrument}, and {trouble}",
            "I practise before work, {many} minutes, every day but {day}. I can play {tune} if nobody is "
            "in the room. {person}, who teaches me, says it is normal and will pass. It has not passed.\n\n"
            "Did it with you?",
        ),
        Talk(
            "{group} looks for a {instrument}",
            "We rehearse on {day} at {hour} in the cellar of the bakery on {street}. No audition, no "
            "concerts before {month}. We are {n} people and one dog. If the door is locked, enter "
            "**{code}** on the pad by the flour store.\n\nCurrently we murder {tune}.",
        ),
        Talk(
            "Second-hand {instrument}: what should I look at?",
            "It is in {town}, ${money}, and the seller says it was played for {n} years by a very "
            "careful person. I know nothing. Is there something that I can check without being able to "
            "play?",
        ),
        Talk(
            "Rent, borrow or buy?",
            "I want to start and do not know if I will stay with it. The **{ware}** at Larkspur Market "
            "is {price}, the **{ware_b}** is {price_b}. Renting in {town} costs ${n} a week.\n\nWhat would "
            "you do in my place? I have {many} days of holiday left to practise.",
        ),
        Talk(
            "Poll: metronome?",
            "{person} says that it makes you a machine. My teacher says that I could do with some "
            "machine. {trouble}, either way.",
            poll=("Do you use a metronome?", "Always", "For new pieces", "Never", "My foot is enough"),
        ),
        Talk(
            "How to practise in a flat with thin walls",
            "What we have agreed on in our house on {street}: not before ten, not after eight, never "
            "{tune} twice in a row. I put {n} towels behind the {instrument} and play with the door of "
            "the wardrobe open.\n\n>!The neighbour has started to sing along.!<",
        ),
        Talk(
            "Sheet music for {tune}?",
            "My grandfather played it on the {instrument} at every birthday, {many} of them, and nobody "
            "wrote it down. It goes up, waits, and comes down in {n} steps. I can hum it. I asked "
            "{group}, and they knew it but each in a different way.",
        ),
        Talk(
            "First time in front of people",
            "It was on {day} in {town}, {many} chairs, {n} of them taken. I played {tune}, got lost in "
            "the middle, found my way out, and they clapped. {person} cried, which was either good or "
            "bad.",
        ),
    ),
    views=(
        View("She followed me home", ("guitar",), (1,), ("room", "street", "beach"), noun="Guitar"),
        View("Ready for the concert", ("drum", "violin", "accordion"), (1, 2, 3), ("room", "night", "meadow")),
        View("The wall behind my sofa", ("guitar", "violin"), (2, 3, 4, 5), ("shelf", "room"), ()),
        View("The rehearsal was like this", ("violin", "drum"), (1, 2, 3), ("room",), others=("mug", "cat")),
        View(
            "Yard sale luck",
            ("accordion", "guitar"),
            (1, 2),
            ("meadow", "street"),
            ("green", "blue", "purple", "orange", "white"),
        ),
    ),
    reads=(
        Read(
            "The bells of {town} are being tuned",
            "hartwell-gazette.example",
            "A quarter tone too low for {many} years",
            "The third bell, cast with the mark {code}, has been flat since it was hung. Now {person} "
            "takes off {n} millimetres of metal, very slowly.\n\nUntil {month} the hour is struck on a "
            "saucepan.",
        ),
        Read(
            "Why we hum when nobody listens",
            "smallscience.example",
            "Between two stairs and a door: where people hum",
            "{many} people wore a small microphone for {n} days. They hummed most on stairs and least at "
            "their desks. Nobody could say afterwards what they had hummed.\n\nMost often it was {tune}.",
        ),
    ),
    remarks=(
        "It passes. Then something else starts.",
        "{trouble}: welcome to the {instrument}.",
        "Ten minutes a day beat two hours on {day}.",
        "Rent first. Always rent first.",
        "Play {tune} at half the speed, with your eyes shut.",
        "Look down the neck, like along a ruler.",
        "In {group} nobody can play, and it is wonderful.",
        "New strings. You will think it is a new {instrument}.",
        "Tell the neighbours when you practise, that helps more than towels.",
        "I started at {many} and can play at weddings now.",
        "Record yourself. It is horrible and it works.",
        "Ask them whether it ever fell over. They always tell you.",
        "I know {tune}! My version has one step more.",
        "Shoulders down, breathe, again.",
        "A metronome never hurt anybody. Apart from me.",
        "Join {group}, they take everybody.",
    ),
    pictured=(
        "What does it sound like?",
        "You will need a bigger flat.",
        "Beautiful. Please play it for us.",
        "Same colour as my first one.",
        "Does it stay in tune?",
        "I would have bought it, too.",
        "Is that the one for {tune}?",
        "Somebody dust that shelf.",
    ),
    wares=("Guitar", "Violin", "Trumpet", "Drum", "Saxophone", "Accordion", "Banjo", "Maracas", "Hand Bell"),
)
