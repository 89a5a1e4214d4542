"""The same episode under another wording of its task."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from confkv_agents.errors import ConfigError
from confkv_agents.pilot.commands import pilot_app
from confkv_agents.pilot.data import pictures_of, read_data
from confkv_agents.pilot.demonstrations import Demonstration
from confkv_agents.pilot.rewording import reworded
from confkv_agents.web.tasks import World, load_template

NAME, SEED = "shop/add_one", 1003


@pytest.fixture(scope="module")
def intents() -> list[str]:
    return load_template(NAME).intents(SEED, World(SEED))


def episode(intent: str) -> Demonstration:
    page = [{"text": f"Task: {intent}\n\nbanner: 'Market' [1]\n\nend"}, {"picture": "abc"}]
    said = [
        {"role": "system", "content": [{"text": "Do it."}]},
        {"role": "user", "content": page},
        {"role": "assistant", "content": [{"text": "stop []"}], "learn": True},
    ]
    return Demonstration(f"{NAME}:{SEED}", True, 1, said)


def test_a_task_is_told_in_every_wording_of_its_split(intents: list[str]) -> None:
    template = load_template(NAME)
    made = template.make(SEED, World(SEED))
    product = made["instantiation_dict"]["product"]
    assert made["intent"] in intents and len(set(intents)) == len(template.spelled("train"))
    assert all(product in intent for intent in intents)
    assert len(template.intents(3, World(3))) == len(template.spelled("heldout"))


def test_only_the_task_is_put_in_other_words(intents: list[str]) -> None:
    before = episode(intents[0])
    new = reworded(before)
    assert new is not None and before.messages == episode(intents[0]).messages
    told, blank, page = new.messages[1]["content"][0]["text"].partition("\n\n")
    assert any(intent in told for intent in intents[1:]) and blank + page == "\n\nbanner: 'Market' [1]\n\nend"
    new.messages[1]["content"][0] = before.messages[1]["content"][0]
    assert new == before
    told_by_seed = {reworded(before, seed).messages[1]["content"][0]["text"] for seed in range(8)}  # type: ignore[union-attr]
    assert len(told_by_seed) > 3


def test_to_some_tasks_something_is_said_that_changes_nothing(intents: list[str]) -> None:
    told = []
    for seed in range(200):
        new = reworded(episode(intents[0]), seed)
        assert new is not None
        told.append(new.messages[1]["content"][0]["text"].partition("\n\n")[0].removeprefix("Task: "))
    plain = [each for each in told if each in intents]
    assert 0.5 < len(plain) / len(told) < 0.7
    others = [each for each in told if each not in intents]
    said = {each.replace(intent, "").strip() for each in others for intent in intents[1:] if intent in each}
    assert len(said) > 15 and all(each[-1] in ".!" for each in said)
    assert {each.startswith(tuple(intents)) for each in others} == {True, False}  # before and after


def test_codes_are_others_and_the_same_wherever_they_stand(intents: list[str]) -> None:
    before = episode(intents[0])
    before.messages[1]["content"][0]["text"] += "\nSKU DX655, frame XD-832, 555-9386, $832, 25% off"
    before.messages[2]["content"][0]["text"] = "code XD-832, not DX655\ntype [2] [XD-832 555-9386]"
    new = reworded(before)
    assert new is not None
    read, said = (new.messages[at]["content"][0]["text"] for at in (1, 2))
    found = re.search(r"\nSKU ([A-Z]{2}\d{3}), frame ([A-Z]{2}-\d{3}), (555-\d{4}), \$832, 25% off$", read)
    assert found is not None, read
    sku, frame, phone = found.groups()
    assert not {sku, frame, phone} & {"DX655", "XD-832", "555-9386"}
    assert said == f"code {frame}, not {sku}\ntype [2] [{frame} {phone}]"


def test_what_is_no_episode_of_a_wording_of_today_is_left_out() -> None:
    chat = [{"role": "user", "content": [{"text": "Hi"}]}, {"role": "assistant", "content": [{"text": "Hello"}]}]
    assert reworded(Demonstration("chat:Hi", True, 1, chat)) is None
    assert reworded(episode("Buy what was sold under this name long ago.")) is None


def test_a_file_in_other_words_has_the_pictures_too(tmp_path: Path, intents: list[str]) -> None:
    data, out = tmp_path / "d.jsonl", tmp_path / "new" / "e.jsonl"
    data.write_text(episode(intents[0]).to_line() + "\n")
    pictures_of(data).mkdir()
    (pictures_of(data) / "abc.png").write_bytes(b"picture")
    for _ in range(2):
        result = CliRunner().invoke(pilot_app, ["reword", str(data), "--out", str(out)])
        assert result.exit_code == 0 and "1 conversations" in result.output, result.output
    (made,) = read_data(out)
    assert made.task == f"{NAME}:{SEED}" and intents[0] not in json.dumps(made.messages)
    assert (pictures_of(out) / "abc.png").read_bytes() == b"picture"
    for wrong in (data, tmp_path / "none.jsonl"):
        result = CliRunner().invoke(pilot_app, ["reword", str(wrong), "--out", str(data if wrong == data else wrong)])
        assert isinstance(result.exception, ConfigError)
