"""Say which colour a product has when only its picture tells."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, begin

from ._shop import COLOURS, colour_hidden, open_product, stop


def draw(drawing: Drawing) -> Draft:
    """A product whose colour is neither in its name nor on its page."""
    product = drawing.choose(colour_hidden(drawing))
    others = [colour for colour in COLOURS if colour != product["tint"]]
    colour, wrong = product["tint"].lower(), drawing.rng.choice(others).lower()
    return Draft(
        values={"product": product["name"]},
        evaluation={
            "eval_types": ["string_match"],
            "reference_answers": {"must_include": [colour], "must_exclude": [other.lower() for other in others]},
        },
        oracle=[*open_product(product["name"]), *begin(1, [stop(colour, note=f"{colour} {product['noun'].lower()}")])],
        near_miss=[*open_product(product["name"]), stop(wrong)],
    )


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "(What|Which) colour is '{product}'?",
        "In (what|which) colour is '{product}' sold? (The picture shows it.|Look at its picture.)",
        "(Look at|Find) '{product}' and tell me its colour.",
        "I forgot the colour of '{product}'. What is it(| in the picture)?",
        "Is '{product}' red, blue or (something else|of another colour)? Name its colour.",
        "Which colour does the picture of '{product}' show? (One word is enough.|Just name it.)",
        "I want to know (what|which) colour '{product}' comes in; the page does not say, its picture does.",
        "Have a look at '{product}' for me. (What colour is it?|What is its colour?)",
        "'{product}': (what|which) is its colour(|, judging by the picture)?",
        "(Tell|Show) me in one word (what|which) colour '{product}' has.",
        "By its picture, (what|which) colour is '{product}'(| made in)?",
        "I would (like|love) to know the colour of '{product}'. (See|Check) its picture.",
        "Could you (check|find out) the colour of '{product}'(| from the picture)?",
        "The colour of '{product}' is (nowhere written|not written down). (Go by|See) the picture and give it to me.",
        "My (sister|neighbour) wonders whether '{product}' suits her room. (What|Which) colour is it?",
        "Open the page of '{product}' and (name|report) the colour that (its picture shows|you see in the picture).",
        "Before I buy '{product}' I must know its colour. Which one does the (picture|image) show?",
        "(Say|State) the colour of '{product}', as one sees it in the (picture|photo).",
        "The name '{product}' tells no colour. (Find|Get) its page and answer with the colour of the thing "
        "(shown|pictured).",
        "If I order '{product}', what colour (will|does) it have? (A word will do.|Answer with the colour.)",
    ),
    held_out=(
        "Describe '{product}' for somebody who cannot see it: (which|what) colour does it have?",
        "My friend asks for the colour of '{product}'; please (look it up|see for me).",
    ),
    plan="open '{product}'; answer colour in picture",
    draw=draw,
    reasoning="easy",
    visual="medium",
)
