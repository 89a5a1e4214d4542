"""Put everything that a gift registry wishes into the cart, as many of each as are wanted."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, begin
from confkv_agents.web.tasks.worlds import Row

from ._shop import cart_is, cart_line, click, only, open_product, quantity, registry_wishes, stop


def draw(drawing: Drawing) -> Draft:
    """A registry, of which one wish is wanted more than once, so that the numbers have to be kept too."""
    registries = drawing.rows("shop", "SELECT * FROM registry ORDER BY id")
    lists = {registry["title"]: registry_wishes(drawing, registry) for registry in registries}
    title = drawing.choose(
        [title for title, wishes in lists.items() if any(wish["wanted"] > 1 for wish in wishes)], str
    )
    first, second = sorted(lists[title], key=lambda wish: (wish["category_id"], wish["featured"]))  # as on the page
    wished = f"wanted '{first['name']}' {first['wanted']}, '{second['name']}' {second['wanted']}"

    def fetch(of_first: int, of_second: int) -> list[dict[str, object]]:
        return [
            click("link", "Gift Registry"),
            click("link", title),
            *begin(1, [click("link", first["name"], note=wished), *_add(of_first)]),
            *begin(2, [*open_product(second["name"]), *_add(of_second)]),
            stop(),
        ]

    return Draft(
        values={"registry": title},
        evaluation=only(cart_is(*(cart_line(row["name"], row["wanted"]) for row in (first, second)))),
        oracle=fetch(first["wanted"], second["wanted"]),
        near_miss=fetch(*_forgotten(first, second)),
    )


def _add(number: int) -> list[dict[str, object]]:
    return [*quantity(number), click("button", "Add to Cart")]


def _forgotten(first: Row, second: Row) -> tuple[int, int]:
    """One of the last product that is wanted more than once, as if its number had been forgotten."""
    return (first["wanted"], 1) if second["wanted"] > 1 else (1, 1)


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "Look up what is wished for in the gift registry of {registry} and put all of it into (my|the) cart, as many "
        "of each as are wanted.",
        "(Put|Place) every wish of {registry} into the cart in the number wanted; the (shop's |)gift registry has "
        "them.",
        "I would like to give everything that is on the list of {registry}. Fill my cart (with it|accordingly), in "
        "the right numbers.",
        "What does the gift registry of {registry} ask for? Add all of it to the cart, (with|in) the quantities that "
        "are wanted.",
        "My cart should hold exactly what {registry} wishes for in the gift registry: (each thing|every product), "
        "and as many as they want.",
        "Please get everything in the gift registry of {registry}: (put|place) each wish into my cart, in the number "
        "that is wanted.",
        "Open the gift registry of {registry}, see what and how many they want, and (fill|load) my cart with exactly "
        "that.",
        "I take over the whole gift registry of {registry}. (All of it into my cart|Put all of it into my cart), in "
        "the numbers given.",
        "A friend told me of the gift registry of {registry}. (Take|Get) all that it wishes for, in the numbers "
        "wanted, and (drop|put) it into my basket.",
        "By the end my cart (holds|contains) every wish in the gift registry of {registry}, as many pieces of each as "
        "are wanted, (nothing else|no more).",
        "All the wishes in the gift registry of {registry} are to be in (the|my) cart, each in the quantity that is "
        "(asked for|wanted) there.",
        "(Make sure|See to it) that nothing in the gift registry of {registry} is left out of my cart, and that the "
        "(numbers|quantities) are those wanted.",
        "Could you (take|fetch) each product from the gift registry of {registry}, in the number that they want, and "
        "lay it in the (cart|basket)?",
        "Into the cart with the presents from the gift registry of {registry}: all of them, and of each as many as (it "
        "says|they want).",
        "How many of what is (wanted|wished for) in the gift registry of {registry}? (Just so many|That many) of each "
        "should be in my cart.",
        "We all put money together for {registry}, so the cart (needs|should get) every product of the gift registry, "
        "in the (number|quantity) wanted.",
        "The gift registry of {registry} names products and how many are wanted. (Add|Move) them all to my "
        "(basket|cart), that many of each.",
        "I would like to buy all the wishes of {registry} in the gift registry. (Place|Put) them in the cart in the "
        "quantities wanted, (I pay later|but do not check out).",
        "Use the gift registry of {registry} as a (shopping list|list): each product on it (is to be added|goes) to "
        "the cart, in the number that it says is wanted.",
        "Read in the gift registry what {registry} wishes for and in what number, and (see|make sure) that my "
        "(basket|cart) has just that in it.",
    ),
    held_out=(
        "For {registry} I am to buy the whole list that stands in the gift registry. Fill the cart with (it|all of "
        "it), number for number.",
        "Go through the wishes of {registry} and add them to the shopping cart, each as often as it is wanted.",
    ),
    plan="gift registry of {registry}: wishes; one wish into cart, number wanted; other wish into cart, number wanted",
    draw=draw,
    tags=("long-memory",),
)
