"""Records are valid JSON whatever happens."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from confkv_agents.errors import RecordError
from confkv_agents.evaluation.files import (
    append_json_line,
    read_json,
    read_json_lines,
    sha256_of,
    to_json,
    write_bytes,
    write_json,
)

_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(_ANYTHING)
def test_any_value_becomes_one_line_of_standard_json(value):
    text = to_json(value)
    assert text.splitlines() == [text]
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_text_comes_back_as_it_was(text):
    assert json.loads(to_json({"text": text}))["text"] == text


def test_lone_surrogates_do_not_break_the_file(tmp_path: Path):
    append_json_line(tmp_path / "rows.jsonl", {"text": "a\ud800b"})
    assert read_json_lines(tmp_path / "rows.jsonl") == [{"text": "a?b"}]


def test_lines_with_unicode_line_ends_stay_one_row(tmp_path: Path):
    for text in ("a\u2028b", "a\x85b", "a\nb"):
        append_json_line(tmp_path / "rows.jsonl", {"text": text})
    rows = (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(row)["text"] for row in rows] == ["a\u2028b", "a\x85b", "a\nb"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.json"
    write_json(path, {"old": 1})
    monkeypatch.setattr("confkv_agents.evaluation.files.os.fsync", _no_space)
    with pytest.raises(RecordError, match=r"cannot write .*a\.json: No space left"):
        write_bytes(path, b"new")
    assert read_json(path) == {"old": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def _no_space(_descriptor: int) -> None:
    raise OSError(28, "No space left on device")


def _append_many(path: Path, name: int) -> None:
    for number in range(20):
        append_json_line(path, {"process": name, "row": number})


def test_rows_of_processes_that_write_at_once_are_all_there(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_append_many, args=(path, name)) for name in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    rows = {(row["process"], row["row"]) for row in read_json_lines(path)}
    assert rows == {(name, number) for name in range(3) for number in range(20)}


def test_broken_records_are_named_with_their_place(tmp_path: Path):
    (tmp_path / "a.json").write_text('{"a": 1,\n oops}')
    with pytest.raises(RecordError, match=r"a\.json, line 2, column 2"):
        read_json(tmp_path / "a.json")
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"b"\n')
    with pytest.raises(RecordError, match=r"a\.jsonl, line 2"):
        read_json_lines(tmp_path / "a.jsonl")
    with pytest.raises(RecordError, match="is missing"):
        read_json(tmp_path / "none.json")


def test_rows_that_are_not_text_are_refused_by_name(tmp_path: Path):
    (tmp_path / "steps.jsonl").write_bytes(b"\xff\xfe{}")
    with pytest.raises(RecordError, match=r"steps\.jsonl cannot be read"):
        read_json_lines(tmp_path / "steps.jsonl")


def test_a_folder_has_one_hash_that_follows_names_and_contents(tmp_path: Path):
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "a.py").write_text("1")
    first = sha256_of(folder)
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "a.pyc").write_text("cache")
    assert sha256_of(folder) == first
    (folder / "a.py").rename(folder / "b.py")
    assert sha256_of(folder) != first
