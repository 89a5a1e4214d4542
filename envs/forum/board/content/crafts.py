"""The board about crafts."""

from .kinds import Board, Read, Talk, View

BOARD = Board(
    name="crafts",
    title="Knitting, sewing, making",
    description="Wool, wood, paper and thread. Finished things and things that will never be finished.",
    rules=("Credit the pattern.", "No machine-made goods.", "Unravelling is nothing to be ashamed of."),
    hue=325,
    words={
        "project": ("cardigan", "quilt", "pair of mittens", "tea cosy", "wall hanging", "rag rug", "baby blanket"),
        "stuff": ("merino", "linen", "felt", "cotton", "alpaca", "old shirts"),
        "mistake": (
            "one sleeve is longer",
            "the edge curls",
            "the pattern shifts in the middle",
            "I ran out of wool",
            "it shrank",
        ),
        "craftplace": ("the library", "the café by the bridge", "the old school", "my kitchen"),
    },
    talks=(
        Talk(
            "Finished my {project} after {n} months, but {mistake}",
            "It is made of {stuff}, {many} rows in all, and I worked on it mostly on trains. Now that it "
            "is done I see nothing but the fault. {person} says nobody will notice.\n\nDo I start again, "
            "or do I call it a design?",
        ),
        Talk(
            "Knitting night at {craftplace}, every {day}",
            "We start at {hour} and stop when somebody's partner calls. Beginners get needles and "
            "{stuff} for free. Last week we were {many}. The door sticks: push, do not pull. The shelf "
            "with our things has the label **{code}**, please put everything back there.\n\n{person} "
            "brings biscuits.",
        ),
        Talk(
            "How much wool for a {project}?",
            "The pattern says {n} balls, the shop says twice that, and I trust neither. It is {stuff}, "
            "fairly thick. I am tall and I do not want to run out again, as in {month}, when the shop in "
            "{town} had nothing left in that dye lot.",
        ),
        Talk(
            "New in my craft drawer",
            "It was full before, I know. But the **{ware}** from Larkspur Market was only {price}, and I "
            "had a long week. Somebody in the group has the **{ware_b}** ({price_b}) and has not put it "
            "down since {month}.\n\nWhat was your last weakness? Mine, before this one, was {n} kilos of "
            "{stuff}.",
        ),
        Talk(
            "Poll: how many unfinished things do you have?",
            "I found {n} bags in the cupboard this morning, one of them from before we moved to {town}. "
            "I would like to feel less alone.",
            poll=("How many unfinished things do you have?", "None", "One to three", "Up to ten", "I stopped counting"),
        ),
        Talk(
            "Dyeing with onion skins, what to expect",
            "You need {many} g of skins for 100 g of {stuff}, an old pot and an open window. One hour "
            "gives yellow, two give orange. With a rusty nail in the pot it turns olive. Wash with "
            "vinegar.\n\nThe pot is never good for soup again. >!Ask me how I know.!<",
        ),
        Talk(
            "A {project} for somebody who says they need nothing",
            "My grandfather turns {many} on {day} and has asked for nothing, as every year. He likes "
            "plain things, {stuff}, and to be left in peace. I have {n} evenings.\n\nIdeas, please, that "
            "are not socks. He has socks.",
        ),
        Talk(
            "Swap: {stuff} for buttons",
            "I have about {n} kilos of {stuff} from my aunt's house, in good order and free of moths. I "
            "am looking for old buttons, wood or horn, any size. I can bring it to {craftplace} in "
            "{town} on {day}.",
        ),
    ),
    views=(
        View(
            "The new wool has come",
            ("yarn",),
            (2, 3, 4, 5, 6),
            ("shelf", "table"),
            ("red", "green", "purple", "yellow", "pink", "orange"),
        ),
        View(
            "One for each cousin",
            ("scarf", "socks"),
            (2, 3, 4, 5),
            ("table", "shelf"),
            ("blue", "green", "purple", "orange", "yellow"),
        ),
        View("All made from leftovers", ("teddy",), (2, 3, 4, 5, 6), ("shelf", "room")),
        View("My side of the craft table", ("spool", "yarn"), (1, 2, 3), ("table",), others=("mug", "books")),
        View("Weekend project, done", ("scarf", "teddy", "socks", "puzzle"), (1, 2), ("table", "room"), ()),
    ),
    reads=(
        Read(
            "The last button maker of {town}",
            "hartwell-gazette.example",
            "Four holes, no thread: a visit to the button works",
            "There were {many} of them once; now {person} works alone, with a lathe from another "
            "century. A good day gives {n} hundred buttons.\n\nThe pattern books are kept in a locked "
            "cupboard, number {code}. Nobody has asked for them in years.",
        ),
        Read(
            "Does knitting help you to think?",
            "smallscience.example",
            "Needles in the lecture hall",
            "Students who knitted remembered about as much as those who took notes, and more than those "
            "who had a telephone in front of them.\n\nThe study had {many} participants, and {n} scarves "
            "came out of it.",
        ),
    ),
    remarks=(
        "Call it a design. I always do.",
        "Block it first, then decide.",
        "{mistake}? Welcome to the club.",
        "For a {project} I would take two balls more than you think.",
        "{stuff} stretches, so it may solve itself.",
        "Unravel. You will thank yourself in a year.",
        "Nobody looks at sleeves.",
        "Good scissors, one pair, hidden from everybody.",
        "I learned it at {craftplace}. Lovely people.",
        "A {project} is never too small, only the person too large.",
        "Wash it cold and pray.",
        "Use a lifeline every {n} rows.",
        "Wood for slow days, metal for fast ones.",
        "I made the same with {stuff} and it lasted eleven winters.",
        "My cat unravelled mine. True story.",
        "Count twice, knit once.",
    ),
    pictured=(
        "What pattern is that?",
        "The colour is a dream.",
        "Did you use {stuff}?",
        "All in one weekend? How?",
        "So neat. Show us the back!",
        "I would buy the whole lot.",
        "Mine never match like that.",
        "One of these would be enough for me.",
    ),
    wares=("Scissors", "Yarn", "Paintbrush", "Fountain Pen", "Notebook"),
)
