"""Find a product and report one fact of its page: needs neither memory nor eyes."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin
from confkv_agents.web.tasks.worlds import Row

from ._shop import amounts, every_product, open_product, stop

FACTS = {
    "SKU": "sku",
    "price": "tag",
    "rating": "rating",
    "stock": "stock",
}
"""How a wording names a fact, and the column that holds it."""


def draw(drawing: Drawing) -> Draft:
    """A product whose kind or category has another one with another value of the fact."""
    products = every_product(drawing)
    product = drawing.choose(products)
    fact = drawing.rng.choice(list(FACTS))
    value = str(product[FACTS[fact]])
    alike = [
        other
        for other in products
        if other["category_id"] == product["category_id"]
        and _reference(fact, other) != _reference(fact, product)
        and str(other[FACTS[fact]])
    ]
    alike = [other for other in alike if other["noun"] == product["noun"]] or alike
    if not alike or value in ("", "0"):
        raise Unfit("the page does not show the fact as a value")
    other = drawing.rng.choice(alike)
    return Draft(
        values={"fact": fact, "product": product["name"]},
        evaluation={
            "eval_types": ["string_match"],
            "reference_answers": {"must_include": [_reference(fact, product)]},
        },
        oracle=[*open_product(product["name"]), *begin(1, [stop(value, note=f"{fact} '{value}'")])],
        near_miss=[*open_product(other["name"]), stop(str(other[FACTS[fact]]))],
    )


def _reference(fact: str, product: Row) -> str:
    if fact == "price":
        return amounts(product["price"])
    value = str(product[FACTS[fact]])
    return f"{value} |OR| {value.removesuffix('.0')}" if value.endswith(".0") else value


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "(Look up|Find|Report) the {fact} of '{product}'.",
        "(Search for '{product}' and tell me its {fact}.|Open the page of '{product}' and tell me its {fact}.)",
        "I would like to know the {fact} of '{product}'(.|; please look on its page.)",
        "What does the shop (give|show) as the {fact} of '{product}'?",
        "Which {fact} does '{product}' have(| in the shop)?",
        "Could you (look up|check) the {fact} of '{product}' for me?",
        "What is the {fact} of '{product}'? (Its page has it.|See its page.)",
        "I am writing a list and still need the {fact} of '{product}'. (Tell me.|Please give it to me.)",
        "'{product}': (what|which) {fact} is given on its page?",
        "(Open|Visit) '{product}' and read (me|out) the {fact}.",
        "(I want|I need) the {fact} of '{product}', (just that|nothing more).",
        "A (friend|colleague) asked me about '{product}'. (Say|Write) what its {fact} is.",
        "By the end I know the {fact} of '{product}' (from|through) your answer.",
        "(Would|Will) you tell me which {fact} '{product}' has (here|in this shop)?",
        "The {fact} of '{product}' is (missing in|not in) my notes. (Find it|Read it off its page) and answer with it.",
        "Nothing is to be bought: (I only ask for|I just want to know) the {fact} of '{product}'.",
        "Under '{product}' the shop (lists|has) its {fact}. (What is it?|Give it to me.)",
        "(Answer|Reply) with the {fact} of '{product}' as (the shop|its page) has it.",
        "(Before|In case) I buy '{product}', I would like to hear its {fact} from you; (do not|please do not) put it "
        "into the cart.",
        "I cannot open the page of '{product}' (here|myself). (Let me know|Send me) its {fact}.",
    ),
    held_out=(
        "Please check '{product}' for me: what is the {fact}?",
        "(For '{product}' I need one thing from its page, the {fact}.|Go to '{product}' and give me the {fact}.)",
    ),
    plan="open '{product}'; answer {fact}",
    draw=draw,
    reasoning="easy",
)
