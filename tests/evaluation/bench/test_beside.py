"""Environments timed beside each other: what is told, counted, and what ends it. The contenders are scripts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from confkv_agents.errors import ConfigError
from confkv_agents.evaluation.bench.beside import (
    ACTS,
    OWN,
    BesideError,
    Contender,
    Timed,
    compare,
    contenders,
    summarize,
    write,
)

SCRIPT = """
import json, sys
print(json.dumps({"ready": True}), flush=True)
late = ""
for line in sys.stdin:
    told = json.loads(line)
    open(sys.argv[1], "a").write(told["act"] + told["url"] + " ")
    place = {"open": "first", "click": told["url"], "go back": "first"}.get(told["act"], late or "first")
    answer = {"seconds": float(sys.argv[2]), "url": place}
    if told["act"] == "open":
        answer["links"] = json.loads(sys.argv[3])
    if told["act"] == sys.argv[4]:
        answer = json.loads(sys.argv[5])
    late = told["url"] if told["act"] == "click" else late if told["act"] != "go back" else ""
    print(json.dumps(answer), flush=True)
"""


def script(folder: Path, name: str, seconds=0.1, links=("/a", "/b"), when="", answer=None) -> Contender:
    command = [sys.executable, "-c", SCRIPT, str(folder / name), str(seconds), json.dumps(links), when]
    return Contender(name, [*command, json.dumps(answer)])


def test_every_act_is_done_by_all_before_the_next_and_links_change(tmp_path):
    shown: list[str] = []
    with script(tmp_path, OWN, 0.1) as own, script(tmp_path, "other", 0.3) as other:
        timed = compare([own, other], {"shop": "http://shop/"}, 2, shown.append)
    told = (tmp_path / OWN).read_text().split("openhttp://shop/ ")[1:]
    assert told == [" ".join(f"click{link}" if act == "click" else act for act in ACTS) + " " for link in ("/a", "/b")]
    assert (tmp_path / "other").read_text() == (tmp_path / OWN).read_text()
    assert [each.contender for each in timed[:4]] == [OWN, "other", "other", OWN]
    assert shown == ["shop", "shop"] and len(timed) == 2 * 2 * len(ACTS)
    row = summarize(timed)["shop"]["other"]
    assert row["steps"] == 2 * len(ACTS) and row["ms"] == 300.0 and row["ms_x"] == pytest.approx(3.0)


def test_ratios_are_those_of_the_same_act():
    rows = [Timed(OWN, "s", act, 0, own, 0.02) for act, own in zip(ACTS, [1, 1, 1, 10, 10, 10], strict=True)]
    rows += [Timed("b", "s", act, 0, other, 0.04) for act, other in zip(ACTS, [2, 2, 2, 20, 20, 20], strict=True)]
    summary = summarize(rows)["s"]
    assert list(summary) == [OWN, "b"]
    assert (summary["b"]["ms_x"], summary["b"]["cpu_x"], summary[OWN]["ms_x"]) == (2.0, 2.0, 1.0)
    assert summary["b"]["cpu_ms"] == pytest.approx(40)


def test_who_has_not_arrived_yet_is_asked_again(tmp_path):
    moving = {"seconds": 0.1, "url": "between"}
    with script(tmp_path, OWN) as own, script(tmp_path, "other", when="go back", answer=moving) as other:
        compare([own, other], {"shop": "x"}, 1)
    assert "go back where" in (tmp_path / "other").read_text()


@pytest.mark.parametrize(
    ("when", "answer", "message"),
    [
        ("click", {"error": "click: covered"}, "other: click: covered"),
        ("where", {"seconds": 0, "url": "elsewhere"}, "are on different pages"),
    ],
)
def test_what_fails_ends_it(tmp_path, when, answer, message):
    lost = {"where": "go back"}.get(when, "")
    with (
        script(tmp_path, OWN, when=lost, answer={"seconds": 0, "url": "lost"}) as own,
        script(tmp_path, "other", when=when, answer=answer) as other,
        pytest.raises(BesideError, match=message),
    ):
        compare([own, other], {"shop": "x"}, 1)


def test_a_page_without_links_and_a_child_that_ends_are_told(tmp_path):
    with script(tmp_path, OWN, links=()) as own, pytest.raises(BesideError, match="no link to click"):
        compare([own], {"shop": "x"}, 1)
    silent = Contender("broken", [sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(BesideError, match="broken: it ended"):
        silent.__enter__()
    with pytest.raises(BesideError, match="does not start"):
        Contender("none", [str(tmp_path / "none")]).__enter__()


def test_commands_of_the_contenders(tmp_path):
    with pytest.raises(ConfigError, match="browsergym-core"):
        contenders(str(tmp_path / "python"), ["http://a"], "key", bare=False, browser=None)
    own, *foreign = contenders(
        sys.executable, ["http://a", "http://b"], "a-key", bare=True, browser="/usr/bin/chromium"
    )
    assert own.command[-3:] == ["bare", "http://a", "http://b"] and "a-key" in own.variables.values()
    assert [each.command[-2:] for each in foreign] == [["default", "/usr/bin/chromium"], ["0", "/usr/bin/chromium"]]
    assert all(Path(each.command[1]).is_file() and not each.variables for each in foreign)


def test_steps_and_summary_are_kept(tmp_path):
    rows = [Timed(OWN, "s", "click", 0, 0.5, 0.1)]
    write(tmp_path / "found", rows, summarize(rows))
    (line,) = (tmp_path / "found" / "steps.jsonl").read_text().splitlines()
    assert json.loads(line)["seconds"] == 0.5
    assert json.loads((tmp_path / "found" / "result.json").read_text())["s"][OWN]["ms"] == 500.0
