"""What people offer: categories, kinds of things, makers, and how a photo of each kind may look. Pure data.

A kind's `hides` names what only its photos tell for some of its listings: "colour", "pieces", "mark" or "label".
"""

from dataclasses import dataclass

COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "black", "white", "brown")


@dataclass(frozen=True)
class Category:
    """A section of the site; `icon` is a file in `art/`."""

    number: int
    name: str
    icon: str


CATEGORIES = (
    Category(1, "Bikes & Boards", "bicycle"),
    Category(2, "Cars & Motorbikes", "car"),
    Category(3, "Outdoors & Travel", "tent"),
    Category(4, "Phones & Computers", "phone"),
    Category(5, "Audio, Video & Games", "gamepad"),
    Category(6, "Furniture", "sofa"),
    Category(7, "Household & Books", "teapot"),
    Category(8, "Music Instruments", "guitar"),
    Category(9, "Clothing & Accessories", "coat"),
    Category(10, "Toys & Sports", "teddy"),
    Category(11, "Garden & Tools", "toolbox"),
)


@dataclass(frozen=True)
class Kind:
    """A kind of thing.

    Attributes:
        noun: What it is called, in small letters.
        art: Its file in `art/`.
        category: Number of its category.
        low: Lowest price in whole dollars.
        high: Highest price in whole dollars.
        count: Listings to draw.
        scenes: Where it may be photographed.
        colours: Whether the art can be tinted.
        most: Largest set in which it is sold; 1 for single pieces.
        marks: What use may have left on it.
        anchor: Where a mark sits, in shares of the art.
        reach: How large a mark is, in shares of the art.
        makers: Names of makers.
        details: What tells listings of one maker apart in their titles.
        plural: Its plural, where an s is not enough.
    """

    noun: str
    art: str
    category: int
    low: int
    high: int
    count: int
    scenes: tuple[str, ...]
    colours: bool = True
    most: int = 1
    marks: tuple[str, ...] = ()
    anchor: tuple[float, float] = (0.5, 0.55)
    reach: float = 0.12
    makers: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    plural: str = ""

    @property
    def many(self) -> str:
        """The noun for several."""
        return self.plural or self.noun + "s"


_OUT = ("grass", "street")
_ROAD = ("street", "garage")
_IN = ("room", "studio")
_FLAT = ("table", "studio")
_BOX = ("room", "garage")
_CYCLES = ("Norden", "Velka", "Tarrow", "Halder")
_CARS = ("Morven", "Castel", "Orbis", "Duran")
_CAMP = ("Fjella", "Roamer", "Skarn")
_TECH = ("Zento", "Pixon", "Alvar", "Quanta")
_SOUND = ("Sonora", "Veltron", "Audika")
_HOME = ("Lindgard", "Oakley", "Homestead")
_MUSIC = ("Cadenza", "Bellini", "Rosewood")
_WEAR = ("Marlow", "Tilde", "Ostra", "Fenwick")
_PLAY = ("Pippin", "Toyland", "Champion")
_WORK = ("Ferro", "Brako", "Handy")

