"""Tasks in many words, each answered by its plan."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from confkv_agents.errors import ConfigError
from confkv_agents.pilot.commands import pilot_app
from confkv_agents.pilot.data import read_data
from confkv_agents.pilot.demonstrations import Demonstration
from confkv_agents.pilot.planning import _worn, plans
from confkv_agents.web.tasks import World, load_template

NAME = "classifieds/phone_relay"
LINES = "\n".join(f"'Other thing n{number}' [{number + 100}]" for number in range(40))


def episode(task: str = f"{NAME}:1003") -> Demonstration:
    first = f"Task: Ring.\n\nTab 0 (current): 'Ads' | Tab 1: 'Forum'\n\nfield 'Search' [6]\n{LINES}"
    said = [
        {"role": "system", "content": [{"text": "Do it."}]},
        {"role": "user", "content": [{"text": first}, {"picture": "a"}, {"text": "\n'After it' [90]"}]},
        {"role": "assistant", "content": [{"text": "plan: ring\nstop []"}], "learn": True},
    ]
    return Demonstration(task, True, 1, said)


def test_a_task_of_another_seed_is_answered_by_its_plan_before_a_page_of_the_template() -> None:
    chat = Demonstration("chat:Hi", True, 1, [{"role": "user", "content": [{"text": "Hi"}]}])
    (made,) = plans([episode(), chat], [1040])
    system, user, answer = made.messages
    task = load_template(NAME).make(1040, World(1040))
    assert system == episode().messages[0] and made.task == f"plan:{NAME}:1040" and made.success
    assert answer == {
        "role": "assistant",
        "content": [{"text": f"plan: {task['x_confkv']['plan']}\n"}],
        "learn": True,
        "open": True,
    }
    (part,) = user["content"]
    told, page = part["text"].split("\n\n", 1)
    assert all(value in told for value in task["instantiation_dict"].values())
    assert page.startswith("Tab 0 (current): 'Ads' | Tab 1: 'Forum'") and page.count("Other thing") < 20


def test_the_wording_is_by_the_seed_of_the_choice() -> None:
    def told(seed: int) -> list[str]:
        return [str(made.messages[1]["content"][0]["text"]) for made in plans([episode()], range(1040, 1046), seed)]

    assert told(0) == told(0) != told(1)
    have = {f"plan:{NAME}:{seed}" for seed in range(1040, 1045)}
    assert [made.task for made in plans([episode()], range(1040, 1046), have=have)] == [f"plan:{NAME}:1045"]


def test_worn_tasks_keep_what_is_quoted_and_what_the_plan_says() -> None:
    intent = "Please ring whoever sells 'A bed, it's new' and write '$A, $B' for $57 to Ann's Birthday for me. " * 20
    new = _worn(intent, "wish of Ann's Birthday; price 57", random.Random(1))
    kept = re.compile(r"'A bed, it's new'|'\$A, \$B'|Ann's Birthday|\$57")
    assert kept.findall(new) == kept.findall(intent)
    assert 0.8 < len(new.split()) / len(intent.split()) < 1


def test_a_file_of_plans_is_continued(tmp_path: Path) -> None:
    data, out = tmp_path / "d.jsonl", tmp_path / "p.jsonl"
    data.write_text(episode().to_line() + "\n")

    def run(seeds: str) -> str:
        done = CliRunner().invoke(pilot_app, ["plans", str(data), "--seeds", seeds, "--out", str(out)])
        assert done.exit_code == 0, done.output
        return done.output

    assert "2 plans in" in run("1040-1041")
    first = out.read_text()
    assert "3 plans in" in run("1040-1042") and out.read_text().startswith(first)
    assert [made.task for made in read_data(out)] == [f"plan:{NAME}:{seed}" for seed in (1040, 1041, 1042)]


def test_plans_are_told_of_episodes_only_and_go_to_another_file(tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    data.write_text(episode().to_line() + "\n")
    same = CliRunner().invoke(pilot_app, ["plans", str(data), "--seeds", "1040", "--out", str(data)])
    assert isinstance(same.exception, ConfigError) and "name another file" in str(same.exception)
    (tmp_path / "none.jsonl").write_text("")
    given = ["plans", str(tmp_path / "none.jsonl"), "--seeds", "1040", "--out", str(tmp_path / "p.jsonl")]
    assert "holds no episodes" in str(CliRunner().invoke(pilot_app, given).exception)
    assert not list(plans(plans([episode()], [1040]), [1041]))


def test_held_out_seeds_are_refused(tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    data.write_text(episode().to_line() + "\n")
    given = ["plans", str(data), "--seeds", "999-1001", "--out", str(tmp_path / "p.jsonl")]
    done = CliRunner().invoke(pilot_app, given)
    assert isinstance(done.exception, ConfigError) and "seed 999 is held out" in str(done.exception)
    with pytest.raises(StopIteration):
        next(plans([episode()], []))
