"""Needle retrieval: a grid of contexts and depths, several forms of needle, exact match, retention of full KV."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from confkv_agents.cache import ConfKVCache
from confkv_agents.engine.reading import read_prompt
from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.bench.decoding import answer
from confkv_agents.evaluation.bench.needles import FORMS, Haystack, NeedlePrompt, Renderer, build_prompt
from confkv_agents.evaluation.bench.policies import REFERENCE
from confkv_agents.evaluation.bench.statistics import retention, retention_interval, wilson
from confkv_agents.evaluation.bench.suite import Common, Item, Row, Setup, check_context

if TYPE_CHECKING:
    from rich.table import Table

    from confkv_agents.engine.loading import LoadedModel

ANSWER_TOKENS = 16


@dataclass
class NeedleBench:
    """Hides needles in real text and asks for them.

    Args:
        common: What every benchmark is told; `limit` is the most cases per context and policy.
        depths: Number of depths, evenly from the beginning of the text to its end.
        repeats: Cases per context and depth; the forms take turns.
        forms: Names of the forms.
        later_turn: Ask in a turn of its own, when no reader of the text could know the question.
    """

    common: Common
    depths: int = 8
    repeats: int = 3
    forms: tuple[str, ...] = tuple(FORMS)
    later_turn: bool = False
    name = "needle"

    def __post_init__(self) -> None:
        if self.depths < 1 or self.repeats < 1:
            raise ConfigError("--depths and --repeats must be at least 1")
        unknown = [form for form in self.forms if form not in FORMS]
        if unknown or not self.forms:
            raise ConfigError(f"--forms {','.join(self.forms)!r}: choose from {', '.join(FORMS)}")
        self._haystack: Haystack | None = None

    def settings(self) -> dict[str, Any]:
        """Return what decides how a case of a given number looks."""
        return {
            "depths": self.depths,
            "forms": list(self.forms),
            "later_turn": self.later_turn,
            "answer_tokens": ANSWER_TOKENS,
        }

    def items(self, setup: Setup) -> list[Item]:
        """Return every case for every policy; the policies of a case follow one another."""
        check_context(setup, max(self.common.contexts) + ANSWER_TOKENS)
        items = []
        for context in self.common.contexts:
            self._prompt(setup, self._case(context, 0))  # refuses texts that are too short
            count = self.depths * self.repeats
            for number in range(min(count, self.common.limit or count)):
                case = self._case(context, number)
                for policy in setup.configs:
                    key = f"{context} {case['number']:03d} {case['form']} at {case['depth']:.0%} {policy}"
                    items.append(Item(key, {**case, "policy": policy}))
        return items

    def measure(self, setup: Setup, item: Item) -> Row:
        """Read, answer greedily, compare; `usage` is taken after the reading buffer was given back."""
        prompt = self._prompt(setup, item.what)
        loaded = setup.loaded
        cache = ConfKVCache(loaded.model.config, setup.configs[item.what["policy"]])
        began = time.perf_counter()
        for part in prompt.parts:
            logits = read_prompt(loaded.model, cache, torch.tensor([part], device=loaded.device))
        read = time.perf_counter()
        text, confidences, budgets = answer(loaded, cache, logits, ANSWER_TOKENS)
        ended = time.perf_counter()
        cache.compact()
        return {
            **item.what,
            "tokens": prompt.tokens,
            "depth_reached": prompt.depth,
            "ok": prompt.needle.found_in(text),
            "expected": prompt.needle.answer,
            "got": text,
            "confidence": fmean(confidences),
            "budget": fmean(budgets) if budgets else None,
            "read_s": read - began,
            "answer_s": ended - read,
            "usage": asdict(cache.usage()),
        }

    def summarize(self, setup: Setup, rows: Sequence[Row]) -> dict[str, Any]:
        """Return accuracy, retention and bytes by policy, in all, by context, by form and by cell of the grid."""
        reference = {row["key"].removesuffix(f" {REFERENCE}"): row["ok"] for row in rows if row["policy"] == REFERENCE}
        policies: dict[str, Any] = {}
        for policy in setup.configs:
            own = [row for row in rows if row["policy"] == policy]
            if not own:
                continue
            pairs = [
                (float(row["ok"]), float(reference[case]))
                for row in own
                if (case := row["key"].removesuffix(f" {policy}")) in reference
            ]
            table = np.array(pairs).reshape(-1, 2)
            kept = retention(table)
            policies[policy] = {
                **_accuracy(own),
                "retention": kept if math.isfinite(kept) else None,
                "retention_interval": retention_interval(table, self.common.seed),
                "peak_kv_bytes": max(row["usage"]["peak_kv_bytes"] for row in own),
                "held_kv_bytes": max(row["usage"]["kv_bytes"] for row in own),
                "full_kv_bytes": max(row["usage"]["full_kv_bytes"] for row in own),
                "read_s": fmean(row["read_s"] for row in own),
                "contexts": {str(c): _accuracy(_where(own, context=c)) for c in self.common.contexts},
                "forms": {form: _accuracy(_where(own, form=form)) for form in self.forms},
                "grid": [
                    {"context": c, "depth": d, **_accuracy(cell)}
                    for c in self.common.contexts
                    for d in self._depths()
                    if (cell := _where(own, context=c, depth=d))
                ],
            }
        return {
            "contexts": list(self.common.contexts),
            "depths": self._depths(),
            "later_turn": self.later_turn,
            "budget_bytes": setup.equal_bytes,
            "policies": policies,
        }

    def tables(self, summary: Mapping[str, Any]) -> list[Table]:
        """Return the whole, and its parts by context and form."""
        from confkv_agents.evaluation.bench.tables import needle_parts_table, needle_table

        return [needle_table(summary), needle_parts_table(summary)]

    def plot(self, summary: Mapping[str, Any], path: Path) -> None:
        """Draw a heat map per policy."""
        from confkv_agents.evaluation.bench.plots import needle_plot

        needle_plot(summary, path)

    def _depths(self) -> list[float]:
        if self.depths == 1:
            return [0.5]
        return [round(index / (self.depths - 1), 4) for index in range(self.depths)]

    def _case(self, context: int, number: int) -> dict[str, Any]:
        repeat, place = divmod(number, self.depths)
        form = self.forms[(repeat + place) % len(self.forms)]
        return {"context": context, "number": number, "depth": self._depths()[place], "form": form}

    def _prompt(self, setup: Setup, case: Mapping[str, Any]) -> NeedlePrompt:
        """Build a case's prompt; the same for every policy."""
        tokenizer = setup.loaded.tokenizer
        if self._haystack is None:
            self._haystack = Haystack(tokenizer, [text.content for text in setup.texts])
        chance = random.Random(f"{self.common.seed} {case['context']} {case['number']}")
        start = chance.randrange(len(self._haystack.ids))
        return build_prompt(
            tokenizer,
            renderer(setup.loaded),
            self._haystack,
            FORMS[case["form"]](chance),
            context=case["context"],
            depth=case["depth"],
            start=start,
            later_turn=self.later_turn,
        )


def renderer(loaded: LoadedModel) -> Renderer:
    """Return how messages become text: the model's chat template, or plain lines for a model without one."""
    template = loaded.chat_template

    def render(messages: list[dict[str, str]], answering: bool) -> str:
        if template is None:
            lines = "".join(f"{message['content']}\n\n" for message in messages)
            return f"{lines}Answer: " if answering else lines
        turns: list[dict[str, Any]] = [dict(message) for message in messages]
        if loaded.takes_pictures:
            turns = [{**turn, "content": [{"type": "text", "text": turn["content"]}]} for turn in turns]
        return str(
            loaded.tokenizer.apply_chat_template(
                turns, chat_template=template, tokenize=False, add_generation_prompt=answering
            )
        )

    return render


def _where(rows: Sequence[Row], **wanted: Any) -> list[Row]:
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def _accuracy(rows: Sequence[Row]) -> dict[str, Any]:
    hits = sum(row["ok"] for row in rows)
    return {
        "cases": len(rows),
        "found": hits,
        "accuracy": hits / len(rows) if rows else None,
        "interval": wilson(hits, len(rows)),
    }
