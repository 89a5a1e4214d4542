"""Put one product into the cart: needs neither memory nor eyes."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit

from ._shop import cart_holds, only, plain_products, put_into_cart, stop


def draw(drawing: Drawing) -> Draft:
    """A product, and one of the same kind or category that somebody in a hurry takes for it."""
    products = plain_products(drawing)
    product = drawing.choose(products)
    shelf = [other for other in products if other["category_id"] == product["category_id"] and other != product]
    alike = [other for other in shelf if other["noun"] == product["noun"]] or shelf
    if not alike:
        raise Unfit("nothing looks like it")
    other = drawing.rng.choice(alike)
    return Draft(
        values={"product": product["name"]},
        evaluation=only(cart_holds(product["name"])),
        oracle=[*put_into_cart(product["name"]), stop()],
        near_miss=[*put_into_cart(other["name"]), stop()],
    )


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "(Put|Place) (one|a) '{product}' (into|in) the cart.",
        "(Add|Please add) '{product}' to my cart(|, just one).",
        "I want to buy one '{product}'. Put it into the cart(| and leave it there).",
        "(Search for|Find) '{product}' and add it to the shopping cart.",
        "My cart should hold one '{product}' and nothing else.",
        "Could you (put one '{product}' into|add one '{product}' to) my cart?",
        "I need a '{product}'. (One piece, into the cart, please.|Have it in my cart.)",
        "Go to the page of '{product}' and press Add to Cart(| once).",
        "(Drop|Slip) one '{product}' into the (basket|cart) for me.",
        "'{product}': (take|grab) one and put it into the (cart|shopping cart).",
        "By the end (there should be|I want) one '{product}' in my (cart|basket), nothing besides.",
        "(Let there be|Make sure there is) exactly one '{product}' in the (cart|trolley).",
        "A friend told me about '{product}'. (Please put|Kindly put) one of it into my (cart|basket).",
        "I would (like|love) to have '{product}' (added to the cart|put into my basket), a single piece.",
        "Into (my|the) cart with one '{product}'(|, please)!",
        "(Would|Will) you fetch one '{product}' and lay it in my (cart|shopping basket)?",
        "'{product}' belongs in the (cart|basket). One piece (will do|is enough).",
        "(Pick|Choose) '{product}' from the shop and move one piece of it to the (cart|shopping cart).",
        "One piece of '{product}' is to be (added to|placed in) the (cart|basket), and that is all.",
        "My old one is gone, so I need a new '{product}'. (Take|Put) one into the cart; (I pay later|do not check "
        "out).",
    ),
    held_out=(
        "(Get me|Order up) one '{product}': it should be waiting in my cart.",
        "'{product}' is what I need. See that one is in my shopping cart.",
    ),
    plan="'{product}' into cart",
    draw=draw,
    reasoning="easy",
)
