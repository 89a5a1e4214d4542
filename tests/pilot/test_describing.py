"""Conversations about pictures: what is learned is what the pictures show."""

from __future__ import annotations

import io
import re

from PIL import Image
from typer.testing import CliRunner

from confkv_agents.pilot.captions import read_caption
from confkv_agents.pilot.commands import pilot_app
from confkv_agents.pilot.data import pictures_of, read_data
from confkv_agents.pilot.describing import describe


def _parts(number: int) -> tuple[list[dict[str, str]], str]:
    question, answer = describe(number).messages
    assert (question["role"], answer["role"], answer["learn"]) == ("user", "assistant", True)
    return question["content"], answer["content"][0]["text"]


def test_every_picture_is_described_behind_its_number_or_one_is_clicked() -> None:
    forms = set()
    for number in range(6):
        content, answer = _parts(number)
        lines, pictures = content[::2], content[1::2]
        ids = [re.search(r" \[(\d+)\]$", line["text"])[1] for line in lines]  # type: ignore[index]
        assert len(ids) == len(pictures) == len({int(each) for each in ids}) >= 6
        assert all("picture" in each for each in pictures)
        if "\nclick [" in answer:
            forms.add("find")
            note, _, action = answer.partition("\n")
            place = ids.index(action.removeprefix("click [").removesuffix("]"))
            assert note.endswith(lines[place]["text"].rpartition("\n")[2])
            assert note.partition(", '")[0] in lines[0]["text"]  # what is asked for is what the note says is seen
        else:
            forms.add("say")
            said = [re.fullmatch(r"\[(\d+)\] (.+)", line) for line in answer.split("\n")]
            assert [each[1] for each in said if each] == ids
            assert all(each and read_caption(each[2]) for each in said)
    assert forms == {"find", "say"}


def test_a_number_and_a_seed_give_the_same_again_and_no_other() -> None:
    first, again, other, elsewhere = describe(3), describe(3), describe(4), describe(3, seed=1)
    assert first.to_line() == again.to_line() and first.pictures == again.pictures
    assert len({first.to_line(), other.to_line(), elsewhere.to_line()}) == 3


def test_a_file_of_them_goes_on_where_it_was_stopped(tmp_path) -> None:
    out = tmp_path / "new" / "looks.jsonl"

    def run(count: int) -> str:
        result = CliRunner().invoke(pilot_app, ["describe", "--out", str(out), "--count", str(count)])
        assert result.exit_code == 0, result.output
        return result.output

    run(2)
    before = out.read_text()
    with out.open("a") as file:
        file.write('{"task": "cut')
    assert "3 conversations" in run(3)
    assert out.read_text().startswith(before)
    made = read_data(out)
    assert [each.task for each in made] == ["pictures:0:0", "pictures:0:1", "pictures:0:2"]
    names = [part["picture"] for each in made for part in each.messages[0]["content"] if "picture" in part]
    assert {path.stem for path in pictures_of(out).iterdir()} == set(names)
    with Image.open(io.BytesIO((pictures_of(out) / f"{names[0]}.png").read_bytes())) as image:
        assert min(image.size) > 30
