"""`confkv-agent pilot eval`: which tasks it plays, and how."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from confkv_agents.engine import weights
from confkv_agents.errors import ConfigError, PluginError
from confkv_agents.evaluation.batch import api
from confkv_agents.pilot import agent_commands, data
from confkv_agents.pilot.commands import pilot_app


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(
        api,
        "evaluate",
        lambda tasks, policies, **options: calls.append({"tasks": tasks, "policies": policies} | options),
    )
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
