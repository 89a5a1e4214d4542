"""The board about the countryside."""

from .kinds import Board, Read, Talk, View

BOARD = Board(
    name="countryside",
    title="Hedges, fields and small creatures",
    description="What creeps, grows and grazes beyond the last bus stop.",
    rules=("Leave everything where it is.", "Mushrooms: nobody here tells you that it is safe.", "Shut the gate."),
    hue=88,
    words={
        "creature": ("a stag beetle", "a hare", "an adder", "a slow-worm", "a badger", "a hawk moth", "a glow-worm"),
        "growth": ("blackthorn", "elder", "nettles", "foxgloves", "wild garlic", "bramble"),
        "place": ("the sunken lane", "the common", "the old quarry", "the long meadow", "the beech wood"),
        "weather": ("fog", "a late frost", "three weeks of sun", "hail", "the first real rain"),
    },
    talks=(
        Talk(
            "I met {creature} in {place}",
            "It was {hour}, just after {weather}, and neither of us had expected company. It stayed for "
            "{n} minutes. I did not dare to reach for my phone. {person} says there have been none "
            "around {town} for years.\n\nWho should I tell?",
        ),
        Talk(
            "Hedge planting day: tools and tea",
            "On {day} we plant {many} metres of hedge along {place}, mostly {growth}. Spades are there, "
            "gloves are not. Park at the end of {street} and walk. The gate has a number lock: "
            "**{code}**.\n\n{person} brings tea at {hour}. Whoever plants {n} metres gets cake.",
        ),
        Talk(
            "Which boots for wet grass?",
            "My old ones gave up in {place} after {weather}. I looked at the **{ware}** at Larkspur "
            "Market for {price}; a friend has the **{ware_b}**, which are {price_b}, and swears by them. "
            "I walk about {n} hours every {day}, mostly through {growth}.",
        ),
        Talk(
            "What eats {growth}?",
            "A whole row along {place}, bare within {n} days. No caterpillars, no droppings, no tracks. "
            "It started at the end nearest to {town} and is moving towards us at about a metre a day. "
            "After {weather} it stopped, and now it goes on.",
        ),
        Talk(
            "Poll: favourite month outside?",
            "For me it is {month}: nobody about, long shadows, and {growth}. My sister thinks I am mad.",
            poll=("Which season do you like best outside?", "Spring", "Summer", "Autumn", "Winter"),
        ),
        Talk(
            "Notes from the moth trap, {month}",
            "A sheet, a lamp, {place}, two chairs. Between dusk and midnight we counted {many} moths of "
            "{n} kinds, and {creature} looked in. No wind, {weather} the day before. Everybody was let "
            "go, including us. >!The best one sat on my own hat.!<",
        ),
        Talk(
            "The footpath behind {street} is blocked",
            "Somebody has put a fence across it. The map from {town} shows a right of way, number "
            "**{code}**. I wrote to the council {n} weeks ago. {person} simply climbs over, I am too old "
            "for that.\n\nHas anybody got such a thing reopened?",
        ),
        Talk(
            "Jam from {growth}: a warning",
            "You need {many} handfuls, twice as much sugar as you think, and a day with nothing else to "
            "do. It did not set. It did not set the second time, either. What we have now is {n} bottles "
            "of excellent syrup.",
        ),
    ),
    views=(
        View("On the wall by the gate", ("butterfly", "ladybird", "bee"), (2, 3, 4, 5), ("meadow",)),
        View("Neighbours", ("sheep", "cow", "horse", "rooster"), (2, 3, 4, 5, 6), ("meadow", "snow")),
        View("Do not eat these, I only took a picture", ("mushroom",), (2, 3, 4, 5, 6), ("forest",)),
        View("After the rain", ("snail", "hedgehog"), (1, 2, 3, 4), ("forest", "meadow"), (), others=("mushroom",)),
        View(
            "Never seen one like this before",
            ("butterfly",),
            (1, 2, 3),
            ("meadow", "forest"),
            ("blue", "yellow", "green", "purple", "white"),
        ),
    ),
    reads=(
        Read(
            "The toads of {street} get a night of their own",
            "hartwell-gazette.example",
            "Road closed, toads crossing",
            "From dusk to midnight the road belongs to them. Volunteers with buckets carried {many} "
            "across last year.\n\n{person}, who started it {n} years ago with a torch and a sign, is "
            "looking for somebody younger.",
        ),
        Read(
            "How old is a hedge? Count the bushes",
            "plainfields.example",
            "One kind of bush for every hundred years",
            "Walk thirty paces and count. {n} kinds of bush mean {n} centuries, more or less. The hedge "
            "along {place} has {growth}, hazel, and others.\n\nIt is mentioned in a deed that bears the "
            "number {code}.",
        ),
    ),
    remarks=(
        "{growth} will come back, it always does.",
        "I saw {creature} there as well, in {month}.",
        "After {weather} they are everywhere.",
        "Report it to the county recorder. They are glad of every single one.",
        "In {place} you have to look down, not up.",
        "Probably deer. They leave no thanks, either.",
        "Shut the gate! Somebody did not on {day}.",
        "My boots are older than my marriage. Grease them.",
        "The council in {town} answers letters, not e-mails.",
        "Lovely spot. Please do not say exactly where.",
        "{growth} first, then the rest follows.",
        "I would have run.",
        "Pectin. And a lemon.",
        "Owls, I should think.",
        "My children call it the dinosaur lane.",
        "We had {weather}, and everything is late this year.",
    ),
    pictured=(
        "I have never seen so many in one place.",
        "That is not {place}, is it?",
        "They were there yesterday, too.",
        "Which kind are they?",
        "I would not touch them.",
        "{month} light is the best light.",
        "You must have been lying in the grass.",
        "One of them is posing.",
    ),
    wares=("Hiking Boots", "Ankle Boots", "Running Shoes"),
)
