"""Reports: complete, safe with foreign text, and made from the records alone."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from confkv_agents.cache import read_trace
from confkv_agents.errors import RecordError
from confkv_agents.evaluation.episode import run_episode
from confkv_agents.evaluation.files import write_json
from confkv_agents.evaluation.recording import RunRecorder
from confkv_agents.evaluation.report import write_reports
from confkv_agents.web.observation import Picture
from tests.evaluation.fakes import FakeAgent, FakeCheck, FakeEnv, FakeTask, screenshot

HOSTILE = "<script>alert('x')</script><img src=http://evil.test/x onerror=alert(1)>"


class Tags(HTMLParser):
    """Collects tags, addresses and text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "srcset"):
                self.addresses.append(value)
            if name.startswith("on"):
                self.handlers.append(name)

    def handle_data(self, data):
        self.text += data


def record(tmp_path: Path, *scripts: list, env: FakeEnv | None = None, **task) -> Path:
    with RunRecorder(
        tmp_path / "runs",
        configuration={"agent": "react", "model": "embedded", "policy": "confkv"},
        details={"remarks": ["it rarely succeeds"]},
    ) as run:
        for script in scripts:
            fake = FakeTask(**task)
            run_episode(env or FakeEnv(), FakeAgent(script), fake, run.episode(fake, 7))
    return run.directory


def test_a_report_holds_task_result_checks_steps_and_facts(tmp_path: Path):
    env = FakeEnv(checks=[FakeCheck("url_match", "http://a/b", "http://a/c", ok=False, why="another page")])
    folder = record(tmp_path, ["click [4]", "stop [$34]"], env=env)
    run_report, episode_report = write_reports(folder)
    page = Tags(episode_report.read_text())
    for words in (
        "Find the red canvas backpack",
        "No success",
        "url_match",
        "http://a/b",
        "another page",
        "click [4]",
        "did click [4]",
        "thought 1",
        "Red Canvas Backpack",
        "confkv",
        "it rarely succeeds",
        "0" * 64,
        "$34",
    ):
        assert words in page.text, words
    assert page.names.count("img") == 2 + 3, "two plots, two steps, the page at the end"
    assert "No success" in Tags(run_report.read_text()).text


def test_names_of_files_stay_as_they_are_in_a_runs_facts(tmp_path: Path):
    (tmp_path / "read_sku.json").write_text("{}")
    files = {"task file read_sku.json": tmp_path / "read_sku.json"}
    with RunRecorder(tmp_path / "runs", configuration={"max_steps": 4}, files=files) as run:
        pass
    page = Tags(write_reports(run.directory)[0].read_text())
    assert "SHA-256 of task file read_sku.json" in page.text
    assert "max steps" in page.text


def test_a_report_needs_no_network_and_runs_no_script(tmp_path: Path):
    env = FakeEnv(checks=[FakeCheck(HOSTILE, HOSTILE, HOSTILE, ok=False, why=HOSTILE)])
    folder = record(tmp_path, [HOSTILE, f"type [4] [{HOSTILE}]", f"stop [{HOSTILE}]"], env=env, intent=HOSTILE)
    for path in write_reports(folder):
        html = path.read_text()
        page = Tags(html)
        assert "script" not in page.names
        assert page.handlers == []
        assert all(
            address.startswith("data:") or re.fullmatch(r"[\w./-]+report\.html", address) for address in page.addresses
        )
        assert "default-src 'none'" in html
        if path.parent != folder:
            assert HOSTILE in page.text


