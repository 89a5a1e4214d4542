"""A run's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from confkv_agents.errors import RecordError
from confkv_agents.evaluation.files import read_json
from confkv_agents.evaluation.recording import RunRecorder
from confkv_agents.evaluation.records import redacted, slug
from tests.evaluation.fakes import FakeTask


def test_a_run_says_what_it_was(tmp_path: Path):
    (tmp_path / "agent.py").write_text("NEEDS_MODEL = False")
    with RunRecorder(
        tmp_path / "runs",
        configuration={"policy": "confkv"},
        files={"agent": tmp_path / "agent.py"},
        name="a b/c",
    ) as run:
        assert read_json(run.directory / "run.json")["status"] == "running"
        run.episode(FakeTask(key="shop/lamp:3"), 7)
    record = read_json(run.directory / "run.json")
    assert record["status"] == "finished"
    assert record["configuration"] == {"policy": "confkv"}
    assert len(record["files"]["agent"]) == 64
    assert record["versions"]["torch"]
    assert record["episodes"] == ["shop-lamp-3-seed7"]
    assert run.directory.name.endswith("-a-b-c")
    episode = read_json(run.directory / "shop-lamp-3-seed7" / "episode.json")
    assert (episode["status"], episode["result"], episode["seed"]) == ("running", None, 7)


def test_runs_and_episodes_of_the_same_name_get_folders_of_their_own(tmp_path: Path):
    runs = [RunRecorder(tmp_path, configuration={}, name="x") for _ in range(3)]
    assert len({run.directory for run in runs}) == 3
    episodes = [runs[0].episode(FakeTask(), 7) for _ in range(3)]
    assert len({episode.directory for episode in episodes}) == 3


def test_the_hash_follows_the_configuration_only(tmp_path: Path):
    def hash_of(**details: object) -> str:
        return RunRecorder(tmp_path, configuration={"a": 1}, details=details).configuration_hash

    assert hash_of() == hash_of(headed=True)
    assert hash_of() != RunRecorder(tmp_path, configuration={"a": 2}).configuration_hash


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt()])
def test_a_run_that_is_left_by_an_exception_says_so(tmp_path: Path, error: BaseException):
    with pytest.raises(type(error)), RunRecorder(tmp_path, configuration={}) as run:
        raise error
    status = read_json(run.directory / "run.json")["status"]
    assert status == ("failed" if isinstance(error, Exception) else "interrupted")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="file"):
        RunRecorder(tmp_path / "file", configuration={})


def test_secrets_of_addresses_are_not_recorded(tmp_path: Path):
    run = RunRecorder(
        tmp_path,
        configuration={},
        details={"sites": {"shop": "http://ada:s3cret@127.0.0.1:8/x?token=t0p&q=1"}},
    )
    text = (run.directory / "run.json").read_text()
    assert "s3cret" not in text
    assert "t0p" not in text
    assert redacted(["http://127.0.0.1:8/a@b"]) == ["http://127.0.0.1:8/a@b"]


def test_folder_names_are_safe():
    assert slug("../../etc/passwd") == "etc-passwd"
    assert slug("???") == "unnamed"
    assert len(slug("x" * 500)) == 100
