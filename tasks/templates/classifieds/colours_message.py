"""See the colours of two things in their photos and name both in a message to a third seller."""

from __future__ import annotations

from confkv_agents.web.tasks import Draft, Drawing, Template, Unfit, begin

from ._classifieds import changes, colour_hidden, different, open_listing, others, sent, stop, write_to

_TEXTS = (
    "Do you have one in {} or {}?",
    "I have {} and {} at home.",
    "I would take {} or {}.",
    "Does it go with {} and {}?",
)


def draw(drawing: Drawing) -> Draft:
    """Two listings of hidden, unlike colours, a third of another colour, and a listing whose seller is written to."""
    hidden = colour_hidden(drawing)
    first, second = drawing.sample(hidden, 2, "title")
    rival = drawing.rng.choice(hidden)
    different([first, second, rival], "colour")
    goal = drawing.choose(others(drawing, first, second), "title")
    if goal["id"] == rival["id"]:
        raise Unfit("the message goes to the rival")
    text = drawing.rng.choice(_TEXTS)

    def telling(one: dict[str, object], two: dict[str, object]) -> list[dict[str, object]]:
        words = text.format(one["colour"], two["colour"])
        return [
            *open_listing(one),
            *begin(1, open_listing(two, note=f"first {one['colour']}")),
            *begin(2, write_to(goal, words, note=f"second {two['colour']}")),
            stop(),
        ]

    return Draft(
        values={"a": first["title"], "b": second["title"], "goal": goal["title"], "text": text.format("A", "B")},
        evaluation=changes(drawing, sent(goal, text.format(first["colour"], second["colour"]))),
        oracle=telling(first, second),
        near_miss=telling(first, rival),
        login=True,
    )


TEMPLATE = Template(
    sites=("classifieds",),
    wordings=(
        "(See|Find out) which colours '{a}' (A) and '{b}' (B) have in their photos. Then send the seller of '{goal}' "
        "the message '{text}', with the colours for A and B.",
        "Send '{text}' to the seller of '{goal}', where A is the colour of '{a}' and B (that|the colour) of '{b}'. "
        "Only their photos tell.",
        "Look at the photos of '{a}' and of '{b}': call the first colour A, the second B. (Write|Send) '{text}' to "
        "whoever offers '{goal}'.",
        "The seller of '{goal}' should get '{text}' as a message. For A (put in|write) the colour of '{a}', for B that "
        "of '{b}'.",
        "First '{a}', then '{b}': (note|remember) the colour of each, A and B, from the photos. Then contact the "
        "seller of '{goal}' with '{text}'",
        "Which colours are '{a}' and '{b}' in? The photos tell. (Pass them on|Report them) to the seller of '{goal}' "
        "in the message '{text}', A being the first colour and B the (second|other).",
        "I am matching colours. (Check|Go and see) the photos of '{a}' for colour A and those of '{b}' for colour B, "
        "and then (ask|write to) the seller of '{goal}': '{text}'",
        "My message for the seller of '{goal}' is '{text}' (Put in|Fill in) two colours first: for A that of '{a}' "
        "in its photos, for B that of '{b}'.",
        "(Open|Visit) '{a}' and '{b}' to see in the photos what colours they are, A and B. Then (drop|send) the seller "
        "of '{goal}' a line: '{text}'",
        "By the end the seller of '{goal}' has my message '{text}', with the colour of '{a}' (in place of|instead of) "
        "A and the colour of '{b}' (in place of|instead of) B, as their photos show.",
        "I would like to (message|write to) the seller of '{goal}'. The words are '{text}', but A must be the colour "
        "of '{a}' and B the colour of '{b}', (as pictured|as their photos have it).",
        "Could you (find out|check) from the photos what colour '{a}' is and what colour '{b}' is, and then "
        "(tell|write to) the seller of '{goal}': '{text}'? The first is A, the second B.",
        "Two colours are missing in my message '{text}': A is what (you see|the photos show) for '{a}', B for '{b}'. "
        "Fill them in and (send|pass) it to the seller of '{goal}'.",
        "'{goal}' is offered by someone who should (read|receive) '{text}'. Replace A with the colour of '{a}' and B "
        "with the colour of '{b}'; (only|just) their photos give them away.",
        "The (pictures|photos) of '{a}' give colour A and those of '{b}' give colour B. Use the contact form of "
        "'{goal}' to (send|write): '{text}'",
        "A friend (is interested in|asked about) '{goal}', so write '{text}' to its seller. A: the colour that '{a}' "
        "has in its photos. B: the (colour|one) that '{b}' has.",
        "Before you contact the seller of '{goal}', look at the photos of '{a}' and '{b}': their colours (go|belong) "
        "where A and B are in '{text}', (in this order|the first for A, the second for B).",
        "What colour is '{a}', and what colour is '{b}'? (Once you know|When you have seen) both, send the seller of "
        "'{goal}' the message '{text}' with the first colour as A and the other (as|for) B.",
        "Make sure that whoever posted '{goal}' (gets|receives) this from me: '{text}' There, A means the colour of "
        "'{a}' and B the colour of '{b}', which only their (photos|pictures) show.",
        "Colour A: see the photos of '{a}'. Colour B: see the photos of '{b}'. With both (filled in|put in), the "
        "message '{text}' (goes|should go) to the seller of '{goal}'.",
    ),
    held_out=(
        "I have '{a}' and '{b}' in mind, whose colours the photos show. Put these for A and B into my message to the "
        "owner of '{goal}': '{text}'",
        "'{text}' is to be sent about '{goal}'. A stands for the colour one sees in '{a}', B for the one in '{b}'.",
    ),
    plan="colour A of '{a}'; colour B of '{b}'; message seller of '{goal}': '{text}' with A, B",
    draw=draw,
    reasoning="hard",
    visual="medium",
    tags=("long-memory",),
)
