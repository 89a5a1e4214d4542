"""Asking for a needle: the grid of cases, their prompts, and one case read and answered under one policy."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from confkv_agents.cache import CacheConfig, ConfKVCache
from confkv_agents.engine.reading import read_prompt
from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.bench.decoding import Decoder, answer, counting
from confkv_agents.evaluation.bench.needles import FORMS, Haystack, NeedlePrompt, Renderer, build_prompt
from confkv_agents.evaluation.bench.transcripts import build_transcript
from confkv_agents.evaluation.bench.words import AGENT, LATER, SAME

if TYPE_CHECKING:
    from confkv_agents.engine.loading import LoadedModel
    from confkv_agents.evaluation.bench.suite import Row, Setup

ANSWER_TOKENS = 16
_LINES = {"system": "", "user": "", "assistant": "Answer: "}  # for models without a chat template


@dataclass(frozen=True)
class Grid:
    """Which cases there are.

    Args:
        depths: Number of places: depths evenly from the beginning of the text to its end; in an agent's transcript the
            task and `depths - 1` observations.
        repeats: Cases per context and place; the forms take turns.
        forms: Names of the forms of needle.
        asked: When the question comes: "same", "later" or "agent".
    """

    depths: int = 8
    repeats: int = 3
    forms: tuple[str, ...] = tuple(FORMS)
    asked: str = SAME

    def __post_init__(self) -> None:
        if self.depths < 1 or self.repeats < 1:
            raise ConfigError("--depths and --repeats must be at least 1")
        if self.asked == AGENT and self.depths < 3:
            raise ConfigError(
                f"--depths {self.depths}: a transcript needs the task and two observations; pass 3 or more"
            )
        unknown = [form for form in self.forms if form not in FORMS]
        if unknown or not self.forms:
            raise ConfigError(f"--forms {','.join(self.forms)!r}: choose from {', '.join(FORMS)}")

    def places(self) -> list[float]:
        """Return the depths, 0 to 1; in a transcript 0 is the task and 1 the latest observation."""
        if self.depths == 1:
            return [0.5]
        return [round(index / (self.depths - 1), 4) for index in range(self.depths)]

    def labels(self) -> list[str]:
        """Return the places in words."""
        if self.asked != AGENT:
            return [f"{place:.0%}" for place in self.places()]
        between = [f"page {number}" for number in range(1, self.depths - 1)]
        return ["task", *between, "latest"]

    def case(self, context: int, number: int) -> dict[str, Any]:
        """Return the case of a number; every place comes once before one comes again."""
        repeat, place = divmod(number, self.depths)
        form = self.forms[(repeat + place) % len(self.forms)]
        return {"context": context, "number": number, "depth": self.places()[place], "form": form}

    def cases(self, context: int, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the cases of a context, `limit` at most."""
        count = self.depths * self.repeats
        return [self.case(context, number) for number in range(min(count, limit or count))]


class Asker:
    """Makes prompts of cases and asks them; the texts are joined and encoded once.

    Args:
        grid: Which cases there are.
        setup: What they are measured with.
    """

    def __init__(self, grid: Grid, setup: Setup) -> None:
        self.grid, self.setup = grid, setup
        self._haystack = Haystack(setup.loaded.tokenizer, [text.content for text in setup.texts])

    def prompt(self, case: dict[str, Any]) -> NeedlePrompt:
        """Return the prompt of a case; it follows from the seed, the case's context and its number.

        Raises:
            ConfigError: The context is too small, or the texts are too short.
            PromptError: The chat template does not let a conversation grow.
        """
        chance = random.Random(f"{self.setup.common.seed} {case['context']} {case['number']}")
        loaded = self.setup.loaded
        start = chance.randrange(len(self._haystack.ids))
        needle = FORMS[case["form"]](chance)
        if self.grid.asked == AGENT:
            place = self.grid.places().index(case["depth"])
            pages = self.grid.depths - 1
            options = {"context": case["context"], "pages": pages, "place": place, "start": start, "chance": chance}
            return build_transcript(loaded.tokenizer, renderer(loaded), self._haystack, needle, **options)
        return build_prompt(
            loaded.tokenizer,
            renderer(loaded),
            self._haystack,
            needle,
            context=case["context"],
            depth=case["depth"],
            start=start,
            later_turn=self.grid.asked == LATER,
        )

    def ask(self, case: dict[str, Any], config: CacheConfig, constant: float | None = None) -> Row:
        """Read, answer greedily, compare.

        Args:
            case: Of the grid.
            config: Of the cache.
            constant: Confidence told to the cache in place of the model's, see `Decoder`.

        Returns:
            The case, what was expected and got, the decoder's figures, tokens computed beside those of the prompt
            (`probed`), seconds.
        """
        prompt = self.prompt(case)
        loaded = self.setup.loaded
        cache = ConfKVCache(loaded.model.config, config)
        with counting(loaded.model) as computed:
            began = time.perf_counter()
            logits = read(loaded, cache, prompt)
            cache.compact()
            probed = computed.take() - prompt.tokens
            ended = time.perf_counter()
            last = torch.tensor([[prompt.parts[-1][-1]]], device=loaded.device)
            decoder = Decoder(loaded, cache, last, constant)
            text = answer(decoder, logits, ANSWER_TOKENS)
            done = time.perf_counter()
        return {
            **case,
            "tokens": prompt.tokens,
            "depth_reached": prompt.depth,
            "ok": prompt.needle.found_in(text),
            "expected": prompt.needle.answer,
            "got": text,
            "probed": probed,
            "read_s": ended - began,
            "answer_s": done - ended,
            **decoder.figures(),
        }


def read(loaded: LoadedModel, cache: Any, prompt: NeedlePrompt) -> torch.Tensor:
    """Feed every part of a prompt, telling the cache its segments where there are some; returns logits `[1, V]`."""
    for part in prompt.parts:
        logits = read_prompt(loaded.model, cache, torch.tensor([part], device=loaded.device))
    return logits


def renderer(loaded: LoadedModel) -> Renderer:
    """Return how messages become text: the model's chat template, or plain lines for a model without one."""
    template = loaded.chat_template

    def render(messages: list[dict[str, str]], answering: bool) -> str:
        if template is None:
            lines = "".join(f"{_LINES[message['role']]}{message['content']}\n\n" for message in messages)
            return f"{lines}{_LINES['assistant']}" if answering else lines
        turns: list[dict[str, Any]] = [dict(message) for message in messages]
        if loaded.takes_pictures:
            turns = [{**turn, "content": [{"type": "text", "text": turn["content"]}]} for turn in turns]
        return str(
            loaded.tokenizer.apply_chat_template(
                turns, chat_template=template, tokenize=False, add_generation_prompt=answering
            )
        )

    return render
