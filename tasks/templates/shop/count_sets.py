"""How many pieces three sets have, by their pictures; the first number is needed four pages after it was seen."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

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
        *begin(1, open_product(second["name"], _seen(first))),
    ]
    return Draft(
        values={"first": first["name"], "second": second["name"], "third": third["name"]},
        evaluation={
            "eval_types": ["string_match"],
            "reference_answers": {"must_include": [in_order(*_numbers(first, second, third))]},
        },
        oracle=[
            *start,
            *begin(2, open_product(third["name"], _seen(second))),
            *begin(3, [stop(", ".join(_numbers(first, second, third)), note=_seen(third))]),
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
        "'{first}', '{second}', '{third}': how many pieces does (each picture show|one see in each picture)? "
        "(Write|Give) the three numbers in this order with commas between them.",
        "In the pictures, how many pieces (belong to|are in) '{first}', how many in '{second}', how many in '{third}'? "
        "(Numbers only|Just the numbers), in this order, separated by commas.",
        "By the end I want three numbers (from you|as the answer), with commas between: the pieces (pictured|shown) of "
        "'{first}', of '{second}' and of '{third}', in this order.",
        "Open '{first}', '{second}' and '{third}' one after the other and (count|number) the pieces in each picture. "
        "(Your answer|The answer): the counts in the order of opening, separated by commas.",
        "I am (packing|wrapping) three sets, '{first}', '{second}' and '{third}', and must know how many pieces are in "
        "each. Go by the pictures and (send|give) me the counts in this order, with commas.",
        "Could you count the pieces that one sees in the (pictures|photos) of '{first}', '{second}' and '{third}'? I "
        "would like the numbers in (this|that) order, comma-separated.",
        "(Only|Nothing but) the pictures tell the number of pieces of '{first}', '{second}' and '{third}'. Find the "
        "three numbers and (state|write) them in this order, with commas between.",
        "Three counts are (needed|wanted), separated by commas and in this order: pieces in the (picture|image) of "
        "'{first}', pieces in that of '{second}', pieces in that of '{third}'.",
        "My (sister|neighbour) wants to know how many pieces come with '{first}', with '{second}' and with '{third}'. "
        "See the (pictures|product pictures) and answer with the numbers in this order, commas between.",
        "Begin with '{first}', go on to '{second}', end with '{third}': (each time|every time) count the pieces in the "
        "picture. (Then give|At the end give) me the three numbers in that order, with commas between.",
        "How large is each of these sets, going by its picture: '{first}', '{second}', '{third}'? (I expect|I want) "
        "three numbers of pieces, (in the same order|as ordered here), separated by commas.",
        "From the pictures (work out|get) the number of pieces of '{first}', of '{second}' and of '{third}', and "
        "(put|write) the three numbers one after another in this order, separated by commas.",
    ),
    held_out=(
        "The sets '{first}', '{second}' and '{third}' do not say how many pieces they have; their pictures do. "
        "(List|Tell me) the three numbers in this order, with commas.",
        "Visit '{first}', '{second}' and '{third}' and see how many pieces each picture has. Reply with the three "
        "counts, comma-separated, in the order in which I named the sets.",
    ),
    plan="count '{first}'; count '{second}'; count '{third}'; answer three",
    draw=draw,
    visual="hard",
    tags=("long-memory",),
)
