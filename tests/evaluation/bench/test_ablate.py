"""Ablations: which runs a part needs, pairing item by item, intervals, what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confkv_agents.cache import CacheConfig
from confkv_agents.cache.budget import BudgetSchedule
from confkv_agents.cache.policies import POLICIES
from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.bench.ablate import AblateBench
from confkv_agents.evaluation.bench.parts import Base, constant_confidence, make_part
from confkv_agents.evaluation.bench.statistics import paired_share_interval
from confkv_agents.evaluation.bench.suite import Item, Row, Setup
from confkv_agents.evaluation.files import read_json, read_json_lines
from tests.engine.tiny import tiny_llama
from tests.evaluation.bench.test_suite import common, run

BASE = Base("confkv", CacheConfig(policy="confkv", budget=300))


def ablation(folder: Path, *parts: str, **options: Any) -> AblateBench:
    shared = common(folder, policies=options.pop("policies", "confkv"), limit=options.pop("limit", 2), budget=200)
    defaults = {"scored": 40, "block": 10, "depths": 4, "repeats": 1}
    return AblateBench(replace(shared, contexts=(400,)), parts, **{**defaults, **options})


def sure_at_times(loaded: Any) -> Any:
    """Scale the head so that a random model is sure of some tokens: its budget moves."""
    loaded.model.lm_head.weight.data.mul_(60.0)
    return loaded


def labels(part: str, base: Base = BASE) -> list[str]:
    return [variant.label for variant in make_part(part, base).variants]


def test_a_setting_that_the_policy_has_anyway_is_the_same_run() -> None:
    assert labels("pyramid") == [
        "confkv:pyramid=-1.0",
        "confkv:pyramid=-0.5",
        "confkv",
        "confkv:pyramid=0.5",
        "confkv:pyramid=1.0",
    ]
    assert labels("int8") == ["confkv", "confkv:int8_share=0.0"]
    assert labels("span") == ["confkv:span=1", "confkv:span=7", "confkv"]
    assert labels("measures")[-2:] == ["confkv", "confkv:at its mean"]


def test_everything_but_the_part_stays_as_the_base_has_it() -> None:
    base = Base("confkv:sinks=2", CacheConfig(policy="confkv", budget=300, sinks=2))
    for part in ("confidence", "measures", "pyramid", "int8", "probe", "span"):
        for variant in make_part(part, base).variants:
            assert (variant.config.sinks, variant.config.budget) == (2, 300)


def test_every_variant_is_compared_with_a_run_of_its_part() -> None:
    for name in ("confidence", "measures", "pyramid", "int8", "probe", "span"):
        part = make_part(name, BASE)
        runs = {variant.label for variant in part.variants}
        compared = [variant for variant in part.variants if variant.against]
        assert compared
        assert all(variant.against in runs and variant.against != variant.label for variant in compared)
        assert all(variant.leader in runs for variant in part.variants if variant.takes)


@pytest.mark.parametrize(
    ("part", "policy", "named"),
    [
        ("nonsense", {}, "nonsense"),
        ("int8", {"int8_share": 0.0}, "switched off"),
        ("probe", {"probe": 0}, "switched off"),
        ("confidence", {"min_budget": 300}, "does not follow confidence"),
        ("recall", {"policy": "h2o"}, "no form that recalls"),
    ],
)
def test_parts_with_nothing_to_compare_are_refused(part: str, policy: dict[str, Any], named: str) -> None:
    config = CacheConfig(**{"policy": "confkv", "budget": 300, **policy})
    with pytest.raises(ConfigError, match=named):
        make_part(part, Base(config.policy, config))


@pytest.mark.parametrize(("steps", "mean"), [(499, 252.4), (40, 277.0), (16, 282.0), (1, 288.0)])
def test_a_constant_confidence_meets_the_mean_wanted(steps: int, mean: float) -> None:
    config = CacheConfig(policy="confkv", budget=300, min_budget=150, shrink=4)
    schedule = BudgetSchedule(POLICIES["confkv"](config), 4)
    schedule.start(1)
    told = constant_confidence(config, mean, steps)
    budgets = []
    for _ in range(steps):
        schedule.follow([told])
        budgets.append(schedule.means[0])
    held_back = POLICIES["confkv"](config).slack / 2
    assert sum(budgets) / steps - held_back == pytest.approx(mean, abs=0.5)
    assert 0.0 <= told <= 1.0


def test_the_fixed_budget_stores_what_the_run_it_follows_stores_on_every_item(tmp_path: Path) -> None:
    loaded = sure_at_times(tiny_llama())
    policy = "confkv:min_budget=100:shrink=4"  # one that moves within forty steps
    folder, shown = run(ablation(tmp_path, "confidence", policies=policy), loaded)
    rows = {row["key"]: row for row in read_json_lines(folder / "items.jsonl")}
    moved = 0
    for text in ("0.txt", "1.txt"):
        own, fixed = (rows[f"perplexity 400 {text} {run_}"] for run_ in (policy, f"{policy}:at its mean"))
        assert fixed["slots"] == pytest.approx(own["slots"], abs=6)
        moved += own["budget"] < 199
        assert own["nats"] != fixed["nats"] or own["budget"] > 199
    assert moved, "a budget that never moves shows nothing"
    assert max(map(len, shown.replace(str(folder), "").splitlines())) <= 100


class Stopped(AblateBench):
    """Is interrupted before the run that follows another."""

    def measure(self, setup: Setup, item: Item) -> Row:
        if item.leader is not None:
            raise KeyboardInterrupt
        return super().measure(setup, item)


def test_an_interrupted_pair_is_completed_with_the_row_that_was_kept(tmp_path: Path) -> None:
    def steady(rows: list[Row]) -> dict[str, Row]:
        return {row["key"]: {key: value for key, value in row.items() if not key.endswith("_s")} for row in rows}

    def make(kind: type[AblateBench], out: Path) -> AblateBench:
        shared = replace(ablation(tmp_path, "confidence", limit=1).common, out=tmp_path / out)
        return kind(shared, ("confidence",), scored=40, block=10)

    with pytest.raises(KeyboardInterrupt):
        run(make(Stopped, Path("out")), sure_at_times(tiny_llama()))
    (folder,) = (tmp_path / "out").iterdir()
    kept = [row["run"] for row in read_json_lines(folder / "items.jsonl")]
    assert kept == ["full", "confkv", "confkv:min_budget=200"]
    run(make(AblateBench, Path("out")), sure_at_times(tiny_llama()))
    whole, _ = run(make(AblateBench, Path("whole")), sure_at_times(tiny_llama()))
    assert steady(read_json_lines(folder / "items.jsonl")) == steady(read_json_lines(whole / "items.jsonl"))


def test_runs_that_parts_share_are_measured_once(tmp_path: Path) -> None:
    folder, shown = run(ablation(tmp_path, "int8", "span", limit=1))
    rows = read_json_lines(folder / "items.jsonl")
    keys = [(row["measure"], row["run"]) for row in rows]
    assert len(keys) == len(set(keys))
    assert {run_ for measure, run_ in keys if measure == "needle"} == {
        "full",
        "confkv",
        "confkv:int8_share=0.0",
        "confkv:span=1",
        "confkv:span=7",
    }
    parts = read_json(folder / "result.json")["summary"]["parts"]
    on, off = parts["int8"]["measures"]["perplexity"]
    low, high = on["difference_interval"]
    assert low <= on["difference"] <= high
    assert off["difference"] is None
    assert on["value"] == pytest.approx(off["value"] + on["difference"])
    assert parts["span"]["measures"]["needle"][1]["items"] == 1
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert max(map(len, shown.replace(str(folder), "").splitlines())) <= 100


def test_recall_at_random_takes_the_share_that_the_gate_had_on_the_item(tmp_path: Path) -> None:
    folder, shown = run(ablation(tmp_path, "recall", measures=("perplexity",)), sure_at_times(tiny_llama()))
    rows = {row["key"]: row for row in read_json_lines(folder / "items.jsonl")}
    for text in ("0.txt", "1.txt"):
        gated = rows[f"perplexity 400 {text} confkv+recall:recall=gated"]
        chance = rows[f"perplexity 400 {text} confkv+recall:recall=random:as gated"]
        always = rows[f"perplexity 400 {text} confkv+recall:recall=always"]
        assert 0 < gated["recalled"] < gated["steps"] == always["recalled"] == always["steps"]
        assert chance["recalled"] / chance["steps"] == pytest.approx(gated["recalled"] / gated["steps"], abs=0.25)
        assert chance["nats"] != gated["nats"]
        assert gated["cold_kv_bytes"] > 0
    assert "recalled" in shown
    assert max(map(len, shown.replace(str(folder), "").splitlines())) <= 100


def test_segments_are_ablated_on_transcripts(tmp_path: Path) -> None:
    bench = ablation(tmp_path, "segments", limit=3, depths=3)
    bench.common = replace(bench.common, contexts=(900,))
    folder, shown = run(bench)
    rows = read_json_lines(folder / "items.jsonl")
    assert {(row["measure"], row["run"]) for row in rows} == {
        ("agent", "full"),
        ("agent", "confkv"),
        ("agent", "confkv:segments=False"),
    }
    (found,) = [read_json(folder / "result.json")["summary"]["parts"]["segments"]["measures"]["agent"]]
    assert [row["name"] for row in found] == ["on", "off"]
    assert "needles, transcript" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("parts", "options", "named"),
    [
        (("int8",), {"policies": "confkv,h2o"}, "varies one policy"),
        (("int8",), {"measures": ("beauty",)}, "beauty"),
        (("int8",), {"scored": 1}, "--scored"),
        (("int8",), {"forms": ("song",)}, "--forms"),
        (("colour",), {}, "colour"),
    ],
)
def test_bad_ablations_are_refused(tmp_path: Path, parts: tuple[str, ...], options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        ablation(tmp_path, *parts, **options)


def test_a_difference_of_shares_that_never_differ_is_not_certain() -> None:
    low, high = paired_share_interval(np.ones((8, 2)))
    assert low == pytest.approx(-high)
    assert 0.3 < high < 0.5
    pairs = np.array([[1.0, 0.0]] * 7 + [[1.0, 1.0]] * 9)
    low, high = paired_share_interval(pairs)
    assert 0.0 < low < 7 / 16 < high <= 1.0
