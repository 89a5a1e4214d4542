"""Episodes on short pages: what the episode needs stays, most of the rest goes."""

from __future__ import annotations

import random
import re
from pathlib import Path

from typer.testing import CliRunner

from confkv_agents.pilot.commands import pilot_app
from confkv_agents.pilot.condensing import condensed, with_other_ids
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
    assert [without_ids(part["text"]) for part in first] == [
        "Task: Ring.\nBoth lines stay.\n\nTab 0: 'Ads' | Tab 1 (current): 'Forum'\n"
        "Page 1 of 2 (scroll down for more)\n\nfield 'Search' [n]"
    ]
    assert without_ids(second[0]["text"]) == "banner [n]-[n] as before\n'555-5334'\n'Contact seller' [n]"
    search, seller = (re.findall(r"\[(\d+)\]", part[0]["text"])[-1] for part in (first, second))
    assert said(short) == [
        f"'Search' [{search}]\ntype [{search}] [Fjella tent] [1]",
        f"phone '555-5334'\nclick [{seller}]",
    ]
    assert short.messages[0] == made.messages[0]


def without_ids(text: str) -> str:
    return re.sub(r"\[\d+\]", "[n]", text)


def said(made: Demonstration) -> list[str]:
    return [message["content"][0]["text"] for message in made.messages if message["role"] == "assistant"]


def test_ids_are_drawn_anew_for_all_pages_and_answers_of_an_episode() -> None:
    pages = [
        "Task: Ring [7].\n\nbanner: 'Shop' [1]; field 'Search' [2]\n'Page \\[3\\]' [3]",
        "banner [1]-[2] as before\n'Tent' [3]",
    ]
    answers = [
        "now: ring [7]\n'Search' [2]\ntype [2] [Tent [3] or] [1]",
        "'Tent' [3]\ndrag [3] [2]",
        "tab_focus [1]",
        "scroll [3] [down]",
        "wait [2]",
        "stop [3]",
    ]
    texts = [(role, text) for page in pages for role, text in (("user", page), ("assistant", ""))]
    texts = [*texts[:3], *(("assistant", text) for text in answers[1:])]
    texts[1] = ("assistant", answers[0])
    made = Demonstration("t", True, 6, [{"role": "system", "content": [{"text": "Do [1]."}]}])
    made.messages += [{"role": role, "content": [{"text": text}]} for role, text in texts]
    found = set()
    for seed in range(30):
        new = with_other_ids(made, random.Random(seed))
        first, second = (new.messages[at]["content"][0]["text"] for at in (1, 3))
        one, two, three = re.findall(r" \[(\d+)\](?=;|$|\n)", first)
        assert int(one) < int(two) < int(three) < 30
        assert first == f"Task: Ring [7].\n\nbanner: 'Shop' [{one}]; field 'Search' [{two}]\n'Page \\[3\\]' [{three}]"
        assert second == f"banner [{one}]-[{two}] as before\n'Tent' [{three}]"
        assert said(new)[0] == (f"now: ring [7]\n'Search' [{two}]\ntype [{two}] [Tent [3] or] [1]")
        assert said(new)[1:] == [
            f"'Tent' [{three}]\ndrag [{three}] [{two}]",
            "tab_focus [1]",
            f"scroll [{three}] [down]",
            "wait [2]",
            "stop [3]",
        ]
        assert new.messages[0] == made.messages[0]
        found.add(two)
    assert len(found) > 5


def test_a_share_of_the_other_lines_stays() -> None:
    short = condensed(episode(), seed=1)
    assert short is not None
    assert 1 <= short.messages[3]["content"][0]["text"].count("Other thing") <= 20
    assert short == condensed(episode(), seed=1) != condensed(episode(), seed=2)


def test_where_eyes_are_needed_every_picture_stays_behind_its_line() -> None:
    short = condensed(episode("shop/picture_colour:1003"), others=0)
    assert short is not None
    text, picture = short.messages[1]["content"]
    assert without_ids(text["text"]).endswith("field 'Search' [n]\n'Other thing n39' [n]")
    assert picture == {"picture": "a"}
    last = episode("shop/picture_colour:1003")
    last.messages[1]["content"] += [{"picture": "b"}]
    short = condensed(last, others=0)
    assert short is not None
    before, text, after = short.messages[1]["content"][1:]
    assert (before, after) == ({"picture": "a"}, {"picture": "b"}) and without_ids(text["text"]) == "\n'After it' [n]"


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
