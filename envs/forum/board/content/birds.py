"""The board about birds."""

from .kinds import Board, Read, Talk, View

BOARD = Board(
    name="birds",
    title="Birds, seen and heard",
    description="Sightings, songs, nest boxes, and help with names.",
    rules=("No locations of nests.", "Say when and roughly where.", "Blurred pictures are welcome."),
    hue=205,
    words={
        "bird": ("a kingfisher", "a nuthatch", "a barn owl", "a goldcrest", "a heron", "a woodpecker", "a nightingale"),
        "food": ("sunflower hearts", "mealworms", "peanuts", "suet", "oats", "apple halves"),
        "water": ("the reservoir", "the mill pond", "the canal", "the marsh", "the harbour"),
        "gear": ("old binoculars", "a borrowed scope", "my phone", "a flask of tea"),
    },
    talks=(
        Talk(
            "Finally saw {bird} at {water}",
            "I have been going there every {day} since {month}, always with {gear}, and never saw more "
            "than ducks. Today at {hour} it sat {n} metres in front of me for a good minute, looked at "
            "me, and left.\n\nThat is number {many} on my list for this year.",
        ),
        Talk(
            "Which food for the small ones?",
            "I put out {food} and all I get is pigeons. There are {n} of them now and they look at me "
            "through the window. The tits come, see the pigeons and leave. A neighbour says I should "
            "change to something else and hang it higher.\n\nWhat do you use, and how high?",
        ),
        Talk(
            "Dawn walk in {town}, everybody welcome",
            "We meet on {day} at the car park by {water}, half an hour before sunrise. {person} leads "
            "the walk and knows every song. Dogs have to stay at home. If the gate is shut, the code for "
            "the lock is **{code}**; please close it behind you.\n\nLast time we heard {many} kinds.",
        ),
        Talk(
            "Nest box: which way should the hole face?",
            "The book says north-east. The man in the shop says it does not matter. My box has faced "
            "south for {n} years and nobody has ever moved in, apart from a wasp. It hangs about three "
            "metres up on an old pear tree.\n\nBefore I climb up again: what is it?",
        ),
        Talk(
            "Poll: do you keep a list?",
            "My partner finds it silly, I find it calming. I write down date, place and weather, and at "
            "the end of the year I have {many} lines and a cold. How about you?",
            poll=(
                "Do you keep a list of what you see?",
                "Yes, on paper",
                "Yes, on the phone",
                "Only rare ones",
                "Never",
            ),
        ),
        Talk(
            "The song I could not name for {n} years",
            "It starts with two long notes, then something like a squeaky wheel, and it ends in the "
            "middle. I hummed it to everybody. Last week {person} laughed and said: >!it is a starling "
            "that has learned my neighbour's gate.!<",
        ),
        Talk(
            "What do you carry besides binoculars?",
            "My back says that one thing has to stay at home. I walk about {many} kilometres a week "
            "along {water} with {gear}. New in the bag is the **{ware}** from Larkspur Market, {price}, "
            "and I have used it every day since.\n\nThe **{ware_b}** ({price_b}) stays at home from now "
            "on. What is in your bag?",
        ),
        Talk(
            "Numbers from our garden count",
            "One hour, from the kitchen, on {day}: {n} blackbirds, {many} sparrows, and {bird} that "
            "stayed for the whole hour. No starlings this time. The count closes at the end of {month}, "
            "so send yours in.",
        ),
    ),
    views=(
        View("A quiet hour by the water", ("duck", "swan", "flamingo"), (2, 3, 4, 5), ("lake",)),
        View("They were waiting for me after work", ("owl", "parrot"), (2, 3, 4), ("forest", "night")),
        View("Somebody's garden had guests", ("peacock", "rooster"), (1, 2, 3), ("meadow", "snow")),
        View("Mixed company", ("duck", "swan"), (2, 3, 4), ("lake",), others=("flamingo",)),
        View("The loudest one on our street", ("rooster", "parrot", "owl"), (1,), ("street", "meadow", "room")),
    ),
    reads=(
        Read(
            "Swifts are back in {town}, two days early",
            "weatherandwing.example",
            "Early by two days: the swifts of {street}",
            "On {day} at {hour} the first {n} swifts flew over {street}. In {many} years of notes they "
            "were earlier only once.\n\nThe old brewery, where most of them nest, is being rebuilt. "
            "{person} of the parish council promises that the holes under the roof stay open.",
        ),
        Read(
            "Town hall falcons now have names",
            "hartwell-gazette.example",
            "Flour and Biscuit: the falcons of the town hall",
            "More than {many} hundred people voted. The two young falcons on the tower are now called "
            "Flour and Biscuit, after a close race with Salt and Pepper.\n\nThe camera on the tower runs "
            "day and night, and the ring of the older one reads {code}.",
        ),
    ),
    remarks=(
        "Sunflower hearts and nothing else, and the pigeons find them boring.",
        "I have never seen {bird} in my life.",
        "Try {food}, high up, with a dish below for the rest.",
        "East is fine, north is fine, south cooks them.",
        "Was it singing? That would make it easy.",
        "At {water} you have to be there before seven.",
        "With {gear} I would not have seen it at all.",
        "Juveniles in {month} look like nothing on earth, do not worry.",
        "There is a recording of it online that I fall asleep to.",
        "It took us {n} winters until anybody moved into the box.",
        "{person} keeps the records for {town}; send it there.",
        "Do not feed {food} in spring.",
        "I hear it every morning and have never seen it.",
        "I saw {bird} once, on the roof of a supermarket.",
        "Cats. It is always the cats.",
        "A list is just a diary for people who cannot write.",
    ),
    pictured=(
        "They look like they own the place.",
        "Beautiful. How close were you?",
        "I have only ever seen them at {water}.",
        "Did they mind you?",
        "One of them is looking right at you.",
        "Better than {bird}, and I mean it.",
        "It must have been very early.",
        "What did you give them, {food}?",
    ),
    wares=("Camera", "Compass", "Wrist Watch", "Lantern", "Umbrella"),
)
