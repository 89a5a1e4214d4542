"""Conversations under every policy on tiny random models: figures, ratios by hand, resuming, pictures."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch

from confkv_agents.engine import Engine
from confkv_agents.engine.conversation import Turn
from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.bench.conversations import Pages, reading_anew, through_engine, with_new
from confkv_agents.evaluation.bench.needles import Haystack
from confkv_agents.evaluation.bench.policies import parse_policies
from confkv_agents.evaluation.bench.sessions import (
    STOCK,
    SessionsBench,
    compared_turns,
    contender,
    parallel_summary,
)
from confkv_agents.evaluation.bench.suite import Item, Row, Setup
from confkv_agents.evaluation.files import read_json, read_json_lines
from tests.engine.tiny import tiny_llama, tiny_smolvlm
from tests.evaluation.bench.test_suite import TEXT, common, run

torch.set_num_threads(1)


def bench(folder: Path, kind: type[SessionsBench] = SessionsBench, **changes: Any) -> SessionsBench:
    own = {field.name for field in dataclasses.fields(SessionsBench)}
    given: dict[str, Any] = {"turns": 5, "observation": 80, "reply": 6, "parallel": 0, "parallel_reply": 6}
    given |= {name: changes.pop(name) for name in list(changes) if name in own}
    return kind(common(folder, contexts=(80,), **changes), **given)


class Stopped(SessionsBench):
    """Is interrupted in its second round."""

    def measure(self, setup: Setup, item: Item) -> Row:
        if item.what["round"] == 1:
            raise KeyboardInterrupt
        return super().measure(setup, item)


def test_only_the_stock_cache_reads_anything_twice(tmp_path: Path) -> None:
    loaded = tiny_llama()
    folder, shown = run(bench(tmp_path, parallel=2), loaded)
    summary = read_json(folder / "result.json")["summary"]
    assert list(summary["contenders"]) == [STOCK, "full", "confkv"]
    rows = read_json_lines(folder / "items.jsonl")[0]["contenders"]
    prompts = [row["prompt"] for row in rows[STOCK]]
    assert [row["read"] for row in rows[STOCK]] == prompts
    for label in ("full", "confkv"):
        own = summary["contenders"][label]
        assert own["series"]["reused"][0] == 0 and all(own["series"]["reused"][1:])
        # the last token of an answer is chosen but never fed, so it is read with the next page
        assert [row["read"] - row["new"] for row in rows[label]] == [0, 1, 1, 1, 1]
        assert own["tokens_read"] == own["tokens_new"] + 4
        assert own["read_ratio"] == own["tokens_read"] / own["tokens_new"] < 1.01
        assert len(own["series"]["kv_bytes"]) == 5
    total = sum(prompts)
    stock = summary["contenders"][STOCK]
    assert stock["read_ratio"] == total / (prompts[-1] - sum(row["generated"] for row in rows[STOCK][:-1]))
    last = rows[STOCK][-1]
    assert last["kv_bytes"] == (last["prompt"] + last["generated"] - 1) * loaded.kv_bytes_per_token
    assert summary["contenders"]["confkv"]["last_kv_bytes"] < summary["contenders"]["full"]["last_kv_bytes"]
    assert loaded.text_config._attn_implementation == "confkv"
    assert set(summary["parallel"]) == {"full", "confkv"}
    assert summary["parallel"]["full"]["answers"] == summary["parallel"]["full"]["equal"] == 2
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert "text only, since the model takes no pictures" in shown
    assert "2 conversations at once" in shown
    assert max(map(len, shown.replace(str(folder), "").splitlines())) <= 100


def test_full_kv_with_reuse_answers_as_the_stock_cache_does(tmp_path: Path) -> None:
    loaded = tiny_llama()
    pages = Pages(Haystack(loaded.tokenizer, [TEXT]), 100, False, "same")
    config = parse_policies("full", 150)["full"]
    talks: dict[str, tuple[Turn, ...]] = {"engine": (), "stock": ()}
    with Engine(lambda: loaded, "tiny") as engine:
        says = {"engine": through_engine(engine, config, "x", 8), "stock": reading_anew(engine, 8)}
        for number in (1, 2, 3):
            for way, say in says.items():
                answer, row = say((*talks[way], pages.turn(number)))
                assert row["generated"] == 8 and row["first_s"] < row["latency_s"]
                talks[way] = (*talks[way], pages.turn(number), Turn("assistant", (answer,)))
    assert talks["engine"] == talks["stock"]


def test_a_model_that_takes_pictures_is_shown_one_per_page(tmp_path: Path) -> None:
    loaded = tiny_smolvlm()
    folder, shown = run(bench(tmp_path, policies="full", turns=4), loaded)
    summary = read_json(folder / "result.json")["summary"]
    rows = read_json_lines(folder / "items.jsonl")[0]["contenders"]
    assert summary["pictures"] is True and "a picture each" in shown
    assert [row["read"] - row["new"] for row in rows["full"]] == [0, 1, 1, 1]
    assert rows["full"][0]["prompt"] > 80 + 4  # the page and its picture
    assert abs(rows[STOCK][0]["prompt"] - rows["full"][0]["prompt"]) <= 2


def test_pages_have_the_tokens_asked_for_and_differ(tmp_path: Path) -> None:
    loaded = tiny_llama()
    pages = Pages(Haystack(loaded.tokenizer, [TEXT]), 100, True, 7)
    turns = [pages.turn(number) for number in (1, 2, 3)]
    assert turns == [pages.turn(number) for number in (1, 2, 3)]
    assert len({turn.text for turn in turns}) == len({turn.pictures[0].digest for turn in turns}) == 3
    for turn in turns:
        assert 96 <= len(loaded.tokenizer.encode(turn.text, add_special_tokens=False)) <= 100
    with pytest.raises(ConfigError, match="--observation"):
        Pages(Haystack(loaded.tokenizer, [TEXT]), 5, False, 7)


def test_interrupted_rounds_continue_where_they_stopped(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(bench(tmp_path, Stopped, turns=4, rounds=2, policies="full"))
    (folder,) = (tmp_path / "out").iterdir()
    assert read_json(folder / "result.json")["items"] == {"asked": 2, "measured": 1}
    again, shown = run(bench(tmp_path, turns=4, rounds=2, policies="full"))
    assert again == folder and "1 measured before" in shown
    result = read_json(folder / "result.json")
    assert (result["status"], result["summary"]["rounds"]) == ("finished", 2)
    other, _ = run(bench(tmp_path, turns=4, reply=5, policies="full"))
    assert other != folder


def row_of(turn: int, prompt: int, generated: int, read: int, latency: float | None) -> Row:
    figures = {"reused": prompt - read, "probed": 3, "first_s": 0.5, "tokens_per_s": 10.0}
    figures |= {"cpu_latency_s": 2 * latency if latency else None, "latency_s": latency}
    return {"turn": turn, "prompt": prompt, "generated": generated, "read": read, "kv_bytes": turn, **figures} | {
        "peak_kv_bytes": 10 * turn
    }


def test_ratios_are_those_computed_by_hand() -> None:
    rows = with_new(
        [
            row_of(1, 100, 10, 100, 9.0),
            row_of(2, 150, 10, 41, 1.0),
            row_of(3, 200, 10, 41, None),
            row_of(4, 250, 10, 91, 1.5),
        ]
    )
    assert [row["new"] for row in rows] == [100, 40, 40, 40]
    summary = contender([rows], [2, 3], [3, 4])
    assert (summary["tokens_read"], summary["tokens_new"], summary["tokens_probed"]) == (273, 220, 12)
    assert summary["read_ratio"] == 273 / 220
    assert summary["latency_ratio"] == summary["cpu_ratio"] == 1.5
    assert summary["series"]["latency_s"] == [9.0, 1.0, None, 1.5]
    assert (summary["last_kv_bytes"], summary["peak_kv_bytes"]) == (4, 40)
    two = contender([rows, with_new([row_of(turn, 100 * turn, 10, 100, 3.0) for turn in (1, 2, 3, 4)])], [2], [4])
    assert two["series"]["latency_s"] == [6.0, 2.0, 3.0, 2.25]
    assert two["latency_ratio"] == 2.25 / 2.0


def test_late_turns_are_compared_with_early_ones_but_never_with_the_first() -> None:
    assert compared_turns(20) == ([4, 5, 6], [18, 19, 20])
    assert compared_turns(4) == ([2, 3, 4], [2, 3, 4])


def test_throughput_at_once_is_tokens_per_second_against_one_after_the_other() -> None:
    row = {"serial_s": 8.0, "together_s": 3.0, "serial_cpu_s": 8.0, "together_cpu_s": 4.0, "answers": 4, "equal": 3}
    found = parallel_summary([{**row, "serial_tokens": 80, "together_tokens": 60}])
    assert found["throughput_ratio"] == pytest.approx(2.0)
    assert found["cpu_ratio"] == pytest.approx(1.5)
    assert (found["answers"], found["equal"]) == (4, 3)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"turns": 3}, "--turns"),
        ({"reply": 1}, "--reply"),
        ({"parallel": 1}, "--parallel"),
        ({"rounds": 0}, "--rounds"),
        ({"turns": 40}, "positions"),
        ({"policies": "full,full:chunk=256"}, "same cache"),
        ({"policies": "stock"}, "stock"),
    ],
    ids=str,
)
def test_what_cannot_be_measured_is_refused_first(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        run(bench(tmp_path, **changes))
    assert not (tmp_path / "out").exists()
