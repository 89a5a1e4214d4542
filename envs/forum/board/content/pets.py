"""The board about animals at home."""

from .kinds import Board, Read, Talk, View

BOARD = Board(
    name="pets",
    title="Animals at home",
    description="Cats, dogs, rabbits, fish, and whoever else lives with you.",
    rules=("No breeding adverts.", "For emergencies call a vet, not us.", "Names are mandatory."),
    hue=28,
    words={
        "pet": ("cat", "dog", "rabbit", "tortoise", "guinea pig"),
        "petname": (
            "Biscuit",
            "Pickle",
            "Hector",
            "Mabel",
            "Noodle",
            "Agatha",
            "Pudding",
            "Sir Hops",
            "Clementine",
            "Turnip",
        ),
        "mischief": (
            "eats my socks",
            "sleeps in the sink",
            "barks at the kettle",
            "steals butter",
            "opens doors",
            "hides my keys",
        ),
        "toy": ("a cork", "a paper bag", "an old sock", "a cardboard box", "a wooden spoon"),
    },
    talks=(
        Talk(
            "My {pet} {mischief}. Is that normal?",
            "{petname} came to us in {month} and was an angel for exactly {n} days. Now it is every "
            "night at the same time. We tried distraction with {toy}, we tried ignoring it, we tried "
            "shouting. The vet says the {pet} is healthy and that we should be patient.\n\nHow patient?",
        ),
        Talk(
            "{petname} is missing around {street} in {town}",
            "Our {pet} {petname} got out on {day} at about {hour}. Shy, chipped, answers to the sound of "
            "a tin. The number on the collar is **{code}**. Please look in sheds and under cars, and do "
            "not run after the {pet}.\n\n*Update:* found, in our own laundry basket. Thank you all, and "
            "sorry.",
        ),
        Talk(
            "Moving house with a {pet}: what helped us",
            "1. Pack the {pet}'s things last and unpack them first.\n2. Keep one room shut for {n} days.\n"
            "3. Leave {toy} from the old house in the new one.\n4. Do not wash the blanket.\n\nIt took "
            "{petname} a week to come out and ten minutes to take over the whole house.",
        ),
        Talk(
            "How much does your {pet} cost you in a month?",
            "I wrote it all down for {month}: food ${money}, hay or sand ${n}, one visit to the vet that "
            "I would rather forget. Toys: nothing, because {petname} prefers {toy}.\n\nAm I spending too "
            "much?",
        ),
        Talk(
            "Poll: where does yours sleep?",
            "Officially {petname} has a basket for ${money}. It has been used once, by a visiting child. Be honest.",
            poll=(
                "Where does your animal sleep?",
                "In my bed",
                "In its own basket",
                "On the sofa",
                "Wherever it likes",
            ),
        ),
        Talk(
            "Sitter wanted for {n} days in {month}",
            "We are away from {day} on, and {petname} cannot come along. The {pet} needs food twice a "
            "day and somebody to talk to. The spare key hangs behind the blue pot, house number {many} "
            "on {street}. We pay with cake.\n\nWrite to me here if you could imagine it.",
        ),
        Talk(
            "The place where {petname} actually sleeps",
            "After three baskets I gave up. We had bought the **{ware}** for ourselves at Larkspur "
            "Market ({price}), and it took {petname} {n} minutes to claim it. We now look at it from the "
            "floor.\n\nIf you want to keep something for yourself, get the **{ware_b}** as well; for "
            "{price_b} it does not hurt as much.",
        ),
        Talk(
            "Old {pet}, new tricks",
            "{petname} is {n} and everybody said it was too late. We started with {toy} and a tiny bit "
            "of cheese, five minutes each morning. Yesterday the {pet} rang the bell at the back door "
            "for the first time. >!Then rang it again {many} times in an hour.!<",
        ),
    ),
    views=(
        View("Family portrait", ("cat", "dog", "rabbit", "poodle"), (2, 3, 4), ("room", "meadow")),
        View(
            "New arrivals in the tank",
            ("fish",),
            (3, 4, 5, 6, 7),
            ("aquarium",),
            ("orange", "red", "green", "purple", "yellow"),
        ),
        View(
            "They get along better than expected",
            ("dog", "poodle"),
            (1, 2, 3),
            ("room", "beach"),
            others=("cat", "rabbit"),
        ),
        View("Found in the garden this morning", ("hedgehog", "turtle"), (1, 2, 3), ("meadow", "forest")),
        View("First time outside", ("rabbit", "cat", "dog"), (1, 2, 3), ("snow", "beach", "meadow")),
    ),
    reads=(
        Read(
            "The library cat of {town} has retired",
            "hartwell-gazette.example",
            "After {n} years, the library's night shift goes home",
            "{petname}, who kept the reading room free of mice and the chairs full of hair, has moved in "
            "with the librarian {person}. There was a small ceremony on {day} with {many} guests and a "
            "sardine.\n\nA successor has not been named.",
        ),
        Read(
            "Tortoise crosses town in four days",
            "slowroads.example",
            "Four days from {street} to the river",
            "The tortoise had a number painted on its shell, {code}, which made it easy to find the "
            'owner. Nobody had noticed it was gone.\n\n"It must have crossed the main road," says '
            '{person}. "We think it used the crossing."',
        ),
    ),
    remarks=(
        "Ours {mischief} as well. You get used to it.",
        "How old is {petname}? Ours calmed down at four.",
        "Give {petname} {toy} and close the door.",
        "That is not a {pet}, that is a flatmate.",
        "A second one would help. Or make it twice as bad.",
        "Vet here: normal. Annoying, but normal.",
        "Feed later in the evening, that solved it for us.",
        "{petname} is the best name I have read all week.",
        "We had a {pet} like that. I miss every minute.",
        "Try it with a bell on the collar.",
        "Never give in. Not even once.",
        "Ours prefers {toy} to anything from a shop, too.",
        "In {town} there is a group that helps with shy ones.",
        "Write it down, you will laugh about it one day.",
        "Keep the blanket, whatever you do.",
        "I would check the teeth.",
    ),
    pictured=(
        "Which one is {petname}?",
        "They look very pleased with themselves.",
        "I would like to be one of them.",
        "Give all of them a treat from me.",
        "Mine would never sit still for that.",
        "They are plotting something.",
        "The one on the left has my grandfather's face.",
        "Please say you kept them.",
    ),
    wares=("Chair", "Sofa", "Picnic Basket", "Mixing Bowl", "Scarf"),
)
