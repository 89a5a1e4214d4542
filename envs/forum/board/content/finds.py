"""The board about what the shop sells."""

from .kinds import Board, Read, Talk, View

BOARD = Board(
    name="marketfinds",
    title="Larkspur Market finds",
    description="What is worth having from Larkspur Market, and what is not. Not run by the shop.",
    rules=("Full names of products, please.", "Prices as of the day of posting.", "No referral links."),
    hue=150,
    words={
        "occasion": ("a wedding", "a new flat", "a retirement", "a birthday", "a christening"),
        "verdict": (
            "worth every cent",
            "fine for the price",
            "better than the old one",
            "too small for us",
            "a keeper",
        ),
        "courier": ("in two days", "on a Sunday", "with a dent", "in far too large a box", "a day early"),
    },
    talks=(
        Talk(
            "Review after {n} months: {ware}",
            "Bought in {month} for {price}, it came {courier}. I use it nearly every day. Verdict: "
            "{verdict}. The only thing I do not like is the smell when it is new, gone after {n} days.\n\n"
            "I had the **{ware_b}** ({price_b}) in my hands as well and would not swap.",
        ),
        Talk(
            "Present for {occasion}: help me choose",
            "It is for {person}, on {day}. I do not want to go by what I like. On my list: **{ware}** at "
            "{price} and **{ware_b}** at {price_b}. Only one of them, please, and in time.\n\n*Edit:* "
            "thank you, we take the **{ware_b}**, in the number of **{few}**.",
        ),
        Talk(
            "Office order: who wants what?",
            "I place the order at Larkspur Market on {day} at {hour}. So far:\n\n- {person}: **{ware}**, "
            "{few} of them\n- me: **{ware_b}**\n\nPayment to me, in cash. Delivery is to {street}, in care "
            "of the front desk. Please no more wishes after that.",
        ),
        Talk(
            "Which of the two would you keep?",
            "I ordered the **{ware}** ({price}) and the **{ware_b}** ({price_b}) because I could not "
            "decide, and both came {courier}. One has to go back by {day}. The first feels {verdict}. "
            "The second is prettier.",
        ),
        Talk(
            "Poll: do you read the reviews first?",
            "I bought the **{ware}** without reading a single one. It is {verdict}. My brother reads all "
            "of them and buys nothing.",
            poll=("Do you read reviews first?", "All of them", "Only the bad ones", "Only the stars", "Never"),
        ),
        Talk(
            "Lost the manual of my {ware}",
            "It must have gone out with the box, which came {courier}. I only need the page with the "
            "cleaning. The label says **{code}**. Could anybody take a photo?\n\nOtherwise: {verdict}, I "
            "have had it for {n} weeks.",
        ),
        Talk(
            "The one thing I buy again and again",
            "Everybody has one. Mine is the **{ware}**, {price}, and I have bought it {few} times. I "
            "give them away for {occasion}, and nobody has ever complained.\n\nWhat is yours? Please with "
            "the full name, so that one can find it.",
        ),
        Talk(
            "Gift registry: is it any good?",
            "We are planning {occasion} and wonder whether to make a list there. {person} did it and got "
            "the **{ware}** twice, although it was marked once. We would ask for the **{ware_b}** and "
            "little else.",
        ),
    ),
    views=(
        View(
            "It came today, and I love the colour",
            ("toolbox", "guitar", "scarf", "alarm-clock"),
            (1,),
            ("table", "room", "shelf"),
            noun="*",
        ),
        View("Unboxed", ("yarn", "screwdriver", "tent"), (1, 2), ("table", "room"), noun="*"),
        View(
            "Two arrived instead of one",
            ("toolbox", "alarm-clock", "teddy", "mug"),
            (2,),
            ("shelf", "table"),
            ("green", "blue", "purple"),
            body="The shop was nice about it. One goes back.",
        ),
        View("All from one order", ("mug", "potted-plant", "die"), (1, 2, 3), ("shelf",), others=("teddy", "books")),
        View("The children got to the parcel first", ("kite", "car", "teddy", "puzzle"), (2, 3, 4), ("room",)),
    ),
    reads=(
        Read(
            "Behind the scenes at Larkspur Market",
            "hartwell-gazette.example",
            "{many} parcels before breakfast",
            "The day begins at {hour} with tape. {person} has packed for {n} years and can tell by the "
            'sound whether a box is full.\n\nThe most returned thing is the umbrella. "It stops raining," '
            "she says.",
        ),
        Read(
            "How to write a review that helps",
            "plaintools.example",
            "Say how long, say how often",
            "Most reviews are written in the first {n} days, when everything is still new. Wait. Then "
            "say how long you have had it, how often you use it, and what you had before.\n\n{many} words "
            "are enough.",
        ),
    ),
    remarks=(
        "We have the {ware}. {verdict}.",
        "The {ware_b}, without a doubt.",
        "Ours came {courier} as well.",
        "Look at the delivery times first, they differ.",
        "For {occasion} I would take something with a box.",
        "There was a coupon for that category last {month}.",
        "I sent mine back. Too heavy for me.",
        "{price} is a fair price, it was more in {month}.",
        "Check the stock, it said three left yesterday.",
        "The picture on the page is accurate, for once.",
        "I would wait for {month}, when they lower the prices.",
        "Read the size guide before you order anything to wear.",
        "Same product, {n} years, no complaints.",
        "Put it on the wish list and sleep over it.",
        "They answered my letter within a day.",
        "My sister has one and will not lend it.",
    ),
    pictured=(
        "I have the other colour and regret it.",
        "It looks smaller than on their page.",
        "Was that the last one?",
        "Nice. Came {courier}?",
        "Now I want one.",
        "Mine is the same, only older.",
        "How is the handle?",
        "Tell us again in {n} months.",
    ),
    wares=("*",),
)
