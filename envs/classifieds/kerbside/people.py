"""Names, places and what people write: the raw material of the seeded listings. Pure data."""

PASSWORD = "Password.123"
DOMAIN = "kerbside.test"
# Those whose password site.toml tells; the first is the demo user.
MEMBERS = (("Lena", "Marsh"), ("Tomas", "Reed"), ("Aiko", "Bond"))
# fmt: off
FIRST_NAMES = (
    "Abel", "Berta", "Carlo", "Dora", "Elias", "Fanny", "Gustav", "Helga", "Ivan", "Jana", "Karl", "Lotte", "Milo",
    "Nora", "Otto", "Paula", "Quinn", "Rita", "Sven", "Tilda", "Udo", "Vito", "Wanda", "Xenia", "Yves", "Zora",
)
LAST_NAMES = (
    "Archer", "Brook", "Carver", "Dale", "Ender", "Fisher", "Grove", "Hale", "Irving", "Jarvis", "Kemp", "Lark",
    "Mercer", "North", "Orchard", "Pike", "Quill", "Rowe", "Stone", "Thorne", "Underhill", "Vale", "West", "Yarrow",
)
PLACES = {
    "Alder Valley": ("Ashcombe", "Brindle", "Copperton"),
    "Lakelands": ("Dunmere", "Elverpool", "Fernwater"),
    "Northmoor": ("Gorsefield", "Heatherby", "Inverley"),
    "Stonecoast": ("Jettison Bay", "Kelpness", "Lowharbour"),
}
SPOTS = (
    "near the station", "behind the old mill", "at the market square", "opposite the library", "next to the bakery",
    "by the swimming pool", "above the flower shop", "at the end of Canal Street", "close to the hospital",
    "in the yellow house by the bridge",
)
MEETING_DESKS = (
    "Town Hall, desk 4", "City Library, desk 2", "Police Station, desk 7", "Post Office, desk 3", "Fire House, desk 6",
    "Central Station, desk 9", "Swimming Hall, desk 5", "Old Mill Museum, desk 8",
)
ABOUT = (
    "I clear out my attic one box at a time.", "Moving abroad, so nearly everything must go.",
    "I repair old things and pass them on.", "Collector of far too many things.",
    "Parent of three; we outgrow everything.", "I answer in the evening, usually within the hour.",
)
REASONS = (
    "I am moving and cannot take it along.", "It was a present that I never used.", "We have two of these.",
    "My son has outgrown it.", "I need the space.", "I found it in my aunt's attic.", "We bought a newer one.",
)
STATES = (
    "Used but well cared for.", "It works as it should.", "A few years old.", "Hardly used.",
    "It has been in storage since last year.", "Cleaned last week.",
)
HANDOVER = (
    "Pick-up only, after six in the evening.", "I can bring it within ten kilometres.", "Cash on pick-up, please.",
    "Please bring someone to help you carry.", "Can be tried out before you decide.", "I can post it for $6 more.",
    "Weekends suit me best.",
)
COMMENTS = {
    5: (("Great seller", "Smooth deal", "Just as described"),
        ("Friendly and on time.", "Bought from this person before, all good.", "Honest about everything.")),
    4: (("Looks good", "Fair price", "Nice find"),
        ("Would come to see it on Saturday.", "Is the price for pick-up only?", "I had the same one for years.")),
    3: (("Not sure yet", "A question"), ("Could you add a photo from behind?", "How old is it really?")),
    2: (("A bit dear", "Over-priced"), ("I saw the same for less last month.", "Shops sell it new for little more.")),
    1: (("No answer", "Still waiting"), ("I wrote three times and heard nothing.", "The seller did not turn up.")),
}
OFFERS = (
    "Is it still there? I would pay {offer} and could fetch it on {day}. My number is {phone}.",
    "I can offer {offer} in cash. {day} evening suits me, ring me on {phone}.",
    "Would you take {offer}? I am in {city} on {day}. Phone {phone}.",
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
REPORT_REASONS = ("Spam", "Wrong category", "Duplicate", "Prohibited item", "Fraud suspected", "Already sold")
# fmt: on
