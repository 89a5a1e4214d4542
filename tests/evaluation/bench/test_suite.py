"""Benchmarks on a tiny random model: what they write, how they resume, what they refuse."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from confkv_agents.cache import CacheConfig
from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.bench.latency import STOCK, LatencyBench, TimedCache
from confkv_agents.evaluation.bench.needle import NeedleBench
from confkv_agents.evaluation.bench.perplexity import PerplexityBench, block_sums, stream
from confkv_agents.evaluation.bench.policies import parse_policies
from confkv_agents.evaluation.bench.progress import Reporter
from confkv_agents.evaluation.bench.suite import Bench, Common, Item, Row, Setup, hash_of, identity_of, run_bench
from confkv_agents.evaluation.bench.texts import Text
from confkv_agents.evaluation.files import read_json, read_json_lines
from tests.engine.tiny import script, tiny_llama

torch.set_num_threads(1)
TEXT = " ".join(f"This is sentence {number} of a text about nothing much." for number in range(120))


def common(folder: Path, **changes: Any) -> Common:
    texts = folder / "texts"
    if not texts.exists():
        texts.mkdir()
        for number in range(3):
            (texts / f"{number}.txt").write_text(f"Text {number}. {TEXT[number * 50 :]}")
    options: dict[str, Any] = {
        "model": "tiny",
        "policies": "full,confkv",
        "budget": 150,
        "contexts": (500,),
        "texts": texts,
        "out": folder / "out",
    }
    return Common(**{**options, **changes})


def run(bench: Bench, loaded: Any = None) -> tuple[Path, str]:
    stream_ = io.StringIO()
    console = Console(file=stream_, width=100, highlight=False)
    folder = run_bench(bench, Reporter(console), loaded or tiny_llama())
    return folder, stream_.getvalue()


def setup_of(bench: Bench, texts: tuple[str, ...] = (TEXT,)) -> Setup:
    configs = parse_policies(bench.common.policies, bench.common.budget)
    return Setup(bench.common, configs, [Text(str(n), text) for n, text in enumerate(texts)], tiny_llama())


class Stopped(NeedleBench):
    """Is interrupted at its second item."""

    count = 0

    def measure(self, setup: Setup, item: Item) -> Row:
        self.count += 1
        if self.count == 2:
            raise KeyboardInterrupt
        return super().measure(setup, item)


class Counting(NeedleBench):
    """Counts what it measures."""

    count = 0

    def measure(self, setup: Setup, item: Item) -> Row:
        self.count += 1
        return super().measure(setup, item)


def steady(row: Row) -> Row:
    return {key: value for key, value in row.items() if not key.endswith("_s")}


def test_interrupted_run_keeps_what_is_measured_and_continues(tmp_path: Path) -> None:
    options = common(tmp_path, limit=2)
    with pytest.raises(KeyboardInterrupt):
        run(Stopped(options, depths=3))
    (folder,) = (tmp_path / "out").iterdir()
    kept = read_json(folder / "result.json")
    assert (kept["status"], kept["items"]) == ("interrupted", {"asked": 4, "measured": 1})
    assert len(read_json_lines(folder / "items.jsonl")) == 1
    again = Counting(options, depths=3)
    assert run(again)[0] == folder
    assert again.count == 3
    assert read_json(folder / "result.json")["status"] == "finished"
    whole, _ = run(Counting(dataclasses.replace(options, out=tmp_path / "other"), depths=3))
    left, right = (read_json_lines(each / "items.jsonl") for each in (folder, whole))
    assert [steady(row) for row in left] == [steady(row) for row in right]


def test_finished_run_measures_nothing_again_unless_fresh(tmp_path: Path) -> None:
    options = common(tmp_path, limit=1)
    run(NeedleBench(options))
    again, fresh = Counting(options), Counting(dataclasses.replace(options, fresh=True))
    _, shown = run(again)
    assert again.count == 0
    assert "2 measured before" in shown
    assert "/1 " in shown
    run(fresh)
    assert fresh.count == 2


def test_more_cases_and_policies_continue_in_the_same_folder(tmp_path: Path) -> None:
    first, _ = run(NeedleBench(common(tmp_path, limit=1)))
    wider = Counting(common(tmp_path, limit=2, policies="full,confkv,window"))
    second, _ = run(wider)
    assert second == first
    assert wider.count == 4


def test_hash_follows_what_figures_depend_on(tmp_path: Path) -> None:
    def digest(texts: tuple[str, ...] = (TEXT,), depths: int = 8, **changes: Any) -> str:
        bench = NeedleBench(common(tmp_path, **changes), depths=depths)
        return hash_of(identity_of(bench, setup_of(bench, texts)))

    base = digest()
    assert digest() == base
    assert digest(limit=3, policies="window", contexts=(700,)) == base
    others = [digest(seed=1), digest(budget=160), digest(texts=("else",)), digest(depths=5)]
    assert len({base, *others}) == 5
    assert hash_of({"a": 1, "b": 2}) == hash_of({"b": 2, "a": 1})


def test_needle_results_state_model_versions_bytes_and_summary(tmp_path: Path) -> None:
    folder, shown = run(NeedleBench(common(tmp_path), depths=2, repeats=2))
    result = read_json(folder / "result.json")
    assert result["schema"] == "confkv-bench/1"
    assert result["bench"] == "needle"
    assert result["model"]["family"] == "llama"
    assert result["model"]["budget_bytes"] == 150 * result["model"]["kv_bytes_per_token"]
    assert {"torch", "transformers", "threads"} <= set(result["versions"])
    assert result["options"]["common"]["seed"] == 0
    assert result["policies"]["confkv"]["budget"] == 150
    assert result["items"] == {"asked": 8, "measured": 8}
    full, ours = (result["summary"]["policies"][name] for name in ("full", "confkv"))
    assert full["cases"] == ours["cases"] == 4
    assert ours["peak_kv_bytes"] > 0
    assert len(ours["grid"]) == 2
    assert sum(cell["cases"] for cell in ours["grid"]) == 4
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert max(map(len, shown.replace(str(folder), "").splitlines())) <= 100
    assert "peak MiB" in shown


def test_needle_counts_the_right_answer(tmp_path: Path) -> None:
    bench = NeedleBench(common(tmp_path, policies="full,window"), depths=1, repeats=1)
    prompt = bench._ask(setup_of(bench)).prompt(bench._grid.case(500, 0))
    loaded = script(tiny_llama(), [f" {prompt.needle.answer}", " something else"])
    setup = Setup(bench.common, setup_of(bench).configs, setup_of(bench).texts, loaded)
    rows = [bench.measure(setup, item) for item in bench.items(setup)]
    assert [row["ok"] for row in rows] == [True, False]
    rows = [{"key": item.key, **row} for item, row in zip(bench.items(setup), rows, strict=True)]
    summary = bench.summarize(setup, rows)["policies"]
    assert summary["full"]["accuracy"] == 1.0
    assert summary["window"]["retention"] == 0.0


def test_cases_cover_every_depth_before_they_repeat_one_and_forms_take_turns(tmp_path: Path) -> None:
    bench = NeedleBench(common(tmp_path, policies="full"), depths=4, repeats=3)
    what = [item.what for item in bench.items(setup_of(bench))]
    assert [case["depth"] for case in what[:4]] == [0.0, 0.3333, 0.6667, 1.0]
    assert {case["form"] for case in what if case["depth"] == 0.0} == {"number", "word", "fact"}


def test_perplexity_of_full_is_the_models_own(tmp_path: Path) -> None:
    loaded = tiny_llama()
    ids = loaded.tokenizer.encode(TEXT, add_special_tokens=False)[:120]
    with torch.inference_mode():
        row = stream(loaded, CacheConfig(policy="full", chunk=32), ids, 80)
        logits = loaded.model(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1)
    expected = [-float(logits[place - 1, ids[place]]) for place in range(80, 120)]
    assert row["nats"] == pytest.approx(expected, abs=1e-4)
    assert len(row["nats"]) == 40


def test_perplexity_evicts_while_it_scores(tmp_path: Path) -> None:
    loaded = tiny_llama()
    ids = loaded.tokenizer.encode(TEXT, add_special_tokens=False)[:420]
    with torch.inference_mode():
        row = stream(loaded, CacheConfig(policy="window", budget=100, chunk=32), ids, 300)
    assert row["usage"]["stored_slots"] <= 100
    assert row["budget"] == 100


def test_perplexity_results_pair_policies_with_full(tmp_path: Path) -> None:
    options = common(tmp_path, contexts=(300,), policies="full,window,confkv")
    folder, shown = run(PerplexityBench(options, scored=40, block=10))
    part = read_json(folder / "result.json")["summary"]["contexts"]["300"]
    assert part["policies"]["full"]["difference"] == 0.0
    assert part["policies"]["full"]["tokens"] == 120
    low, high = part["policies"]["window"]["difference_interval"]
    assert low <= part["policies"]["window"]["difference"] <= high
    assert len(part["policies"]["confkv"]["texts"]) == 3
    assert (folder / "plot.png").exists()
    assert max(map(len, shown.replace(str(folder), "").splitlines())) <= 100


def test_block_sums_keep_the_rest() -> None:
    assert block_sums([1, 2, 3, 4, 5], [1, 1, 1, 1, 1], 2).tolist() == [[3, 2, 2], [7, 2, 2], [5, 1, 1]]


def test_perplexity_refuses_texts_that_are_too_short(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no text has the 10,500 tokens"):
        PerplexityBench(common(tmp_path, contexts=(10_000,))).items(
            dataclasses.replace(setup_of(PerplexityBench(common(tmp_path))), loaded=tiny_llama(positions=20_000))
        )


def test_latency_results_hold_the_stock_cache_and_every_policy(tmp_path: Path) -> None:
    loaded = tiny_llama()
    folder, shown = run(LatencyBench(common(tmp_path, contexts=(200, 400)), rounds=2, decode=8, turn=4), loaded)
    summary = read_json(folder / "result.json")["summary"]
    assert list(summary["contexts"]) == ["200", "400"]
    at = summary["contexts"]["400"]
    assert list(at) == [STOCK, "full", "confkv"]
    assert at[STOCK]["decode_speedup"] == at[STOCK]["read_speedup"] == 1.0
    assert at["confkv"]["rounds"] == 2
    assert 0 < at["confkv"]["observe_share"] + at["confkv"]["settle_share"] < 1
    assert at[STOCK]["peak_kv_bytes"] == 408 * loaded.kv_bytes_per_token
    assert loaded.text_config._attn_implementation == "confkv"
    assert (folder / "plot.png").exists()
    assert max(map(len, shown.replace(str(folder), "").splitlines())) <= 100


def test_timed_cache_computes_what_the_plain_one_does() -> None:
    loaded = tiny_llama()
    ids = loaded.tokenizer.encode(TEXT, add_special_tokens=False)[:330]
    tokens = torch.tensor([ids])
    config = CacheConfig(policy="confkv", budget=150)
    with torch.inference_mode():
        plain = stream(loaded, config, ids, 300)
        cache = TimedCache(loaded.model.config, config)
        cache.timing = True
        logits = loaded.model(input_ids=tokens[:, :300], cache=cache, use_cache=True).logits[:, -1]
        cache.observe(logits)
    assert cache.observe_s > 0
    assert cache.settle_s > 0
    assert len(plain["nats"]) == 30


def test_stock_is_no_name_for_a_policy_and_positions_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="positions"):
        bench = NeedleBench(common(tmp_path, contexts=(4095,)))
        bench.items(setup_of(bench))


@pytest.mark.parametrize(
    "changes", [{"contexts": ()}, {"contexts": (0,)}, {"threads": 0}, {"limit": 0}], ids=lambda value: str(value)
)
def test_options_out_of_range_are_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="--"):
        common(tmp_path, **changes)


def test_benchmark_options_out_of_range_are_refused(tmp_path: Path) -> None:
    options = common(tmp_path)
    for make in (
        lambda: NeedleBench(options, depths=0),
        lambda: NeedleBench(options, forms=("song",)),
        lambda: PerplexityBench(options, scored=0),
        lambda: LatencyBench(options, decode=3, turn=4),
    ):
        with pytest.raises(ConfigError, match="--"):
            make()


def test_tables_keep_their_columns_on_a_narrow_terminal(tmp_path: Path) -> None:
    shown = io.StringIO()
    options = common(tmp_path, policies="full,confkv+recall", limit=1)
    reporter = Reporter(Console(file=shown, width=50, highlight=False))
    run_bench(NeedleBench(options, later_turn=True), reporter, tiny_llama())
    for word in ("confkv+recall", "peak MiB", "cold MiB", "recalled", "probed"):
        assert word in shown.getvalue()