def test_the_run_report_links_each_episode_and_counts_successes(tmp_path: Path):
    with RunRecorder(tmp_path / "runs", configuration={"agent": "x"}) as run:
        for number, env in enumerate([FakeEnv(), FakeEnv(checks=[]), FakeEnv(fail_at=1)]):
            task = FakeTask(key=f"task{number}")
            run_episode(env, FakeAgent(["stop [x]"]), task, run.episode(task, 7))
        run.episode(FakeTask(key="never-ended"), 7)
    reports = write_reports(run.directory)
    page = Tags(reports[0].read_text())
    assert "1 of 2" in page.text
    links = [address for address in page.addresses if address.endswith("report.html")]
    assert links == [f"{name}-seed7/report.html" for name in ("task0", "task1", "task2", "never-ended")]
    assert all((run.directory / link).is_file() for link in links)
    assert len(reports) == 5


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), None])
def test_an_unfinished_episode_has_a_report_too(tmp_path: Path, stop: BaseException | None):
    run = RunRecorder(tmp_path / "runs", configuration={"agent": "x"})
    episode = run.episode(FakeTask(), 7)
    if stop is not None:
        with pytest.raises(KeyboardInterrupt):
            run_episode(FakeEnv(), FakeAgent(["click [4]", stop]), FakeTask(), episode)
    page = Tags(write_reports(run.directory)[1].read_text())
    assert ("Interrupted" if stop else "Not finished") in page.text


def test_an_agent_without_a_model_has_no_plots(tmp_path: Path):
    with RunRecorder(tmp_path / "runs", configuration={"agent": "oracle"}) as run:
        run_episode(FakeEnv(), FakeAgent(["stop [x]"], with_usage=False), FakeTask(), run.episode(FakeTask(), 7))
    page = Tags(write_reports(run.directory)[1].read_text())
    assert "Memory and confidence" not in page.text and "Peak KV" not in page.text and "browser" in page.text


def test_an_episodes_cache_trace_is_kept_whole_and_linked(tmp_path: Path):
    configuration = {"agent": "react", "model": "embedded", "policy": "confkv", "budget": 300}
    with RunRecorder(tmp_path / "runs", configuration=configuration) as run:
        agent = FakeAgent(["click [4]", "stop [x]"], with_cache_trace=True)
        run_episode(FakeEnv(), agent, FakeTask(), run.episode(FakeTask(), 7))
    (folder,) = run.directory.glob("fake*")
    trace = read_trace(folder / "cache-trace.jsonl")
    assert [record.position for record in trace.records] == [130, 250, 260, 380]
    assert (trace.facts["model"], trace.facts["config"]["budget"], trace.facts["task"]) == ("embedded", 300, "fake:1")
    assert "cache-trace.jsonl" in Tags(write_reports(folder)[0].read_text()).addresses
    (folder / "cache-trace.jsonl").unlink()
    assert "cache-trace.jsonl" not in write_reports(folder)[0].read_text()


def test_an_episodes_folder_alone_can_be_reported(tmp_path: Path):
    folder = record(tmp_path, ["stop [x]"])
    (episode,) = folder.glob("*/episode.json")
    (path,) = write_reports(episode.parent)
    assert path == episode.parent / "report.html"


def test_what_is_no_record_is_refused_by_name(tmp_path: Path):
    with pytest.raises(RecordError, match="neither the folder of a run"):
        write_reports(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(RecordError, match=r"run\.json, line 1"):
        write_reports(tmp_path)
    write_json(tmp_path / "run.json", {"schema": "something else"})
    with pytest.raises(RecordError, match="schema"):
        write_reports(tmp_path)


def test_pictures_that_a_model_may_have_seen_are_on_the_page(tmp_path: Path):
    class PictureEnv(FakeEnv):
        def _observe(self, outcome: str = ""):
            bag, other = Picture(screenshot("bag", (64, 64)), "a <bag>", 4), Picture(screenshot("b", (64, 64)), "")
            return replace(super()._observe(outcome), pictures=(bag, other), marked=screenshot("marked"))

    with RunRecorder(tmp_path / "runs", configuration={"agent": "x", "model": "y"}) as run:
        run_episode(PictureEnv(), FakeAgent(["stop [x]"]), FakeTask(), run.episode(FakeTask(), 7))
    text = write_reports(run.directory)[1].read_text()
    assert text.count('width="64" height="64"') == 2
    assert "<figcaption>a &lt;bag&gt; [4]</figcaption>" in text and "<figcaption>without a text</figcaption>" in text
    kept = {path.name for path in next(run.directory.glob("fake*")).glob("*.png")}
    assert kept == {
        "step-001.png",
        "step-001-marked.png",
        "step-001-picture-1.png",
        "step-001-picture-2.png",
        "final.png",
    }
