"""The board about slow travel."""

from .kinds import Board, Read, Talk, View

BOARD = Board(
    name="slowtravel",
    title="Slow travel",
    description="By train, by boat, on foot. The way is the holiday.",
    rules=("No flights.", "Timetables change, say when you went.", "Share the dull days, too."),
    hue=190,
    words={
        "vehicle": ("night train", "ferry", "branch line", "post bus", "rack railway"),
        "lodging": ("a guest house", "the youth hostel", "a lighthouse", "a monastery", "a tent"),
        "forgot": ("a towel", "my good shoes", "the tickets", "a spoon", "any kind of plan"),
        "viewpoint": ("the viaduct", "the old harbour", "the pass", "the salt marsh", "the bell tower"),
    },
    talks=(
        Talk(
            "From {town} to the sea by {vehicle}, {n} changes",
            "We left on {day} at {hour} and arrived the next morning. The seats on the left have the "
            "view of {viewpoint}. There is no food on board after {town}, so bring your own. We slept in "
            "{lodging} and paid ${money} for two.\n\nThe only thing I forgot was {forgot}.",
        ),
        Talk(
            "Is {n} minutes enough to change at {town}?",
            "The railway says yes. My mother says no. I have a suitcase, a folding bike and a child who "
            "reads every sign. The platform is the one behind {street}, I think, and the {vehicle} after "
            "that only goes on {day}.\n\nHas anybody done it?",
        ),
        Talk(
            "Hut on the ridge: how to get the key",
            "It is not in any guide. You write to {person}, who lives on {street} and answers by "
            "postcard. The key box is behind the water barrel and opens with **{code}**. There are {n} "
            "beds, a stove, and a book with guests since before the war.\n\nLeave more wood than you find, "
            "and be down before {hour}.",
        ),
        Talk(
            "Packing list for {n} days with hand luggage",
            "1. Two of everything you wear.\n2. One of everything you read.\n3. A cup.\n4. String.\n\nI carry "
            "it all in the **{ware}** from Larkspur Market ({price}). I also had the **{ware_b}**, "
            "{price_b}, but it was too big for the {vehicle}.\n\nThis time I forgot {forgot}. It was fine.",
        ),
        Talk(
            "Poll: window or aisle?",
            "Fifteen hours on the {vehicle}, and my friend {person} wants to sit by the window for all of them.",
            poll=("Where do you sit?", "Window", "Aisle", "Dining car", "Standing, by the door"),
        ),
        Talk(
            "What I would skip in {town}, and what not",
            "Skip: the museum of spoons, the queue at {viewpoint} after {hour}. Do not skip: the bakery "
            "on {street}, the guest house with the green door, room {many}. They keep it for people who "
            "ask. In {month} you have the place to yourself.",
        ),
        Talk(
            "Walking home from a holiday",
            "The idea was {person}'s. We took the {vehicle} out and walked back, {many} kilometres in "
            "{n} days. Two blisters, one adder, no rain. From {viewpoint} we could see our own roof. "
            ">!We took a taxi for the last mile.!<",
        ),
        Talk(
            "Quiet place by the water in {month}?",
            "Two adults, one old dog, no car. We like {lodging} more than hotels and need nothing but a "
            "bench. Budget is ${money} a night. It should be reachable by {vehicle} from {town} within "
            "{n} hours.",
        ),
    ),
    views=(
        View(
            "Our camp for the week",
            ("tent",),
            (1, 2, 3, 4),
            ("meadow", "beach", "lake", "snow"),
            ("red", "blue", "orange", "green", "purple"),
        ),
        View("Waiting for the connection", ("locomotive", "tram", "bus"), (1, 2, 3), ("street", "meadow", "snow")),
        View("Out on the water all day", ("sailboat", "canoe"), (1, 2, 3, 4, 5), ("lake",)),
        View("What the tide left us", ("shell", "crab"), (3, 4, 5, 6, 7), ("beach",)),
        View("From the train window", ("sheep", "cow", "horse"), (3, 4, 5, 6), ("meadow", "snow")),
    ),
    reads=(
        Read(
            "A new {vehicle} to {town} from {month} on",
            "slowroads.example",
            "Once a day, and only if asked: the new line to {town}",
            "Those who want to get off have to tell the driver. The trip takes {n} hours and stops at "
            "{many} places, most of which are a bench.\n\nA ticket costs ${money}. The first one, number "
            "{code}, was bought by {person}, aged ninety.",
        ),
        Read(
            "The waiting room that became a library",
            "hartwell-gazette.example",
            "Take one, leave one, mind the gap",
            "There are {many} hundred books in the waiting room at {town} now. Trains are missed because "
            "of them, says {person}, who looks after the shelves.\n\nThe oldest is a timetable.",
        ),
    ),
    remarks=(
        "{n} minutes are enough if you know the back stairs.",
        "The {vehicle} is always late on {day}, so you will catch it.",
        "I stayed in {lodging} there. The breakfast alone was worth it.",
        "From {viewpoint} it is only an hour on foot.",
        "Bring cash, nobody takes cards in {town}.",
        "We forgot {forgot} as well and bought it from a farmer.",
        "Seat reservations are worth it in {month}.",
        "Sit on the right, the left has the sun.",
        "The buffet closes early, I learned that the hard way.",
        "Go in {month}, when the others have left.",
        "Ask for {person} at the station, really.",
        "Two nights are too short, three are too long.",
        "Always take string. Always.",
        "The timetable changed last {month}, check again.",
        "{viewpoint} at sunrise. Trust me.",
        "I would walk it.",
    ),
    pictured=(
        "How many of you were there?",
        "I would have stayed a week.",
        "Was it as quiet as it looks?",
        "Please tell me where that is.",
        "That is better than {viewpoint}.",
        "We came past there by {vehicle}!",
        "The weather was on your side.",
        "I can hear it from here.",
    ),
    wares=("Backpack", "Suitcase", "Handbag", "Umbrella", "Briefcase"),
)
