"""The board about cycling."""

from .kinds import Board, Read, Talk, View

BOARD = Board(
    name="bikes",
    title="Everyday cycling",
    description="To work, to the shops, and the long way home.",
    rules=("Lights on.", "No racing results.", "Helmet debates belong in the helmet thread."),
    hue=45,
    words={
        "bikepart": ("chain", "saddle", "dynamo", "back wheel", "bell", "mudguard", "brake cable"),
        "bikeload": ("a cello", "two children", "a week's shopping", "a bookshelf", "a wedding cake", "the dog"),
        "surface": ("cobbles", "gravel", "wet leaves", "tram tracks", "ice"),
        "bikenoise": ("clicks", "squeaks", "rattles", "hums", "clunks"),
    },
    talks=(
        Talk(
            "My {bikepart} {bikenoise}, but only on {surface}",
            "New in {month}, {many} hundred kilometres since. At home on the stand it is silent. I "
            "tightened everything I could reach and even asked the shop in {town}, where it did not make "
            "a sound, of course.\n\nAny ideas before I lose my mind?",
        ),
        Talk(
            "How I carried {bikeload} across {town}",
            "It took {n} straps, one borrowed trailer and a friend behind me who shouted whenever "
            "something moved. The hill on {street} we walked. Total: {many} minutes, which is faster "
            "than the bus.\n\nWould I do it again? I already have, on {day}.",
        ),
        Talk(
            "Slow ride on {day}: route and meeting point",
            "We start at {hour} at the fountain on {street} and take the old railway line to the lake, "
            "about {many} kilometres, flat. Nobody is left behind. The rest stop is the kiosk at "
            "kilometre **{n}**, where {person} has ordered soup for all; say the word **{code}** and it "
            "is paid.\n\nRain cancels it, drizzle does not.",
        ),
        Talk(
            "Cheap winter gear that really kept me warm",
            "{n} winters of trying. What stayed: wool under everything, a proper pair of gloves, and the "
            "**{ware}** from Larkspur Market, which is {price} and was not even meant for cycling. What "
            "went: everything with the word *technical* on it.\n\nThe **{ware_b}** is on my list for next "
            "year ({price_b}).",
        ),
        Talk(
            "Poll: what do you do when it rains?",
            "It is {hour}, I have to leave in ten minutes, and it is coming down in buckets. The bus is "
            "never on time on {day}.",
            poll=("What do you do when it rains?", "Ride anyway", "Wait", "Take the bus", "Work from home"),
        ),
        Talk(
            "Stolen on {street} last night",
            "Locked with {n} locks, gone at {hour}. It is an old town bike with a dented {bikepart}, and "
            "the number under the frame is **{code}**. Please keep an eye on the adverts around {town}.\n\n"
            "I do not need it to be pretty, I just need it back.",
        ),
        Talk(
            "A hundred days without the car",
            "I started on a {day} in {month} and wrote down every trip: {many} times to work, {n} times "
            "to the tip, once with {bikeload}. I saved about ${money} and have calves now. The worst was "
            "{surface}.\n\n>!I drove once. It was raining sideways.!<",
        ),
        Talk(
            "Which lock for a bike that nobody would steal?",
            "It is older than I am and the {bikepart} {bikenoise}. Still, I would be sad. I do not want "
            "to carry {n} kilos of steel around {town} for a bike that is worth ${money}.",
        ),
    ),
    views=(
        View(
            "Parked next to mine today",
            ("bicycle",),
            (1, 2, 3),
            ("street", "meadow", "beach"),
            ("red", "yellow", "green", "blue", "orange", "purple"),
        ),
        View(
            "The whole family is on wheels now",
            ("kick-scooter", "bicycle"),
            (2, 3, 4),
            ("street", "meadow"),
            ("red", "green", "orange", "blue"),
        ),
        View(
            "Outside the office, every single day",
            ("motor-scooter", "car"),
            (1, 2, 3),
            ("street",),
            ("blue", "green", "yellow", "white", "orange"),
        ),
        View("Saw these on the way home", ("sheep", "horse", "cow"), (2, 3, 4, 5), ("meadow",)),
        View(
            "Rest stop", ("bicycle",), (1, 2), ("lake", "forest"), ("yellow", "blue", "white", "pink"), others=("mug",)
        ),
    ),
    reads=(
        Read(
            "{street} will have a cycle lane, for a month",
            "hartwell-gazette.example",
            "Yellow paint for {month}: a trial on {street}",
            "For one month the right-hand lane belongs to bicycles. {many} people a day are expected; a "
            'camera counts them.\n\n{person} of the traffic office: "If it does not work we paint it '
            'over." The old sign, number {code}, is being kept just in case.',
        ),
        Read(
            "What a squeaking chain costs you",
            "smallscience.example",
            "{n} watts for a drop of oil",
            "A dry chain wastes about as much power as a small lamp needs. After {many} kilometres in "
            "rain there is no oil left on it.\n\nThe test rider, {person}, asked to remain seated.",
        ),
    ),
    remarks=(
        "It is the {bikepart}. When it {bikenoise}, it is always the {bikepart}.",
        "On {surface} everything makes a noise.",
        "Check the bottom bracket, then check it again.",
        "A drop of wax, not oil.",
        "I carry {bikeload} twice a week. You learn to corner slowly.",
        "Two cheap locks of different kinds are better than a dear one.",
        "Lower your saddle for {surface}, it helps.",
        "Ride anyway. You are not made of sugar.",
        "The shop on {street} in {town} is honest, try there.",
        "Wide tyres. That is all.",
        "My {bikepart} has been held on with tape since {month}.",
        "Wool socks. Two pairs.",
        "The bus is a lie.",
        "Take the lane along the river, it is longer and quicker.",
        "I have been commuting for {n} years and never looked back.",
        "Spokes. Pluck them like a harp and listen.",
    ),
    pictured=(
        "That colour!",
        "Is it for sale?",
        "It would look good next to mine.",
        "Where is the lock?",
        "I know that corner, it is in {town}.",
        "One more and you could open a shop.",
        "I would not leave it there over night.",
        "Perfect weather for it.",
    ),
    wares=("Scarf", "Gloves", "Cap", "Sunglasses"),
)
