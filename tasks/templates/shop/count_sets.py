"""How many pieces three sets have, by their pictures; the first number is needed four pages after it was seen."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit

from ._shop import in_order, open_product, sets, stop


def draw(drawing: Drawing) -> Draft:
    """Three sets with different numbers of pieces, and a fourth whose number would be wrong."""
    offered = sets(drawing)
    first, *rest = drawing.choose(offered), *drawing.rng.sample(offered, 3)
    second, third, other = rest
    if len({row["pieces"] for row in (first, second, third, other)}) < 4:
        raise Unfit("two sets are equal")
    start = [
        *open_product(first["name"]),
        *open_product(second["name"], _seen(first)),
    ]
    return Draft(
        values={"first": first["name"], "second": second["name"], "third": third["name"]},
        evaluation={
            "eval_types": ["string_match"],
            "reference_answers": {"must_include": [in_order(*_numbers(first, second, third))]},
        },
        oracle=[
            *start,
            *open_product(third["name"], _seen(second)),
            stop(", ".join(_numbers(first, second, third)), note=_seen(third)),
        ],
        near_miss=[*start, *open_product(other["name"]), stop(", ".join(_numbers(first, second, other)))],
    )


def _numbers(*rows: dict[str, object]) -> list[str]:
    return [str(row["pieces"]) for row in rows]


def _seen(row: dict[str, object]) -> str:
    return f"{row['pieces']} {str(row['noun']).lower().removesuffix('s')}s"


TEMPLATE = Template(
    sites=("shopping",),
    wordings=(
        "How many pieces are there in '{first}', in '{second}' and in '{third}'? (Count in the pictures|The pictures "
        "show it) and answer with three numbers in this order, separated by commas.",
        "(Look at|Find) the pictures of '{first}', '{second}' and '{third}' and count the pieces in each set. Give me "
        "the three numbers in this order, with commas between.",
        "I have to know how big three sets are: '{first}', '{second}', '{third}'. (Report|Answer with) the numbers of "
        "pieces that their pictures show, in the same order, separated by commas.",
        "Count the pieces of '{first}', then of '{second}', then of '{third}', as the pictures show them. What are "
        "the three (numbers|counts), in that order and with commas between?",
        "(For each of|Of each of) '{first}', '{second}' and '{third}' I need the number of pieces in the picture. "
        "Three numbers, same order, separated by commas.",
        "Three sets: '{first}', '{second}', '{third}'. (Look at|Open) their pictures and tell me how many pieces "
        "each has, in this order and with commas between.",
        "I want to know the size of '{first}', of '{second}' and of '{third}'. Their pictures show every piece; "
        "(answer|reply) with the three counts in that order, separated by commas.",
        "Please count for me: the pieces pictured for '{first}', for '{second}' and for '{third}'. I need (three "
        "numbers|the numbers), comma-separated, in this order.",
    ),
    held_out=(
        "The sets '{first}', '{second}' and '{third}' do not say how many pieces they have; their pictures do. "
        "(List|Tell me) the three numbers in this order, with commas.",
        "Visit '{first}', '{second}' and '{third}' and see how many pieces each picture has. Reply with the three "
        "counts, comma-separated, in the order in which I named the sets.",
    ),
    draw=draw,
    visual="hard",
    tags=("long-memory",),
)
