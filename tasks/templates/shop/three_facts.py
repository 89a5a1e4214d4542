"""One fact of each of three products, reported together: the first is needed four pages after it was read."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

from ._shop import every_product, in_order, open_product, stop

COLUMNS = {"SKU": "sku", "stock": "stock"}


def draw(drawing: Drawing) -> Draft:
    """Three products with different values, and a fourth whose value somebody might have read instead."""
    goods = every_product(drawing, "stock >= 10")
    fact = drawing.rng.choice(list(COLUMNS))
    products = drawing.sample(goods, 3)
    other = drawing.rng.choice([row for row in goods if row not in products])
    first, second, third, wrong = [str(row[COLUMNS[fact]]) for row in (*products, other)]
    if len({first, second, third, wrong}) < 4:
        raise Unfit("two of the values are equal")
    a, b, c = [row["name"] for row in products]
    start = [*open_product(a), *begin(1, open_product(b, f"{fact} '{first}'"))]
    return Draft(
        values={"first": a, "second": b, "third": c, "facts": "SKUs" if fact == "SKU" else "numbers in stock"},
        evaluation={
            "eval_types": ["string_match"],
            "reference_answers": {"must_include": [in_order(first, second, third)]},
        },
        oracle=[
            *start,
            *begin(2, open_product(c, f"{fact} '{second}'")),
            *begin(3, [stop(f"{first}, {second}, {third}", note=f"{fact} '{third}'")]),
        ],
        near_miss=[*start, *open_product(other["name"]), stop(f"{first}, {second}, {wrong}")],
    )


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "(Look up|Find) the {facts} of '{first}', '{second}' and '{third}' and report (them|all three) in this order, "
        "separated by commas.",
        "I need the {facts} of three products: '{first}', '{second}', '{third}'. Answer with (just|only) the three, "
        "(in that order|in the order given).",
        "What are the {facts} of '{first}', '{second}' and '{third}'? Give one (answer|list) in the same order, with "
        "commas between.",
        "For an inventory list: open '{first}', then '{second}', then '{third}', and (write down|tell me) their "
        "{facts} in this order, with commas between.",
        "Please look at '{first}', '{second}' and '{third}' and send me their {facts}, (three values|the three) in "
        "this order with commas between.",
        "I am comparing '{first}', '{second}' and '{third}'. Which {facts} do their pages (show|give)? Same order, "
        "separated by commas.",
        "(List|Note) the {facts} for me: of '{first}', then of '{second}', then of '{third}', with commas between "
        "and in this order.",
        "'{first}', '{second}', '{third}': what are the {facts} of (these|the) three? (Write|Give) them in this order "
        "with commas between them.",
        "By the end I want the {facts} of '{first}', '{second}' and '{third}' (from you|as your answer), in this order "
        "and separated by commas.",
        "(Read|Take) from their pages the {facts} of '{first}', of '{second}' and of '{third}', and (answer|reply) "
        "with the three in the same order, comma-separated.",
        "Could you (check|find) the {facts} of '{first}', '{second}' and '{third}' for me? I would like them in "
        "(this|that) order, with commas.",
        "A colleague asked for the {facts} of '{first}', '{second}' and '{third}'. (Send|Give) me the three values in "
        "this order, (commas between|separated by commas).",
        "Begin with '{first}', go on to '{second}', end with '{third}': I (need|want) their {facts} in this order, "
        "(with commas between|separated by commas).",
        "In this order, separated by commas, (state|report) the {facts} that the shop (gives|shows) for '{first}', "
        "'{second}' and '{third}'.",
        "I would like to know the {facts} of '{first}', of '{second}' and of '{third}'. One line (is enough|will do): "
        "the three values in this order, commas between.",
        "Three pages are to be read, those of '{first}', '{second}' and '{third}', for their {facts}. (Put|Write) the "
        "values one after another in this order, (separated by|with) commas.",
        "Nothing is to be bought. I (only ask for|just need) the {facts} of '{first}', '{second}' and '{third}', in "
        "this order, (with commas|comma-separated).",
        "Their {facts} are (missing in|not in) my table: '{first}', '{second}', '{third}'. (Find|Get) them and answer "
        "in the same order, with commas between.",
        "Tell me, with commas between, (first|to begin with) what the page of '{first}' has, then that of '{second}', "
        "then that of '{third}': (I mean|I ask for) the {facts}.",
    ),
    held_out=(
        "Visit the pages of '{first}', '{second}' and '{third}'. Which {facts} do they show? (List|Name) them in this "
        "order, separated by commas.",
        "My list has '{first}', '{second}' and '{third}' on it. Complete it with their {facts}: three values in the "
        "same order, with commas.",
    ),
    plan="{facts} of '{first}'; {facts} of '{second}'; {facts} of '{third}'; answer three",
    draw=draw,
    tags=("long-memory",),
)
