"""Episodes on short pages: what the episode needs stays, most of the rest goes."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from confkv_agents.pilot.commands import pilot_app
from confkv_agents.pilot.condensing import condensed
from confkv_agents.pilot.data import read_data
from confkv_agents.pilot.demonstrations import Demonstration

OTHERS = "\n".join(f"'Other thing n{number}' [{number + 100}]" for number in range(40))


def episode(task: str = "classifieds/phone_relay:1003") -> Demonstration:
    first = (
        "Task: Ring.\nBoth lines stay.\n\nTab 0: 'Ads' | Tab 1 (current): 'Forum'\n"
        f"Page 1 of 2 (scroll down for more)\n\nfield 'Search' [6]\n{OTHERS}"
    )
    second = f"banner [1]-[7] as before\n'555-5334'\n{OTHERS}\n'Contact seller' [15]"
    return Demonstration(
        task,
        True,
        2,
        [
            {"role": "system", "content": [{"text": "Do it."}]},
            {"role": "user", "content": [{"text": first}, {"picture": "a"}, {"text": "\n'After it' [90]"}]},
            {"role": "assistant", "content": [{"text": "'Search' [6]\ntype [6] [Fjella tent] [1]"}], "learn": True},
            {"role": "user", "content": [{"text": second}]},
            {"role": "assistant", "content": [{"text": "phone '555-5334'\nclick [15]"}], "learn": True},
        ],
    )


def test_what_is_said_later_stays_and_answers_are_the_same() -> None:
    made = episode()
    short = condensed(made, others=0)
    assert short is not None and made == episode()
    first, second = (short.messages[at]["content"] for at in (1, 3))
    assert first == [
        {
            "text": "Task: Ring.\nBoth lines stay.\n\nTab 0: 'Ads' | Tab 1 (current): 'Forum'\n"
            "Page 1 of 2 (scroll down for more)\n\nfield 'Search' [6]"
        }
    ]
    assert second == [{"text": "banner [1]-[7] as before\n'555-5334'\n'Contact seller' [15]"}]
    assert [short.messages[at] for at in (0, 2, 4)] == [made.messages[at] for at in (0, 2, 4)]


def test_a_share_of_the_other_lines_stays() -> None:
    short = condensed(episode(), seed=1)
    assert short is not None
    assert 1 <= short.messages[3]["content"][0]["text"].count("Other thing") <= 20
    assert short == condensed(episode(), seed=1) != condensed(episode(), seed=2)


def test_where_eyes_are_needed_every_picture_stays_behind_its_line() -> None:
    short = condensed(episode("shop/picture_colour:1003"), others=0)
    assert short is not None
    text, picture = short.messages[1]["content"]
    assert text["text"].endswith("field 'Search' [6]\n'Other thing n39' [139]") and picture == {"picture": "a"}
    last = episode("shop/picture_colour:1003")
    last.messages[1]["content"] += [{"picture": "b"}]
    short = condensed(last, others=0)
    assert short is not None
    assert short.messages[1]["content"][1:] == [{"picture": "a"}, {"text": "\n'After it' [90]"}, {"picture": "b"}]


def test_chats_are_left_out() -> None:
    chat = [{"role": "user", "content": [{"text": "Hi"}]}, {"role": "assistant", "content": [{"text": "Hello"}]}]
    assert condensed(Demonstration("chat:Hi", True, 1, chat)) is None


def test_a_file_is_shortened(tmp_path: Path) -> None:
    data, out = tmp_path / "d.jsonl", tmp_path / "e.jsonl"
    (tmp_path / "d.pictures").mkdir()
    (tmp_path / "d.pictures" / "a.png").write_bytes(b"png")
    data.write_text(episode().to_line() + "\n" + episode("shop/picture_colour:1003").to_line() + "\n")
    for _ in range(2):
        result = CliRunner().invoke(pilot_app, ["condense", str(data), "--out", str(out)])
        assert result.exit_code == 0 and "2 conversations" in result.output, result.output
    assert read_data(out) == [condensed(episode()), condensed(episode("shop/picture_colour:1003"))]
