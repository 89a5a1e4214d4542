"""The board about cooking."""

from .kinds import Board, Read, Talk, View

BOARD = Board(
    name="cooking",
    title="Home cooking",
    description="What is on the table tonight, how it was made, and what went wrong.",
    rules=("Recipes in the post, not behind a link.", "Grams, please.", "Failures are as welcome as triumphs."),
    hue=12,
    words={
        "dish": (
            "leek soup",
            "plum dumplings",
            "lentil stew",
            "apple pie",
            "potato pancakes",
            "fish pie",
            "mushroom risotto",
        ),
        "trick": (
            "a spoon of vinegar",
            "a pinch of sugar",
            "cold butter",
            "one more egg",
            "the water from the pasta",
            "burnt onion",
        ),
        "meal": ("Sunday lunch", "a quick supper", "breakfast", "a birthday", "a picnic"),
        "tool": ("cast-iron pan", "wooden spoon", "pressure cooker", "rolling pin", "grater"),
    },
    talks=(
        Talk(
            "My {dish} for {meal}, written down at last",
            "For {n} people:\n\n- {many} g of butter\n- {n} large onions\n- a handful of patience\n\n"
            "Everything goes into the largest pot, lid on, for as long as it takes to read the paper. At the "
            "end, {trick}. Do not leave it out.\n\n{person} next door made it every {day} and never told "
            "anybody about that last step.",
        ),
        Talk(
            "Why does my {dish} taste of nothing?",
            "I follow the recipe to the gram. I salt early. I use the {tool} my mother left me. It looks "
            "right, it smells right, and then it tastes like warm water. Someone suggested {trick}, "
            "which made it worse.\n\nWhat am I missing?",
        ),
        Talk(
            "Cooking evening in {town}, {n} places left",
            "We cook together on {day} in the school kitchen on {street}, start is at {hour}. This time: "
            "{dish}. It is ${money} per person with everything. Please bring an apron and a {tool}.\n\n"
            "{person} opens the back door; say that you are there for **{code}**, otherwise you end up "
            "in the choir practice.",
        ),
        Talk(
            "Kitchen shopping: which of these lasts?",
            "I have worn out my third one and want something for life. At Larkspur Market there is the "
            "**{ware}** for {price}, and the **{ware_b}** for {price_b}. I mostly make {dish} and eggs, "
            "about {n} times a week.\n\nWhich one would you buy first, or do you only pay for the name?",
        ),
        Talk(
            "Poll: salt in the water, yes or no?",
            "We had a fight about this in our kitchen and need {many} strangers to decide. It is about "
            "potatoes, not pasta.",
            poll=("Do you salt the water for potatoes?", "Always", "Only at the end", "Never", "I steam them"),
        ),
        Talk(
            "What I learned from cooking {dish} {n} days in a row",
            "It was meant as a joke. By the third day it was better, by the last one it was good. What "
            "changed: lower heat, a larger {tool}, and {trick}.\n\nMy family has asked me not to do it "
            "again before {month}.",
        ),
        Talk(
            "Sourdough for people who forget things",
            "My starter is called {person} and has survived {n} weeks in the back of the fridge. Feed it "
            "on {day}, leave it out over night, bake the next day. If it smells of paint, it is hungry. "
            "If it smells of nothing, it is asleep. >!If it is orange, throw it away.!<",
        ),
        Talk(
            "Recipe wanted: {dish} like in {town}",
            "There was a small place on {street} where they served it with something crisp on top. It "
            'closed in {month}. I have asked the owner\'s sister, who only smiled and said "{trick}".\n\n'
            "Does anybody here know what the crisp thing was?",
        ),
    ),
    views=(
        View("Baked today", ("croissant", "pretzel", "bagel", "pie"), (3, 4, 5, 6), ("table",)),
        View(
            "For the school fair", ("cupcake",), (4, 5, 6, 7), ("table",), ("pink", "blue", "yellow", "green", "purple")
        ),
        View(
            "Sunday breakfast got out of hand",
            ("pancakes", "croissant"),
            (2, 3, 4),
            ("table",),
            others=("mug", "bagel"),
        ),
        View("My first try, be kind", ("pizza", "dumpling", "pie"), (1, 2, 3, 5), ("table",)),
        View("Market day", ("pepper", "aubergine", "tomato", "carrot"), (3, 5, 6), ("table", "shelf")),
    ),
    reads=(
        Read(
            "A bakery that opens at midnight",
            "hartwell-gazette.example",
            "Bread for the night shift",
            "The bakery on {street} opens when the others close. By {hour} the {many} loaves are gone.\n\n"
            "{person} began with one oven and a {tool}. The best seller is not bread at all but {dish}, "
            "sold by the slice to taxi drivers.",
        ),
        Read(
            "How hot is your oven really?",
            "smallscience.example",
            "We measured {many} ovens, and none was right",
            "On average they were {n} degrees too cold, and the worst was off by far more. A loose door "
            'matters more than age.\n\n{person} advises to buy a thermometer and to believe it. "People '
            'would rather change the recipe."',
        ),
    ),
    remarks=(
        "{trick}, always. You will not taste it, but you will miss it.",
        "I make {dish} the same way, only with less butter.",
        "It needs acid. Everything needs acid.",
        "The {tool} has to be hot before anything goes in.",
        "Let it stand overnight and try again.",
        "My mother would have thrown this at me, and asked for seconds.",
        "Double the garlic. Then double it again.",
        "Onions take forty minutes. Anyone who says ten is lying.",
        "For {meal} I would make it a day ahead.",
        "Did you rinse it? People forget to rinse it.",
        "You do not need a {tool} for that, a fork will do.",
        "I tried it with {trick}: wonderful.",
        "It freezes well, by the way.",
        "Buy cheap knives and sharpen them, buy dear pans and keep them.",
        "In {town} they put cheese on top. Do not ask me why.",
        "Half the oven, twice the time.",
    ),
    pictured=(
        "I can smell it from here.",
        "Save one for me.",
        "How did you get them all the same size?",
        "That is my kind of {meal}.",
        "Recipe, please!",
        "Gone in five minutes in our house.",
        "You used {trick}, did you not?",
        "The crust! Look at it.",
    ),
    wares=("Frying Pan", "Kitchen Knife", "Mixing Bowl", "Teapot", "Storage Jar", "Kitchen Timer"),
)
