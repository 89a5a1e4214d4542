"""Conversations about pictures, to learn beside episodes: what each of a page's pictures shows, and which shows what.

An episode has dozens of pictures and asks about one or two. Here every picture is asked about, so that the text model
learns to read what the eyes see. Pictures stand on compact pages, behind the line of their element, as in episodes.
"""

from __future__ import annotations

import io
import random
from collections.abc import Sequence
from typing import Any

from confkv_agents.evaluation.agents import open_agent
from confkv_agents.pilot.captions import caption, several
from confkv_agents.pilot.demonstrations import Demonstration, keep_picture
from confkv_agents.pilot.pictures import Shown, draw
from confkv_agents.web.text import quote

_SAY = (
    "Say what each picture shows.",
    "What is in these pictures? Answer with one line for each.",
    "Describe every picture in a few words.",
)
_FIND = (
    "Click the picture of {}.",
    "One of the pictures shows {}. Open it.",
    "Find {} and click on it.",
)
_MAKERS = ("Veda", "Orlo", "Brisk", "Juno", "Halden", "Tarn", "Elba", "Nettle", "Pippin", "Marlow", "Audika", "Fenwick")
_TITLES = (
    "Seen this morning", "What do you think?", "New here", "It came today", "On the way home", "Found in the attic",
    "For the weekend", "My favourite", "Look at that", "As promised", "A present", "Does anyone want it?",
)  # fmt: skip


def describe(number: int, seed: int = 0) -> Demonstration:
    """Make one conversation: the same number and seed give the same.

    Args:
        number: Which.
        seed: Of all that is random.
    """
    rng = random.Random(name_of(number, seed))
    shown = [draw(rng, 1)[0] for _ in range(rng.randint(6, 10))]
    names = [_name(each, rng) for each in shown]
    first = rng.randint(1, 40)
    ids = [first]
    while len(ids) < len(shown):
        ids.append(ids[-1] + rng.choice((1, 1, 1, 2, 3)))
    lines = [caption(each.facts) for each in shown]
    single = [at for at, line in enumerate(lines) if lines.count(line) == 1]
    if single and rng.random() < 0.4:
        at = rng.choice(single)
        write_reply = open_agent("pilot").write_reply
        assert write_reply is not None
        asked = rng.choice(_FIND).format(lines[at])
        answer = write_reply(lines[at], f"click [{ids[at]}]", (names[at], ids[at]))
    else:
        asked = rng.choice(_SAY)
        answer = "\n".join(f"[{id_}] {line}" for id_, line in zip(ids, lines, strict=True))
    made = Demonstration(name_of(number, seed), True, 1)
    elements = [f"{quote(name)} [{id_}]" for name, id_ in zip(names, ids, strict=True)]
    made.messages = [
        {"role": "user", "content": _page(asked, elements, [_keep(each, made.pictures) for each in shown])},
        {"role": "assistant", "content": [{"text": answer}], "learn": True},
    ]
    return made


def name_of(number: int, seed: int = 0) -> str:
    """What a conversation is called."""
    return f"pictures:{seed}:{number}"


def _page(asked: str, elements: Sequence[str], pictures: Sequence[str]) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    for number, (element, picture) in enumerate(zip(elements, pictures, strict=True)):
        before = "\n" if number else f"Task: {asked}\n\n"
        content += [{"text": before + element}, {"picture": picture}]
    return content


def _name(shown: Shown, rng: random.Random) -> str:
    """A name that tells the kind of thing at most."""
    kind = shown.facts.kind
    if rng.random() < 0.3:
        return rng.choice(_TITLES)
    return f"{rng.choice(_MAKERS)} {several(kind) if shown.facts.count > 1 else kind}"


def _keep(shown: Shown, pictures: dict[str, bytes]) -> str:
    file = io.BytesIO()
    shown.image.save(file, "PNG")
    return keep_picture(file.getvalue(), pictures)
