"""What each part of the cache is worth: the same items with the part varied, paired item by item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from confkv_agents.cache import CacheConfig
from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.bench.asking import ANSWER_TOKENS, Asker, Grid
from confkv_agents.evaluation.bench.needle import share_recalled
from confkv_agents.evaluation.bench.needles import FORMS
from confkv_agents.evaluation.bench.parts import (
    MEASURED,
    NEEDLE,
    PARTS,
    PERPLEXITY,
    Base,
    Part,
    Variant,
    constant_confidence,
    make_part,
)
from confkv_agents.evaluation.bench.perplexity import block_sums, long_enough, stream
from confkv_agents.evaluation.bench.policies import REFERENCE, parse_policies
from confkv_agents.evaluation.bench.statistics import (
    bootstrap,
    paired_share_interval,
    perplexity_difference,
    wilson,
)
from confkv_agents.evaluation.bench.suite import Common, Item, Row, Setup, check_context
from confkv_agents.evaluation.bench.words import SAME

if TYPE_CHECKING:
    from rich.table import Table


@dataclass
class AblateBench:
    """Varies one part of a policy at a time.

    Args:
        common: What every benchmark is told; `policies` is the one policy to vary, `limit` the most texts and the most
            cases per context.
        parts: Names of the parts; none for all.
        measures: What to measure by, in place of what each part is measured by otherwise.
        scored: Tokens scored after the context.
        block: Tokens per block of the bootstrap.
        depths: Places of a needle.
        repeats: Cases per context and place.
        forms: Forms of needle.
    """

    common: Common
    parts: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    scored: int = 500
    block: int = 50
    depths: int = 8
    repeats: int = 2
    forms: tuple[str, ...] = tuple(FORMS)
    name = "ablate"

    def __post_init__(self) -> None:
        if self.scored < 2 or self.block < 1:
            raise ConfigError("--scored must be at least 2 and --block at least 1")
        for measure in self.measures:
            if measure not in MEASURED:
                raise ConfigError(f"--measures names {measure!r}; choose from {', '.join(MEASURED)}")
        configs = parse_policies(self.common.policies, self.common.budget)
        if len(configs) != 1:
            raise ConfigError(f"--policies {self.common.policies!r}: an ablation varies one policy, such as confkv")
        base = Base(*next(iter(configs.items())))
        self._parts = [self._measured(make_part(name, base)) for name in dict.fromkeys(self.parts or PARTS)]
        self._grids = {
            measure: Grid(self.depths, self.repeats, self.forms, SAME if measure == NEEDLE else measure)
            for measure in self._used()
            if measure != PERPLEXITY
        }
        self._askers: dict[str, Asker] = {}
        self._ids: dict[str, list[int]] = {}

    def _measured(self, part: Part) -> Part:
        return replace(part, measures=self.measures) if self.measures else part

    def settings(self) -> dict[str, Any]:
        """Return what decides how an item of a given key looks; parts and measures only choose items."""
        return {
            "scored": self.scored,
            "depths": self.depths,
            "forms": list(self.forms),
            "answer_tokens": ANSWER_TOKENS,
        }

    def items(self, setup: Setup) -> list[Item]:
        """Return every case under every variant of the parts that are measured by it, full KV first.

        Raises:
            ConfigError: Not one text is long enough.
        """
        longest = max(self.common.contexts)
        used = self._used()
        check_context(setup, longest + (max(self.scored, ANSWER_TOKENS) if PERPLEXITY in used else ANSWER_TOKENS))
        self._askers = {measure: Asker(grid, setup) for measure, grid in self._grids.items()}
        items = []
        for measure in used:
            variants = self._variants(measure)
            for context in self.common.contexts:
                for case in self._cases(setup, measure, context):
                    name = f"{measure} {context} {case.get('text', '')}{case.get('number', '')}"
                    for variant in variants:
                        what = {"measure": measure, "run": variant.label, **case}
                        after = f"{name} {variant.leader}" if variant.leader else None
                        items.append(Item(f"{name} {variant.label}", what, after))
        return items

    def measure(self, setup: Setup, item: Item) -> Row:
        """Run one case under one variant; a variant that follows another takes over that one's figure for this case."""
        measure, label = item.what["measure"], item.what["run"]
        case = {key: value for key, value in item.what.items() if key not in ("measure", "run")}
        variant = next(each for each in self._variants(measure) if each.label == label)
        config, constant = variant.config, None
        if variant.takes and item.leader is not None:
            config, constant = _following(variant, item.leader)
        if measure == PERPLEXITY:
            ids = self._ids[case["text"]][: case["context"] + self.scored]
            found = {**case, **stream(setup.loaded, config, ids, case["context"], constant)}
        else:
            found = self._askers[measure].ask(case, config, constant)
        return {"measure": measure, "run": label, **found}

    def summarize(self, setup: Setup, rows: Sequence[Row]) -> dict[str, Any]:
        """Return by part and measure each variant's figures, and its difference to what it is compared with."""
        by_run: dict[tuple[str, str], dict[str, Row]] = {}
        for row in rows:
            case = row["key"].removesuffix(f" {row['run']}")
            by_run.setdefault((row["measure"], row["run"]), {})[case] = row
        parts = {}
        for part in self._parts:
            measures: dict[str, Any] = {}
            for measure in part.measures:
                found = [self._figures(measure, variant, by_run) for variant in part.variants]
                measures[measure] = [each for each in found if each is not None]
            parts[part.name] = {"question": part.question, "measures": measures}
        return {
            "policy": self.common.policies,
            "budget_bytes": setup.equal_bytes,
            "slot_bytes": setup.loaded.kv_bytes_per_token,
            "contexts": list(self.common.contexts),
            "scored": self.scored,
            "block": self.block,
            "parts": parts,
            "runs": {each.label: asdict(each.config) for measure in self._used() for each in self._variants(measure)},
        }

    def tables(self, summary: Mapping[str, Any]) -> list[Table]:
        """Return a table per part and measure."""
        from confkv_agents.evaluation.bench.ablation_views import ablation_tables

        return ablation_tables(summary)

    def plot(self, summary: Mapping[str, Any], path: Path) -> None:
        """Draw every difference with its interval."""
        from confkv_agents.evaluation.bench.ablation_views import forest_plot

        forest_plot(summary, path)

    def _used(self) -> list[str]:
        """Return the measures that some part is measured by."""
        return [measure for measure in MEASURED if any(measure in part.measures for part in self._parts)]

    def _variants(self, measure: str) -> list[Variant]:
        """Return full KV and every run that a measure needs, each once, leaders before those that follow them."""
        found = {REFERENCE: Variant(REFERENCE, REFERENCE, CacheConfig(policy=REFERENCE))}
        for part in self._parts:
            if measure in part.measures:
                for variant in sorted(part.variants, key=lambda each: each.leader is not None):
                    found.setdefault(variant.label, variant)
        return list(found.values())

    def _cases(self, setup: Setup, measure: str, context: int) -> list[dict[str, Any]]:
        if measure != PERPLEXITY:
            self._askers[measure].prompt(self._grids[measure].case(context, 0))  # refuses texts that are too short
            return self._grids[measure].cases(context, self.common.limit)
        self._ids, names = long_enough(setup, context, self.scored)
        return [{"context": context, "text": name} for name in names[: self.common.limit]]

    def _figures(
        self, measure: str, variant: Variant, by_run: Mapping[tuple[str, str], Mapping[str, Row]]
    ) -> dict[str, Any] | None:
        own = by_run.get((measure, variant.label), {})
        if not own:
            return None
        full = by_run.get((measure, REFERENCE), {})
        other = by_run.get((measure, variant.against), {}) if variant.against else {}
        score = self._perplexity if measure == PERPLEXITY else self._found
        return {
            "name": variant.name,
            "run": variant.label,
            "against": variant.against,
            "items": len(own),
            **score(own, full, other),
            "budget": fmean(row["budget"] for row in own.values()),
            "slots": fmean(row["slots"] for row in own.values()),
            "confidence": fmean(row["confidence"] for row in own.values()),
            "peak_kv_bytes": max(row["usage"]["peak_kv_bytes"] for row in own.values()),
            "mean_kv_bytes": fmean(row["mean_kv_bytes"] for row in own.values()),
            "cold_kv_bytes": max(row["cold_kv_bytes"] for row in own.values()),
            "recalled": share_recalled(list(own.values())),
            "probed": fmean(row["probed"] for row in own.values()),
        }

    def _perplexity(self, own: Mapping[str, Row], full: Mapping[str, Row], other: Mapping[str, Row]) -> dict[str, Any]:
        above, above_interval = self._above(own, full)
        difference, interval = self._above(own, other)
        return {"value": above, "interval": above_interval, "difference": difference, "difference_interval": interval}

    def _above(
        self, own: Mapping[str, Row], other: Mapping[str, Row]
    ) -> tuple[float | None, tuple[float, float] | None]:
        """Return how far perplexity lies above another run's on the items that both have, with an interval."""
        pairs = [block_sums(row["nats"], other[case]["nats"], self.block) for case, row in own.items() if case in other]
        if not pairs:
            return None, None
        sums = np.concatenate(pairs)
        return perplexity_difference(sums), bootstrap(sums, perplexity_difference, seed=self.common.seed)

    def _found(self, own: Mapping[str, Row], full: Mapping[str, Row], other: Mapping[str, Row]) -> dict[str, Any]:
        hits = sum(row["ok"] for row in own.values())
        both = [(row["ok"], full[case]["ok"]) for case, row in own.items() if case in full]
        kept = sum(reference for _, reference in both)
        found: dict[str, Any] = {
            "value": hits / len(own),
            "interval": wilson(hits, len(own)),
            "found": hits,
            "retention": sum(ok for ok, _ in both) / kept if kept else None,
            "difference": None,
            "difference_interval": None,
        }
        pairs = np.array([(row["ok"], other[case]["ok"]) for case, row in own.items() if case in other], dtype=float)
        if len(pairs):
            found["difference"] = float((pairs[:, 0] - pairs[:, 1]).mean())
            found["difference_interval"] = paired_share_interval(pairs, self.common.seed)
        return found


def _following(variant: Variant, leader: Row) -> tuple[CacheConfig, float | None]:
    """Return the configuration and the constant confidence, if any, that take over the leader's figure."""
    if variant.takes == "slots":
        return variant.config, constant_confidence(variant.config, leader["slots"], max(1, leader["fed"]))
    share = leader["recalled"] / leader["steps"] if leader["steps"] else 0.0
    return replace(variant.config, recall_share=share), None
