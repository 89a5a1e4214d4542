"""What the shop can sell: categories, kinds of goods, brands and colours. Pure data.

Fields of a kind, in order: noun, picture file (in `art/`), lowest and highest price in whole dollars, how
many products to draw, how they differ ("colour": the colour is in the name; any other text: types, separated
by commas, one of which is in the name), how many further products show what makes them different in the
picture only, and what that is ("colour", "count" of pieces or animal "motif").
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Kind:
    """A kind of goods from which several products are drawn."""

    noun: str
    art: str
    low: int
    high: int
    count: int
    vary: str
    hidden: int = 0
    hides: str = "colour"
    sizes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Category:
    """A department of the shop."""

    slug: str
    name: str
    blurb: str
    brands: tuple[str, ...]
    facts: tuple[str, ...]
    extra: tuple[str, tuple[str, ...]]
    kinds: tuple[Kind, ...] = field(repr=False)


COLOURS = ("Red", "Orange", "Yellow", "Green", "Blue", "Purple", "Pink", "Black")
MOTIFS = ("cat", "dog", "fox", "panda", "lion", "frog", "owl", "penguin")
CLOTHES = ("S", "M", "L", "XL")
FEET = ("37", "38", "39", "40", "41", "42", "43")
C = "colour"

# fmt: off
CATEGORIES: tuple[Category, ...] = (
    Category(
        "bags-travel", "Bags & Travel", "For the way to work and around the world.",
        ("Kova", "Maren", "Tarn", "Orlo", "Sable"),
        ("Two inside pockets and a key loop.", "Water runs off the outside.", "The seams are sewn twice."),
        ("Guarantee", ("1 year", "2 years", "3 years", "5 years")),
        (
            Kind("Backpack", "backpack", 29, 89, 3, C, 2),
            Kind("Handbag", "handbag", 39, 129, 1, "Leather,Canvas"),
            Kind("Coin Purse", "purse", 8, 24, 2, C, 1),
            Kind("Briefcase", "briefcase", 59, 159, 1, "Leather,Vegan"),
            Kind("Suitcase", "luggage", 69, 189, 2, C, 1),
            Kind("Umbrella", "umbrella", 14, 39, 2, C),
            Kind("Sunglasses", "sunglasses", 19, 79, 1, "Polarised,Aviator"),
            Kind("Reading Glasses", "glasses", 15, 49, 1, "Acetate,Steel"),
        ),
    ),
    Category(
        "clothing", "Clothing", "Soft, sturdy and made to be worn often.",
        ("Juno", "Tilda", "Halden", "Pippa", "Wilmot"),
        ("Soft from the first day.", "Cut for a relaxed fit.", "Made from long-staple yarn."),
        ("Care", ("Wash at 30 degrees", "Wash at 40 degrees", "Hand wash")),
        (
            Kind("T-Shirt", "tshirt", 12, 34, 2, C, 3, "motif", CLOTHES),
            Kind("Jeans", "jeans", 39, 89, 1, "Slim,Straight", sizes=CLOTHES),
            Kind("Dress", "dress", 45, 119, 2, C, sizes=CLOTHES),
            Kind("Coat", "coat", 89, 219, 1, "Wool,Camel", sizes=CLOTHES),
            Kind("Scarf", "scarf", 15, 45, 2, C, 1),
            Kind("Gloves", "gloves", 12, 39, 1, C),
            Kind("Shorts", "shorts", 19, 49, 2, C, sizes=CLOTHES),
            Kind("Blouse", "blouse", 29, 69, 1, C, sizes=CLOTHES),
        ),
    ),
    Category(
        "shoes-hats", "Shoes & Hats", "From the first step of the day to the top of your head.",
        ("Brisk", "Tilda", "Fenwick", "Halden", "Rook"),
        ("The sole can be replaced.", "Runs true to size.", "Lined with soft cotton."),
        ("Care", ("Wipe with a cloth", "Brush when dry", "Keep dry")),
        (
            Kind("Running Shoes", "running-shoe", 59, 139, 1, "Road,Trail", sizes=FEET),
            Kind("Hiking Boots", "hiking-boot", 79, 189, 1, "Suede,Leather", sizes=FEET),
            Kind("Heels", "heel", 49, 129, 1, C, sizes=FEET),
            Kind("Ankle Boots", "boot", 59, 149, 2, C, sizes=FEET),
            Kind("Ballet Flats", "flat", 29, 79, 1, C, 1, sizes=FEET),
            Kind("Flip-Flops", "flip-flop", 9, 25, 2, C, sizes=FEET),
            Kind("Sun Hat", "sun-hat", 19, 49, 1, "Straw,Raffia"),
            Kind("Cap", "cap", 14, 35, 2, C, 1),
            Kind("Top Hat", "top-hat", 49, 119, 1, "Felt,Silk"),
        ),
    ),
    Category(
        "kitchen", "Kitchen & Table", "Good tools for good meals.",
        ("Elba", "Nettle", "Orlo", "Corrin", "Maren"),
        ("Safe in the dishwasher.", "Keeps its colour for years.", "Comes with a linen bag."),
        ("Guarantee", ("2 years", "5 years", "10 years")),
        (
            Kind("Teapot", "teapot", 19, 59, 3, C, 1),
            Kind("Frying Pan", "pan", 25, 89, 2, "Iron,Steel,Ceramic"),
            Kind("Mug", "mug", 7, 22, 1, "Stoneware,Enamel"),
            Kind("Storage Jar", "jar", 6, 19, 1, "Glass,Clip"),
            Kind("Kitchen Knife", "knife", 19, 99, 2, "Steel,Damask,Ceramic"),
            Kind("Chopsticks", "chopsticks", 5, 18, 1, "Bamboo,Lacquer"),
            Kind("Mixing Bowl", "bowl", 12, 39, 2, C),
            Kind("Plate Set", "plate", 35, 99, 1, "Porcelain,Stoneware"),
            Kind("Picnic Basket", "basket", 29, 79, 1, "Willow,Wicker"),
            Kind("Kitchen Timer", "timer", 9, 29, 1, C),
        ),
    ),
    Category(
        "home-garden", "Home & Garden", "Things that make a room yours.",
        ("Arden", "Lumo", "Veda", "Nettle", "Dunmore"),
        ("Ready to use out of the box.", "Packed without plastic.", "Made in small batches."),
        ("Packing", ("Cardboard", "Paper", "Linen bag")),
        (
            Kind("Chair", "chair", 45, 149, 2, "Oak,Walnut,Beech"),
            Kind("Sofa", "sofa", 299, 799, 1, "Velvet,Linen"),
            Kind("Mantel Clock", "mantel-clock", 39, 119, 1, "Walnut,Brass"),
            Kind("Alarm Clock", "alarm-clock", 15, 45, 2, C, 1),
            Kind("Mirror", "mirror", 29, 99, 1, "Round,Brass"),
            Kind("Candles", "candle", 6, 24, 1, "Beeswax,Soy", 2, "count"),
            Kind("Bucket", "bucket", 8, 25, 1, C, 1),
            Kind("Vase", "vase", 19, 69, 1, "Clay,Terracotta"),
            Kind("Cactus", "cactus", 9, 29, 1, "Desert,Indoor"),
            Kind("Lantern", "lantern", 12, 39, 1, "Paper,Garden"),
        ),
    ),
    Category(
        "electronics", "Electronics", "Clever things that simply work.",
        ("Lumo", "Rook", "Veda", "Brisk", "Corrin"),
        ("A two metre cable is included.", "Updates itself at night.", "The battery can be changed at home."),
        ("Guarantee", ("1 year", "2 years", "3 years")),
        (
            Kind("Laptop", "laptop", 399, 999, 2, "Slim,Studio,Travel"),
            Kind("Camera", "camera", 199, 599, 1, "Compact,Travel"),
            Kind("Headphones", "headphones", 39, 189, 2, "Wireless,Studio,Folding"),
            Kind("Radio", "radio", 25, 89, 1, "Kitchen,Travel"),
            Kind("Keyboard", "keyboard", 25, 99, 1, "Quiet,Compact"),
            Kind("Mouse", "mouse", 12, 49, 1, "Wireless,Silent"),
            Kind("Printer", "printer", 79, 199, 1, "Photo,Office"),
            Kind("Game Controller", "controller", 29, 69, 2, C, 1),
            Kind("Wrist Watch", "watch", 39, 149, 2, C),
            Kind("Telephone", "telephone", 25, 69, 1, C),
            Kind("Microphone", "microphone", 29, 119, 1, "Stage,Podcast"),
        ),
    ),
    Category(
        "toys-games", "Toys & Games", "Made for play, and for being passed on.",
        ("Pippa", "Juno", "Wilmot", "Fenwick", "Nettle"),
        ("Suitable from three years.", "Painted with water-based colours.", "Fits into any toy box."),
        ("Age", ("3 and up", "5 and up", "6 and up", "8 and up")),
        (
            Kind("Teddy Bear", "teddy", 15, 45, 1, "Plush,Mohair"),
            Kind("Kite", "kite", 12, 39, 1, "Diamond,Beach"),
            Kind("Yo-Yo", "yo-yo", 5, 15, 2, C),
            Kind("Nesting Doll", "nesting-doll", 15, 49, 1, C, 1),
            Kind("Dartboard", "dartboard", 19, 59, 1, "Cork,Sisal"),
            Kind("Toy Car", "toy-car", 6, 22, 2, C, 2, "count"),
            Kind("Toy Train", "toy-train", 19, 69, 1, "Wooden,Tin"),
            Kind("Toy Tractor", "toy-tractor", 9, 29, 1, C, 1),
            Kind("Rocket", "rocket", 12, 39, 1, "Foam,Tin"),
            Kind("Dinosaur", "dinosaur", 8, 25, 2, C),
        ),
    ),
    Category(
        "sports", "Sports & Outdoors", "Fresh air, from the park to the peak.",
        ("Tarn", "Brisk", "Halden", "Dunmore", "Kova"),
        ("Tested in all weathers.", "Spare parts are kept for ten years.", "Packs down small."),
        ("Guarantee", ("1 year", "2 years", "10 years")),
        (
            Kind("Football", "football", 14, 39, 1, "Match,Training"),
            Kind("Basketball", "basketball", 15, 45, 1, "Indoor,Street"),
            Kind("Tennis Racket", "tennis", 29, 129, 1, "Graphite,Junior"),
            Kind("Table Tennis Bat", "paddle", 9, 35, 2, C, 1),
            Kind("Boxing Gloves", "boxing-glove", 25, 69, 2, C),
            Kind("Roller Skates", "roller-skate", 49, 129, 2, C, sizes=FEET),
            Kind("Scooter", "scooter", 45, 139, 1, C, 1),
            Kind("Tent", "tent", 79, 249, 2, C),
            Kind("Flying Disc", "disc", 6, 19, 1, C),
            Kind("Compass", "compass", 12, 45, 1, "Brass,Sighting"),
        ),
    ),
    Category(
        "music", "Music", "Instruments for first notes and for the big stage.",
        ("Arden", "Sable", "Elba", "Rook", "Veda"),
        ("Set up by hand in our workshop.", "Comes with a padded case.", "Easy to tune, and stays in tune."),
        ("Guarantee", ("2 years", "5 years", "10 years")),
        (
            Kind("Guitar", "guitar", 99, 399, 3, C, 1),
            Kind("Violin", "violin", 89, 349, 2, "Maple,Spruce,Student"),
            Kind("Trumpet", "trumpet", 119, 299, 1, "Brass,Student"),
            Kind("Drum", "drum", 49, 189, 1, "Snare,Marching"),
            Kind("Saxophone", "saxophone", 199, 499, 1, "Alto,Tenor"),
            Kind("Accordion", "accordion", 129, 399, 1, C),
            Kind("Banjo", "banjo", 79, 249, 1, "Maple,Travel"),
            Kind("Maracas", "maracas", 9, 25, 1, "Wooden,Gourd"),
            Kind("Hand Bell", "bell", 8, 29, 1, "Brass,Copper"),
        ),
    ),
    Category(
        "office-craft", "Office & Craft", "For lists, letters and long afternoons of making.",
        ("Corrin", "Fenwick", "Maren", "Tilda", "Arden"),
        ("Lies well in the hand.", "Refills are easy to find.", "A fine present as well."),
        ("Recycled share", ("30%", "60%", "100%")),
        (
            Kind("Notebook", "notebook", 5, 19, 3, C, 3, "motif"),
            Kind("Pencils", "pencil", 4, 14, 1, "Drawing,School", 2, "count"),
            Kind("Fountain Pen", "fountain-pen", 19, 79, 2, C),
            Kind("Scissors", "scissors", 6, 22, 2, C),
            Kind("Paintbrush", "paintbrush", 5, 18, 1, "Sable,Bristle"),
            Kind("Globe", "globe", 25, 89, 1, "Desk,Lighted"),
            Kind("Yarn", "yarn", 4, 16, 2, C, 1),
            Kind("Abacus", "abacus", 12, 35, 1, "Beech,School"),
        ),
    ),
    Category(
        "tools", "Tools", "The right tool, within reach.",
        ("Dunmore", "Rook", "Brisk", "Tarn", "Orlo"),
        ("Made to be repaired.", "The grip does not slip when wet.", "Hangs on any hook."),
        ("Guarantee", ("5 years", "10 years", "25 years")),
        (
            Kind("Hammer", "hammer", 12, 39, 2, "Claw,Rubber,Steel"),
            Kind("Screwdriver", "screwdriver", 5, 19, 2, C),
            Kind("Hand Saw", "saw", 15, 45, 1, "Fine,Rip"),
            Kind("Axe", "axe", 25, 79, 1, C),
            Kind("Toolbox", "toolbox", 19, 69, 3, C, 1),
            Kind("Ladder", "ladder", 45, 149, 1, "Oak,Folding"),
            Kind("Magnet", "magnet", 4, 15, 1, C),
            Kind("Padlock", "padlock", 8, 29, 1, "Brass,Steel"),
            Kind("Bench Clamp", "clamp", 12, 35, 1, "Steel,Quick"),
        ),
    ),
    Category(
        "food", "Food & Drink", "A small, good larder.",
        ("Nettle", "Elba", "Juno", "Wilmot", "Maren"),
        ("Keep it cool and dry.", "Made without additives.", "From growers we know by name."),
        ("Best before", ("August 2026", "October 2026", "January 2027")),
        (
            Kind("Honey", "honey", 6, 18, 2, "Heather,Clover,Forest"),
            Kind("Chocolate", "chocolate", 3, 12, 2, "Dark,Milk,Hazelnut"),
            Kind("Cookies", "cookie", 4, 12, 1, "Oat,Butter", 1, "count"),
            Kind("Cheese", "cheese", 7, 24, 1, "Mountain,Farmhouse"),
            Kind("Bread", "bread", 3, 9, 1, "Rye,Country"),
            Kind("Lemons", "lemon", 3, 9, 1, "Garden,Sweet", 2, "count"),
            Kind("Peanuts", "peanuts", 3, 9, 1, "Roasted,Salted"),
            Kind("Tomatoes", "canned", 2, 7, 1, "Chopped,Plum"),
            Kind("Apple Juice", "juice", 3, 8, 1, "Cloudy,Clear"),
        ),
    ),
)
# fmt: on
