"""An agent's transcript with a needle: a task, pages of real text seen one after another, short turns of its own.

The needle lies in the task, in an early page or in the latest one, and is asked for at the end. What lies in the task
or in the latest page needs no long memory: a policy that fails there forgets what an agent cannot do without.
"""

from __future__ import annotations

import random

from confkv_agents.errors import ConfigError, PromptError
from confkv_agents.evaluation.bench.needles import Haystack, Needle, NeedlePrompt, Renderer, plant
from confkv_agents.evaluation.bench.texts import encode

_SYSTEM = "You are an agent that reads web pages. Answer each page with one action, such as click [3]."
_TASK = "Task: look through the pages one after another. At the end there is a question about what you have read."
PINNED, OBSERVATION, OWN, TEXT = "pinned", "observation", "own", "text"
_LEAST = 24
Segment = tuple[str, str]


def build_transcript(
    tokenizer: object,
    render: Renderer,
    haystack: Haystack,
    needle: Needle,
    *,
    context: int,
    pages: int,
    place: int,
    start: int,
    chance: random.Random,
) -> NeedlePrompt:
    """Make a transcript of `context` tokens, or a few less, in turns with segments.

    Args:
        tokenizer: The model's.
        render: Messages and whether the assistant speaks next -> text, by the model's chat template.
        haystack: Where the pages' text comes from.
        needle: What to hide.
        context: Tokens of the whole transcript, question and template included.
        pages: Observations.
        place: 0 hides the needle in the task, `n` in page `n`, in its middle half.
        start: Token of the haystack that the first page begins with.
        chance: Draws the depth within the page, and the agent's actions.

    Returns:
        The prompt; `depth` is the share of its tokens before the needle's segment.

    Raises:
        ConfigError: The context is too small, or the texts are too short.
        PromptError: The chat template does not let a conversation grow.
    """
    within = chance.uniform(0.25, 0.75)
    actions = [f"click [{chance.randint(1, 40)}]" for _ in range(pages)]
    length = context // pages
    for _ in range(8):
        if length < _LEAST:
            raise ConfigError(
                f"--context {context} leaves no room for {pages} pages; make it larger or --depths smaller"
            )
        if pages * length > len(haystack.ids):
            raise ConfigError(
                f"the texts have {len(haystack.ids):,} tokens, but pages of {pages * length:,} are asked for; give "
                "longer texts with --texts, or a smaller --context"
            )
        texts = [haystack.window(start + number * length, length) for number in range(pages)]
        if place:
            texts[place - 1], _ = plant(needle, texts[place - 1], within)
        turns = _turns(render, needle, texts, actions, in_task=not place)
        coded = [[(kind, tuple(encode(tokenizer, text))) for kind, text in turn] for turn in turns]
        tokens = sum(len(ids) for turn in coded for _, ids in turn)
        over = tokens - context
        if -4 * pages <= over <= 0:
            break
        length -= -(-over // pages) if over > 0 else (over + pages) // pages
    else:
        if over > 0:
            raise ConfigError(f"--context {context} cannot be met: the text's tokens change too much with its length")
    flat = [segment for turn in coded for segment in turn]
    kind = OBSERVATION if place else PINNED
    index = [number for number, (each, _) in enumerate(flat) if each == kind][max(0, place - 1)]
    return NeedlePrompt(
        tuple(tuple(token for _, ids in turn for token in ids) for turn in coded),
        sum(len(ids) for _, ids in flat[:index]) / tokens,
        needle,
        "".join(text for turn in turns for _, text in turn),
        tuple(tuple((each, len(ids)) for each, ids in turn) for turn in coded),
    )


def _turns(
    render: Renderer, needle: Needle, pages: list[str], actions: list[str], *, in_task: bool
) -> list[list[Segment]]:
    """Return each turn that is read at once, as segments in order."""
    task = f"{_TASK} Remember: {needle.sentence}" if in_task else _TASK
    messages = [{"role": "system", "content": _SYSTEM}]
    turns: list[list[Segment]] = []
    read = ""
    for number, page in enumerate(pages, 1):
        shown = f"Page {number} of {len(pages)}:\n{page.strip()}"
        last = number == len(pages)
        ask = f"\n\nNow answer this question in a few words: {needle.question}" if last else ""
        head = f"{task}\n\n" if number == 1 else ""
        messages.append({"role": "user", "content": f"{head}{shown}{ask}"})
        whole = render(messages, True)
        own = actions[number - 2] if number > 1 else ""
        if not whole.startswith(read + own):
            raise PromptError(
                "the model's chat template rewrites earlier turns when one is added, so an agent's transcript cannot "
                "grow turn by turn; leave out --agent"
            )
        fresh = whole[len(read) :]
        begin = fresh.index(shown)
        end = begin + len(shown)
        first: list[Segment] = [(PINNED, fresh[:begin])]
        if own:
            first = [(OWN, own), (TEXT, fresh[len(own) : begin])]
        turns.append([*first, (OBSERVATION, fresh[begin:end]), (TEXT, fresh[end:] + (needle.lead if last else ""))])
        read = whole
        messages.append({"role": "assistant", "content": actions[number - 1]})
    return turns