# fmt: off
KINDS = (
    Kind("bicycle", "bicycle", 1, 40, 380, 7, ("grass", "street", "garage"), makers=_CYCLES,
         details=("26 inch", "28 inch", "with basket", "three gears")),
    Kind("kick scooter", "kick-scooter", 1, 20, 90, 4, _OUT, makers=_CYCLES, details=("foldable", "big wheels")),
    Kind("skateboard", "skateboard", 1, 15, 80, 4, ("street", "carpet"), marks=("sticker", "scratched"),
         anchor=(0.45, 0.5), reach=0.12, makers=_CYCLES, details=("maple deck", "short board")),
    Kind("roller skates", "roller-skate", 1, 15, 70, 3, _ROAD, makers=_CYCLES, details=("size 38", "size 41"),
         plural="roller skates"),
    Kind("hatchback", "car", 2, 900, 7800, 6, _ROAD, marks=("scratched",), anchor=(0.4, 0.6), reach=0.12,
         makers=_CARS, details=("five doors", "first owner", "new tyres")),
    Kind("off-road car", "suv", 2, 2500, 9800, 3, _OUT, marks=("scratched",), anchor=(0.5, 0.58), reach=0.12,
         makers=_CARS, details=("roof rack", "tow bar")),
    Kind("pickup truck", "pickup", 2, 1800, 8800, 4, _ROAD, marks=("scratched",), anchor=(0.7, 0.58), reach=0.1,
         makers=_CARS, details=("long bed", "new brakes")),
    Kind("moped", "moped", 2, 250, 1400, 4, _ROAD, makers=("Vespina", "Lamba"),
         details=("50 cc", "125 cc", "with box")),
    Kind("motorbike", "motorbike", 2, 900, 5200, 4, _ROAD, makers=("Ravena", "Strada"), details=("400 cc", "650 cc")),
    Kind("tractor", "tractor", 2, 2200, 9000, 2, ("grass",), makers=("Agra", "Feldmann"),
         details=("with plough", "1984")),
    Kind("tent", "tent", 3, 25, 180, 4, ("grass",), marks=("torn", "stained"), anchor=(0.35, 0.68), reach=0.13,
         makers=_CAMP, details=("for two", "for four")),
    Kind("suitcase", "suitcase", 3, 15, 110, 5, _IN, most=4, marks=("sticker", "scratched"), anchor=(0.52, 0.66),
         reach=0.13, makers=_CAMP, details=("cabin size", "large")),
    Kind("telescope", "telescope", 3, 60, 320, 2, _IN, False, makers=("Astra",), details=("70 mm", "90 mm")),
    Kind("canoe", "canoe", 3, 120, 640, 3, ("grass",), False, makers=_CAMP, details=("two seats", "with paddle")),
    Kind("sled", "sled", 3, 15, 60, 3, ("room", "garage"), makers=_CAMP, details=("beech", "one seat")),
    Kind("phone", "phone", 4, 40, 420, 7, _FLAT, most=3, marks=("cracked",), anchor=(0.5, 0.52), reach=0.28,
         makers=_TECH, details=("64 GB", "128 GB", "256 GB")),
    Kind("laptop", "laptop", 4, 120, 880, 6, ("table",), False, marks=("cracked",), anchor=(0.5, 0.38), reach=0.22,
         makers=_TECH, details=("13 inch", "15 inch", "8 GB")),
    Kind("desktop computer", "desktop", 4, 90, 620, 3, ("table",), False, marks=("cracked",), anchor=(0.5, 0.36),
         reach=0.24, makers=_TECH, details=("with keyboard", "24 inch")),
    Kind("printer", "printer", 4, 20, 130, 2, ("table",), False, makers=_TECH, details=("laser", "ink")),
    Kind("dial telephone", "telephone", 4, 15, 85, 4, _FLAT, makers=("Telko", "Postal"),
         details=("from 1972", "with cord")),
    Kind("television", "television", 5, 25, 240, 5, _BOX, False, marks=("cracked",), anchor=(0.45, 0.5), reach=0.18,
         makers=_SOUND, details=("tube set", "20 inch", "with remote")),
    Kind("radio", "radio", 5, 12, 90, 3, _FLAT, False, marks=("sticker",), anchor=(0.28, 0.58), reach=0.12,
         makers=_SOUND, details=("FM", "world band")),
    Kind("camera", "camera", 5, 45, 420, 5, _FLAT, False, makers=("Lumen", "Kleio"),
         details=("35 mm", "50 mm", "with strap")),
    Kind("gamepad", "gamepad", 5, 10, 60, 5, _FLAT, most=5, makers=_SOUND, details=("wireless", "with cable")),
    Kind("joystick", "joystick", 5, 8, 48, 3, _FLAT, most=3, makers=_SOUND, details=("two buttons", "arcade")),
    Kind("sofa", "sofa", 6, 60, 520, 6, ("room",), marks=("torn", "stained"), anchor=(0.32, 0.64), reach=0.1,
         makers=_HOME, details=("two seats", "with lamp", "washable cover")),
    Kind("chair", "chair", 6, 12, 140, 6, ("room", "garage"), most=6, makers=_HOME,
         details=("kitchen", "beech", "stackable")),
    Kind("bed", "bed", 6, 50, 360, 4, ("room",), makers=_HOME, details=("90 cm", "140 cm")),
    Kind("mirror", "mirror", 6, 15, 120, 3, _IN, False, marks=("cracked",), anchor=(0.5, 0.48), reach=0.2,
         makers=_HOME, details=("oval", "wall")),
    Kind("door", "door", 6, 20, 150, 3, ("garage",), marks=("scratched", "sticker"), anchor=(0.5, 0.4), reach=0.14,
         makers=_HOME, details=("80 cm", "pine")),
    Kind("vase", "vase", 7, 10, 120, 4, _FLAT, most=3, marks=("cracked",), anchor=(0.5, 0.5), reach=0.2,
         makers=("Delphi", "Terra"), details=("40 cm", "hand made")),
    Kind("teapot", "teapot", 7, 8, 70, 5, _FLAT, most=3, marks=("cracked",), anchor=(0.45, 0.66), reach=0.15,
         makers=("Terra", "Ansel"), details=("one litre", "with lid")),
    Kind("alarm clock", "alarm-clock", 7, 6, 40, 4, _FLAT, most=5, makers=("Ansel", "Tempus"),
         details=("loud", "wind-up")),
    Kind("bucket", "bucket", 7, 4, 22, 3, ("garage", "grass"), most=6, makers=("Ansel",),
         details=("ten litres", "tin")),
    Kind("notebook", "book", 7, 3, 24, 4, _FLAT, most=6, makers=("Paperie",), details=("ruled", "blank", "A5")),
    Kind("guitar", "guitar", 8, 60, 540, 6, ("carpet", "studio"), marks=("sticker", "scratched"), anchor=(0.3, 0.72),
         reach=0.13, makers=_MUSIC, details=("with bag", "six strings", "left-handed")),
    Kind("violin", "violin", 8, 80, 620, 3, _FLAT, False, makers=_MUSIC, details=("full size", "three-quarter")),
    Kind("trumpet", "trumpet", 8, 60, 380, 2, _FLAT, False, makers=_MUSIC, details=("in B flat", "with case")),
    Kind("accordion", "accordion", 8, 90, 640, 3, _IN, makers=_MUSIC, details=("48 bass", "96 bass")),
    Kind("drum", "drum", 8, 30, 180, 2, _IN, False, makers=_MUSIC, details=("with sticks", "14 inch")),
    Kind("saxophone", "saxophone", 8, 180, 880, 2, _FLAT, False, makers=_MUSIC, details=("alto", "tenor")),
    Kind("coat", "coat", 9, 20, 160, 5, ("studio", "room"), marks=("stained", "torn"), anchor=(0.36, 0.72), reach=0.12,
         makers=_WEAR, details=("size M", "size L")),
    Kind("dress", "dress", 9, 12, 120, 4, ("studio",), marks=("stained",), anchor=(0.5, 0.74), reach=0.12, makers=_WEAR,
         details=("size S", "size M"), plural="dresses"),
    Kind("backpack", "backpack", 9, 10, 90, 5, ("room", "studio"), marks=("torn", "stained"), anchor=(0.5, 0.72),
         reach=0.12, makers=_WEAR, details=("20 litres", "30 litres")),
    Kind("handbag", "handbag", 9, 12, 140, 3, _FLAT, marks=("scratched",), anchor=(0.5, 0.6), reach=0.14, makers=_WEAR,
         details=("leather", "with zip")),
    Kind("wrist watch", "watch", 9, 15, 260, 3, _FLAT, False, marks=("cracked",), anchor=(0.5, 0.5), reach=0.18,
         makers=("Tempus", "Kleio"), details=("quartz", "automatic"), plural="wrist watches"),
    Kind("scarf", "scarf", 9, 5, 36, 3, ("table", "carpet"), makers=_WEAR,
         details=("wool", "cotton"), plural="scarves"),
    Kind("boots", "boot", 9, 18, 120, 3, ("room", "garage"), makers=_WEAR,
         details=("size 40", "size 43"), plural="boots"),
    Kind("teddy bear", "teddy", 10, 6, 60, 5, ("carpet", "room"), most=4, marks=("torn", "stained"), anchor=(0.5, 0.66),
         reach=0.11, makers=_PLAY, details=("40 cm", "old")),
    Kind("nesting doll", "doll", 10, 6, 45, 4, _FLAT, most=6, makers=_PLAY, details=("painted", "lime wood")),
    Kind("football", "football", 10, 6, 40, 4, ("grass", "street"), most=5, makers=_PLAY,
         details=("size 5", "match ball")),
    Kind("yo-yo", "yo-yo", 10, 3, 18, 3, _FLAT, most=4, makers=_PLAY, details=("wooden", "with string")),
    Kind("boxing glove", "boxing-glove", 10, 10, 60, 3, ("garage", "carpet"), most=2, makers=_PLAY,
         details=("10 oz", "12 oz")),
    Kind("tennis racket", "tennis", 10, 10, 85, 3, ("grass",), False, most=3, makers=_PLAY,
         details=("graphite", "junior")),
    Kind("toolbox", "toolbox", 11, 12, 90, 5, ("garage", "table"), marks=("scratched", "sticker"), anchor=(0.5, 0.62),
         reach=0.13, makers=_WORK, details=("with trays", "steel"), plural="toolboxes"),
    Kind("ladder", "ladder", 11, 15, 95, 3, ("garage", "grass"), makers=_WORK, details=("six steps", "two metres")),
    Kind("axe", "axe", 11, 10, 55, 3, ("garage", "grass"), makers=_WORK, details=("one kilo", "ash handle")),
    Kind("saw", "saw", 11, 6, 40, 2, ("garage",), False, makers=_WORK, details=("fine teeth", "50 cm")),
    Kind("house plant", "plant", 11, 4, 40, 4, ("table", "room"), False, most=6, makers=("Verdant", "Greenhand"),
         details=("rubber fig", "lemon", "young")),
    Kind("cactus", "cactus", 11, 3, 28, 3, _FLAT, False, most=5, makers=("Verdant", "Greenhand"),
         details=("slow grower", "30 cm"),
         plural="cacti"),
)
# fmt: on
