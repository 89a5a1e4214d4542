"""The board about kitchen gardens."""

from .kinds import Board, Read, Talk, View

BOARD = Board(
    name="gardening",
    title="Kitchen gardens and balconies",
    description="Beds, pots and window sills: what grows, what does not, and why.",
    rules=("Say where you garden and what the soil is like.", "No selling of plants.", "Every question is allowed."),
    hue=122,
    words={
        "plant": ("tomatoes", "courgettes", "beans", "radishes", "strawberries", "potatoes", "lettuces", "peas"),
        "herb": ("basil", "mint", "thyme", "coriander", "sage", "dill", "parsley"),
        "pest": ("slugs", "aphids", "pigeons", "ants", "caterpillars", "blackbirds"),
        "soil": ("heavy clay", "sandy soil", "old compost", "peat-free compost", "chalk"),
        "spot": ("the south wall", "the balcony", "the greenhouse", "the raised bed", "the back door"),
        "weather": ("the first hail", "a week of rain", "the heat in May", "two frosts"),
    },
    talks=(
        Talk(
            "My {plant} stopped growing in {month}. What am I doing wrong?",
            "I sowed {many} seeds in {soil} and about half came up. They were doing well next to {spot} "
            "until two weeks ago, and since then nothing has happened at all. The leaves are green, "
            "there are no {pest}, and I water every {day}.\n\nIs it the soil, the water, or should I just "
            "wait?",
        ),
        Talk(
            "How I keep {pest} away without any chemicals",
            "Three things worked for me after years of trying:\n\n- a strip of sheep's wool around the "
            "bed,\n- watering in the morning and never in the evening,\n- a row of {herb} between the "
            "{plant}.\n\nThe wool has to be replaced every {n} weeks. It costs next to nothing, and this "
            "year I lost only {n} plants.",
        ),
        Talk(
            "Seed swap in {town}: who is coming?",
            "The seed swap is on {day} at {hour}, in the hall behind the church on {street}. Bring seeds "
            "in labelled envelopes; tables are free, but you need the number of your table: **{code}** "
            "is the one for this board. {person} has the key and brings tea.\n\nI will bring {plant} and "
            "far too much {herb}.",
        ),
        Talk(
            "First year with a raised bed, lessons learned",
            "It is {n} metres long and filled with {soil}. What I would do again: cardboard at the "
            "bottom, a lid for the cold nights, and only one kind of {plant}. What I would not do again: "
            "put it near {spot}, where it dries out in a day.\n\nTotal cost was about ${money}, most of it "
            "for the wood.",
        ),
        Talk(
            "Poll: what do you grow from seed every year?",
            "I am planning next year's sowing table and wonder what other people never go without. I "
            "have room for {n} trays on the window sill. Please vote below and tell me the variety.",
            poll=("What do you always grow from seed?", "Tomatoes", "Beans", "Salad", "Flowers only"),
        ),
        Talk(
            "Can {herb} live through winter on a balcony?",
            "Mine is in a clay pot on {spot}, wrapped in an old blanket. In {town} it goes down to minus "
            "{n} degrees at night. Last year I lost everything in one night in {month}. Inside it is too "
            "dark and too warm.\n\nIs there a trick, or is it simply a plant for one summer?",
        ),
        Talk(
            "Small luxuries for {spot}",
            "After {n} years of jam jars I allowed myself something nice and ordered the **{ware}** from "
            "Larkspur Market. It was {price}, looks good next to the {plant}, and survived {weather}.\n\n"
            "They have the **{ware_b}** for {price_b} as well. I put it on my list for {month}, if the "
            "{pest} leave me anything to celebrate.",
        ),
        Talk(
            "A list for the lazy: ten minutes a day is enough",
            "1. Walk around once with a cup of tea.\n2. Pull what you do not know.\n3. Tie up what is "
            "falling over.\n4. Water what hangs its leaves.\n5. Stop.\n\nI did this every day from {month} "
            "on and had more {plant} than we could eat. >!The secret is that I only have {n} pots.!<",
        ),
    ),
    views=(
        View("This morning's harvest", ("tomato", "carrot", "aubergine", "strawberry"), (4, 5, 6, 7), ("table",)),
        View(
            "They are finally in flower",
            ("tulip", "hibiscus"),
            (3, 4, 5, 6),
            ("meadow",),
            ("red", "yellow", "purple", "pink", "white"),
        ),
        View("Guess what came up next to the compost", ("mushroom", "sunflower"), (2, 3, 4), ("meadow", "forest")),
        View(
            "Two kinds from the same bed",
            ("carrot", "aubergine"),
            (2, 3, 4),
            ("table",),
            others=("tomato", "strawberry", "pepper"),
        ),
        View(
            "Visitors on the salad last night",
            ("snail", "ladybird"),
            (2, 3, 4, 5),
            ("meadow",),
            body="I let them stay. For now.",
        ),
    ),
    reads=(
        Read(
            "The {town} allotments are ninety years old this week",
            "hartwell-gazette.example",
            "Ninety years of beans: the allotments on {street}",
            "When the first {many} plots were laid out, each had to keep a rabbit hutch. Today nobody "
            "remembers why.\n\nThe waiting list is {n} years long. {person}, who has held plot {code} "
            'since childhood, thinks that is short. "My aunt waited longer for a telephone."\n\nOn {day} '
            "the gates are open to everybody, from {hour} on, and there will be soup.",
        ),
        Read(
            "Why earthworms like coffee grounds",
            "smallscience.example",
            "A spoonful is plenty: coffee and the earthworm",
            "Researchers fed {many} boxes of worms with different kitchen scraps. Coffee grounds came "
            "second, after melon. But more is not better: above a spoonful per box and week the worms "
            'moved away.\n\n"We did not expect a clear answer," says {person}, who led the work, "and we '
            'did not expect melon."',
        ),
    ),
    remarks=(
        "With {soil} I would add sand, a lot of it.",
        "Mine always sulk for two weeks and then explode. Wait.",
        "Have you checked for {pest} at night, with a torch?",
        "Too much water. It is nearly always too much water.",
        "Put {herb} between them. It cannot hurt and you can eat it.",
        "I would move them away from {spot}.",
        "{plant} hate me, so take this with care: less sun, more wind.",
        "Cut them back by a third and do not look for a week.",
        "In {town} nothing grows before the middle of May, whatever the packet says.",
        "I had the same with {plant}, and it was the tap water.",
        "Old newspapers under the soil, thank me later.",
        "Try eggshells against {pest}. They do not work, but you will feel better.",
        "My {herb} lives in a bucket and is happy.",
        "It is the nights. Anything below eight degrees and they stop.",
        "A cold frame made of an old window, best thing I ever built.",
        "I gave up on {plant} and have been a happier person since.",
    ),
    pictured=(
        "They look better than anything in the shop.",
        "Straight from {spot}?",
        "My {plant} are a month behind yours.",
        "What did you feed them with?",
        "I would not dare to pick them.",
        "No {pest} at all? I am jealous.",
        "You must have better soil than our {soil}.",
        "That is dinner for the whole street.",
    ),
    wares=("Bucket", "Vase", "Lantern", "Picnic Basket", "Cactus", "Candles"),
)
