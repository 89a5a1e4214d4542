"""Names, addresses and what reviewers say: the raw material of the seeded people. Pure data."""

PASSWORD = "Password.123"
# The customers that site.toml names; the first one is the demo user.
CUSTOMERS = (
    ("emma.lopez@shop.test", "Emma", "Lopez"),
    ("noah.brandt@shop.test", "Noah", "Brandt"),
    ("mina.okafor@shop.test", "Mina", "Okafor"),
)
# fmt: off
FIRST_NAMES = (
    "Ada", "Bela", "Cleo", "Dario", "Edda", "Finn", "Greta", "Hugo", "Iris", "Jonas", "Kira", "Leon", "Marta",
    "Nils", "Olga", "Pavel", "Rosa", "Simon", "Thea", "Ugo", "Vera", "Willem", "Yara", "Zeno",
)
LAST_NAMES = (
    "Abel", "Berg", "Costa", "Dahl", "Egger", "Frey", "Gruber", "Holm", "Ivers", "Jansen", "Keller", "Lund",
    "Moreno", "Novak", "Olsen", "Petit", "Rossi", "Sand", "Toth", "Urban", "Vidal", "Weiss",
    "Young", "Zeller",
)
STREETS = (
    "Mill Lane", "Station Road", "Elm Street", "Harbour Street", "Castle Hill", "Park Avenue", "Orchard Way",
    "Bridge Street", "Meadow Road", "Church Street", "River Walk", "Garden Terrace",
)
CITIES = (
    ("Ashford", "10482"), ("Brookton", "20931"), ("Carden", "31875"), ("Dunwich", "42360"),
    ("Eastbury", "53719"), ("Fairview", "64028"), ("Glenmoor", "75194"), ("Hartwell", "86503"),
    ("Ironbridge", "97246"), ("Kingsley", "18637"),
)
EVENTS = ("Wedding", "Birthday", "New Home", "Baby Shower", "Retirement", "Graduation")

# Reviews by rating: (title, sentences of which one or two are used).
REVIEWS: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {
    5: (
        ("Exactly what I wanted", "Would buy again", "A pleasure to use", "Better than expected",
         "Five stars from us"),
        ("It arrived in two days.", "Even nicer than in the picture.", "My sister now wants one too.",
         "Worth every cent.", "It feels solid and looks great.", "We use it every day."),
    ),
    4: (
        ("Very good", "Happy with it", "Nearly perfect", "Good value"),
        ("Only the box was a little dented.", "Delivery took a week.", "I would have liked a longer manual.",
         "It does its job well.", "A bit larger than I thought."),
    ),
    3: (
        ("It is all right", "Mixed feelings", "Fine for the price"),
        ("It works, but I had hoped for more.", "The finish could be cleaner.",
         "Good at first, less so after a month."),
    ),
    2: (
        ("Not quite right", "A little disappointing"),
        ("It had a scratch when it came.", "It is smaller than I expected.",
         "The smell took weeks to go away."),
    ),
    1: (
        ("Broke within a week", "Sent it back"),
        ("It stopped working after six days.", "A part was missing.", "I asked for my money back."),
    ),
}
# fmt: on
