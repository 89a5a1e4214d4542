"""Valid JSON that is no record is refused by file, line and field; a last line that was cut is left out."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from confkv_agents.errors import RecordError
from confkv_agents.evaluation.bench.recorded import read_recorded
from confkv_agents.evaluation.files import append_json_line, read_json_lines, to_json, write_json
from confkv_agents.evaluation.records import StepRecord, read_record, read_rows
from confkv_agents.evaluation.report import write_reports

STEP = json.loads(to_json(StepRecord(index=1, url="http://x/", action="click [1]")))


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("episodes.jsonl", "{}", "field 'task'"),
        ("episodes.jsonl", "5", "dictionary"),
        ("episodes.jsonl", '{"task": "a", "seed": "1"}', "field 'seed'"),
        ("steps.jsonl", '{"a": 1}', "field 'index'"),
        ("steps.jsonl", json.dumps({**STEP, "seconds": {"model": 1.0}}), "'environment' is missing"),
        ("steps.jsonl", json.dumps({**STEP, "budget": {"min": 1}}), "'mean' is missing"),
        ("steps.jsonl", json.dumps({**STEP, "parsed": "yes"}), "field 'parsed'"),
        ("trace.jsonl", '{"step": 1, "tokens": [3]}', "field 'tokens.0'"),
        ("items.jsonl", '{"name": 1}', "field 'key'"),
    ],
)
def test_a_row_that_is_none_is_refused_by_file_line_and_field(tmp_path: Path, name: str, line: str, said: str) -> None:
    (tmp_path / name).write_text(f"\n{line}\n")
    with pytest.raises(RecordError) as caught:
        read_rows(tmp_path / name)
    assert (
        f"{name}, line 2" in str(caught.value) and said in str(caught.value) and "remove the line" in str(caught.value)
    )


@pytest.mark.parametrize("kind", ["run", "episode", "batch"])
def test_a_record_that_holds_only_its_schema_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"{kind}.json"
    write_json(path, {"schema": f"confkv-{kind}/1"})
    with pytest.raises(RecordError, match=rf"{kind}\.json is damaged.*field '\w+'"):
        read_record(path, f"confkv-{kind}/1")
    with pytest.raises(RecordError, match=rf"{kind}\.json is damaged"):
        write_reports(tmp_path)
    if kind == "episode":
        with pytest.raises(RecordError, match=r"episode\.json is damaged"):
            read_recorded(tmp_path)


def test_older_rows_get_defaults_and_unknown_fields_stay(tmp_path: Path) -> None:
    append_json_line(tmp_path / "steps.jsonl", {"index": 1, "url": "", "action": "stop", "added_later": 2})
    (row,) = read_rows(tmp_path / "steps.jsonl")
    assert row == {**STEP, "url": "", "action": "stop", "added_later": 2}


@pytest.mark.parametrize("cut", [b'{"index": 2, "ur', b'{"url": "\xc3'])
def test_a_last_line_that_was_cut_is_left_out_and_not_built_upon(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, cut: bytes
) -> None:
    path = tmp_path / "steps.jsonl"
    append_json_line(path, STEP)
    whole = path.read_bytes()
    path.write_bytes(whole + cut)
    with caplog.at_level(logging.WARNING):
        assert read_rows(path) == [STEP]
    assert "steps.jsonl" in caplog.text and "cut off" in caplog.text
    append_json_line(path, {**STEP, "index": 2})
    assert [row["index"] for row in read_json_lines(path)] == [1, 2]
    path.write_bytes(whole + cut + b"\n" + whole)
    with pytest.raises(RecordError, match="line"):
        read_rows(path)


def test_a_whole_row_without_its_line_end_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"key": "a"}')
    append_json_line(path, {"key": "b"})
    assert [row["key"] for row in read_rows(path)] == ["a", "b"]
