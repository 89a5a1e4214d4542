"""`confkv-agent pilot ...`: what the commands play and leave out, and what they refuse."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from confkv_agents.engine import weights
from confkv_agents.errors import ConfigError, ConfKVError, PluginError
from confkv_agents.evaluation.batch import api
from confkv_agents.pilot import agent_commands, data
from confkv_agents.pilot.commands import pilot_app


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = []

    def evaluate(tasks: Any, policies: Any, **options: Any) -> SimpleNamespace:
        calls.append({"tasks": tasks, "policies": policies} | options)
        return SimpleNamespace(summary={"infra_errors": int(options["budget"] == 999)})

    monkeypatch.setattr(api, "evaluate", evaluate)
    return calls


def test_it_plays_held_out_tasks_with_the_pilots_agent(tmp_path, played: list[dict[str, Any]]):
    command = [
        "eval",
        "--out",
        str(tmp_path),
        "--seeds",
        "3,5",
        "--template",
        "shop/read_fact",
        "--policies",
        "full,h2o",
    ]
    result = CliRunner().invoke(pilot_app, command)
    assert result.exit_code == 0, result.output
    (call,) = played
    assert [path.relative_to(tmp_path / "tasks").as_posix() for path in call["tasks"]] == [
        "shop/read_fact_3.json",
        "shop/read_fact_5.json",
    ]
    assert json.loads(call["tasks"][0].read_text())["x_confkv"]["template"] == "shop/read_fact"
    assert (call["policies"], call["agent"], call["model"], call["pictures"]) == ("full,h2o", "pilot", "pilot", "auto")


def test_blind_is_with_white_pictures(tmp_path, played: list[dict[str, Any]]):
    command = ["eval", "--out", str(tmp_path), "--seeds", "3", "--template", "shop/read_fact", "--blind"]
    assert CliRunner().invoke(pilot_app, command).exit_code == 0
    assert played[0]["pictures"] == "blank"


def test_failures_of_the_environment_show_in_how_it_ends(tmp_path, played: list[dict[str, Any]]):
    command = ["eval", "--out", str(tmp_path), "--seeds", "3", "--template", "shop/read_fact", "--budget", "999"]
    assert CliRunner().invoke(pilot_app, command).exit_code == 1 and len(played) == 1


def test_templates_that_need_eyes_are_not_left_out_in_silence(tmp_path):
    command = ["data", "--seeds", "1000", "--out", str(tmp_path / "d.jsonl"), "--template", "shop/picture_*"]
    result = CliRunner().invoke(pilot_app, command)
    assert isinstance(result.exception, ConfigError) and "add --visual" in str(result.exception)


def test_seeds_to_train_on_are_refused(tmp_path, played: list[dict[str, Any]]):
    result = CliRunner().invoke(pilot_app, ["eval", "--out", str(tmp_path / "x"), "--seeds", "3,1000"])
    assert isinstance(result.exception, ConfigError) and "seed 1000 is one to train on" in str(result.exception)
    assert not played and not (tmp_path / "x").exists()


def test_templates_are_left_out_of_the_data_by_name_or_pattern(tmp_path, monkeypatch: pytest.MonkeyPatch):
    asked: list[Any] = []
    monkeypatch.setattr(agent_commands, "_tokenizer", lambda _: None)
    monkeypatch.setattr(weights, "embedded_model", lambda: tmp_path)
    monkeypatch.setattr(data, "make_data", lambda options, *_: asked.append(options) or (0, 0))
    command = ["data", "--seeds", "1000", "--out", str(tmp_path / "d.jsonl"), "--visual"]
    for without in ([], ["--without", "classifieds/serial_*", "--without", "shop/read_fact"]):
        result = CliRunner().invoke(pilot_app, command + without)
        assert result.exit_code == 0, result.output
    everything, some = ({each.name for each in options.templates} for options in asked)
    assert everything - some == {"classifieds/serial_label", "classifieds/serial_relay", "shop/read_fact"}
    result = CliRunner().invoke(pilot_app, [*command, "--without", "shop/none"])
    assert isinstance(result.exception, PluginError)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["data", "--seeds", "1000", "--out", "folder"], "folder is a folder; name a file"),
        (["describe", "--out", "folder"], "folder is a folder; name a file"),
        (["describe", "--out", "file/x.jsonl"], "file is not a folder"),
        (["chat", "--out", "file/x.jsonl"], "file is not a folder"),
        (["reword", "folder", "--out", "new.jsonl"], "folder is a folder; name a file of JSON lines"),
        (["reword", "none.jsonl", "--out", "new.jsonl"], "none.jsonl is not there"),
        (["train", "--data", "none.jsonl", "--out", "run"], "none.jsonl is not there"),
        (["train", "--data", "file", "--out", "file"], "file is not a folder"),
        (["train", "--data", "file", "--out", "run", "--steps", "-1"], "steps and save_every from 1"),
        (["train", "--data", "file", "--out", "run", "--rate", "nan"], "the rate is nan"),
        (["train", "--data", "file", "--out", "run", "--batch", "0"], "batch is 0"),
        (["train", "--data", "file", "--out", "run", "--start", "none"], "no adapters at none"),
        (["eyes", "--out", "file"], "file is not a folder"),
        (["eyes", "--out", "run", "--steps", "0", "--word-steps", "0", "--caption-steps", "0"], "no stage has steps"),
    ],
)
def test_bad_input_is_refused_before_anything_is_loaded(
    tmp_path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONFKV_HOME", str(tmp_path / "no-weights"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("{}")
    result = CliRunner().invoke(pilot_app, arguments)
    assert isinstance(result.exception, ConfKVError) and words in str(result.exception), result
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
    assert (tmp_path / "file").read_text() == "{}" and not list((tmp_path / "folder").iterdir())


def test_a_line_that_is_no_demonstration_is_named(tmp_path):
    (tmp_path / "d.jsonl").write_text('{"x": 1}\n')
    with pytest.raises(ConfigError, match=r"d.jsonl:1 is no demonstration: an object of task, success, steps, mess"):
        data.read_data(tmp_path / "d.jsonl")
