"""Trace files: what is written is read back, and what is wrong is named with file, line and field."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confkv_agents.cache import CacheConfig, StepTrace, Trace, TraceFile, read_trace
from confkv_agents.errors import TraceError

STEP = StepTrace(
    position=300,
    tokens=1,
    kind="decode",
    confidence=0.25,
    smoothed=0.5,
    budget=412.5,
    full=250.0,
    int8=300.5,
    cold=1000,
    evicted=64,
    demoted=32,
    promoted=8,
    recalled=True,
    kv_bytes=123456,
    cold_bytes=7890,
    evicted_by_segment={"observation": 60, "own": 4},
    demoted_by_segment={"text": 32},
)
READ = StepTrace(position=0, tokens=256, kind="read", budget=512, kv_bytes=100)

counts = st.integers(0, 2**40)
means = st.floats(0, 1e9)
shares = st.none() | st.floats(0, 1)
segments = st.dictionaries(st.text(max_size=5), counts, max_size=3)
steps = st.builds(
    StepTrace,
    position=counts,
    tokens=counts,
    kind=st.sampled_from(["read", "probe", "decode"]),
    confidence=shares,
    smoothed=shares,
    budget=means,
    full=means,
    int8=means,
    cold=means,
    evicted=counts,
    demoted=counts,
    promoted=counts,
    recalled=st.booleans(),
    kv_bytes=counts,
    cold_bytes=counts,
    evicted_by_segment=segments,
    demoted_by_segment=segments,
)


@given(st.lists(steps, max_size=4))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, records: list[StepTrace]):
    path = tmp_path_factory.mktemp("trace") / "x.jsonl"
    trace = Trace()
    trace.extend(records)
    assert read_trace(trace.write(path)).records == records


def test_the_first_line_says_what_was_traced(tmp_path: Path):
    trace = Trace(model="tiny", config=CacheConfig(budget=256), task="shop/x")
    header = json.loads(trace.write(tmp_path / "x.jsonl").read_text().splitlines()[0])
    assert header["schema"] == "confkv-trace/1"
    assert (header["model"], header["policy"], header["task"]) == ("tiny", "confkv", "shop/x")
    assert header["config"]["budget"] == 256
    assert {"torch", "transformers", "confkv-agents", "python"} <= set(header["versions"])
    assert read_trace(tmp_path / "x.jsonl").facts == trace.facts


def test_a_trace_replaces_the_file_and_leaves_nothing_beside_it(tmp_path: Path):
    (tmp_path / "x.jsonl").write_text("old")
    Trace().write(tmp_path / "x.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["x.jsonl"]
    assert read_trace(tmp_path / "x.jsonl").records == []


def test_a_failed_write_leaves_the_file_as_it_was(tmp_path: Path):
    (tmp_path / "x.jsonl").write_text("old")
    trace = Trace(odd=object())
    with pytest.raises(TypeError):
        trace.write(tmp_path / "x.jsonl")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_a_stream_holds_every_step_once_the_next_one_comes(tmp_path: Path):
    with TraceFile(tmp_path / "x.jsonl", model="tiny") as stream:
        for number, record in enumerate((READ, STEP)):
            stream.add(record)
            assert len(read_trace(tmp_path / "x.jsonl").records) == number
    trace = read_trace(tmp_path / "x.jsonl")
    assert (trace.records, trace.facts["model"], trace.cut) == ([READ, STEP], "tiny", False)
    stream.close()
    with pytest.raises(TraceError, match="was closed"):
        stream.add(STEP)


def test_the_last_record_can_be_amended_in_memory_and_in_a_stream(tmp_path: Path):
    trace = Trace()
    with TraceFile(tmp_path / "x.jsonl") as stream:
        for sink in (trace, stream):
            sink.add(STEP)
            sink.add(READ)
            sink.amend(STEP)
            sink.add(READ)
    assert trace.records == read_trace(tmp_path / "x.jsonl").records == [STEP, STEP, READ]


def test_a_last_line_cut_by_a_kill_is_left_out_and_told(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    trace = Trace()
    trace.extend([READ, STEP])
    path.write_text(trace.write(path).read_text()[:-40])
    cut = read_trace(path)
    assert (cut.records, cut.cut) == ([READ], True)


def test_a_copied_cache_starts_without_a_trace():
    trace = Trace()
    trace.add(STEP)
    assert copy.deepcopy({"trace": trace}) == {"trace": None}


def test_a_number_that_is_none_in_json_becomes_null(tmp_path: Path):
    trace = Trace()
    trace.add(StepTrace(position=0, tokens=1, kind="decode", confidence=float("nan")))
    assert read_trace(trace.write(tmp_path / "x.jsonl")).records[0].confidence is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "think"}, ["kind is 'think'", "read, probe, decode"]),
        ({"kind": ["read"]}, ["kind is ['read']"]),
        ({"position": -1}, ["position is -1"]),
        ({"position": True}, ["position is True"]),
        ({"tokens": 1.5}, ["tokens is 1.5", "integer"]),
        ({"confidence": 1.2}, ["confidence is 1.2", "0 to 1"]),
        ({"smoothed": "high"}, ["smoothed is 'high'"]),
        ({"budget": None}, ["budget is None"]),
        ({"full": "x" * 500}, ["full is 'xxx", "..."]),
        ({"recalled": 1}, ["recalled is 1", "true or false"]),
        ({"evicted_by_segment": {"own": -2}}, ["evicted_by_segment", "counts by segment"]),
        ({"demoted_by_segment": []}, ["demoted_by_segment"]),
        ({"colour": "red"}, ["unknown field 'colour'"]),
        ({"kv_bytes": ...}, ["field 'kv_bytes' is missing"]),
    ],
)
def test_a_wrong_field_is_named_with_file_and_line(tmp_path: Path, change: dict[str, Any], words: list[str]):
    trace = Trace()
    trace.extend([READ, STEP])
    lines = trace.write(tmp_path / "x.jsonl").read_text().splitlines()
    wrong = {key: value for key, value in {**json.loads(lines[2]), **change}.items() if value is not ...}
    (tmp_path / "x.jsonl").write_text("\n".join([*lines[:2], json.dumps(wrong), ""]))
    with pytest.raises(TraceError) as caught:
        read_trace(tmp_path / "x.jsonl")
    for word in [f"{tmp_path / 'x.jsonl'}, line 3", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["is empty"]),
        (b"\n", ["line 1, column 1"]),
        (b'{"schema": "confkv-trace/1"', ["ends within its first line"]),
        (b'{"schema": "confkv-trace/9"}\n', ["line 1", "confkv-trace/9", "confkv-trace/1"]),
        (b'{"step": 1, "tokens": [[0.1, 512, 1]]}\n', ["line 1", "names no schema"]),
        (b"[]\n", ["line 1", "object"]),
        (b"\xff\xfe\n", ["not UTF-8"]),
        (b'{"schema": "confkv-trace/1"}\n{"position": }\n', ["line 2, column 14"]),
        (b'{"schema": "confkv-trace/1"}\n' + b"[" * 100_000 + b"\n", ["line 2", "nested"]),
    ],
)
def test_a_file_that_is_no_trace_is_refused(tmp_path: Path, content: bytes, words: list[str]):
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    for word in [str(path), *words]:
        assert word in str(caught.value)


def test_places_that_cannot_be_read_or_written_are_named(tmp_path: Path):
    with pytest.raises(TraceError, match="does not exist"):
        read_trace(tmp_path / "none.jsonl")
    with pytest.raises(TraceError, match="is a folder"):
        read_trace(tmp_path)
    with pytest.raises(TraceError, match="cannot write"):
        Trace().write(tmp_path / "none" / "x.jsonl")
    with pytest.raises(TraceError, match="cannot write"):
        TraceFile(tmp_path / "none" / "x.jsonl")
