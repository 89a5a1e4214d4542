"""The report of a batch, in words and in a browser."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from confkv_agents.evaluation.batch import Results
from confkv_agents.evaluation.batch.progress import BatchConsole
from confkv_agents.evaluation.batch.report import write_batch_report
from confkv_agents.evaluation.report import write_reports
from confkv_agents.web.browser import Browser
from tests.evaluation.batch.helpers import FakeStation, batch, units
from tests.evaluation.fakes import FakeEnv, FakeExtension, FakeTask

EVIL = '<script>document.title="owned"</script>'
TASK = FakeTask("lamp", intent=f"Find {EVIL}", sha256="1" * 64, visual_difficulty="hard", oracle=({},) * 3)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    """Two episodes, each with all plots."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("os.fsync", lambda _descriptor: None)
        yield batch(tmp_path_factory.mktemp("set"), asked=units([TASK], seeds=(0,)))


def test_the_files_beside_the_report_say_the_same(results: Results) -> None:
    summary = json.loads((results.directory / "summary.json").read_text())
    assert summary["policies"]["confkv"]["succeeded"] == 1
    assert summary["policies"]["confkv"]["peak_kv_bytes"] == results.rows[1]["peak_kv_bytes"]
    assert summary["by"]["kind"]["visual"]["full"]["judged"] == 1
    with (results.directory / "episodes.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["policy"] for row in rows] == ["full", "confkv"]
    assert {(row["success"], row["steps"]) for row in rows} == {("True", "3")}
    assert float(rows[0]["seconds_total"]) >= 0 and rows[0]["kinds"] == "visual"


def test_the_report_is_made_again_from_the_records_alone(results: Results) -> None:
    before = results.report.read_bytes()
    results.report.unlink()
    again = write_batch_report(results.directory)
    assert again == results and results.report.read_bytes() == before


def test_the_episode_whose_budget_is_shown_is_not_full_kvs(results: Results) -> None:
    assert "Confidence and budget over one episode: lamp, seed 0, confkv" in results.report.read_text()


def test_pages_are_written_elsewhere_without_the_records(results: Results, tmp_path: Path) -> None:
    pages = write_reports(results.directory, tmp_path / "pages", width=100)
    assert pages[0] == tmp_path / "pages/report.html" and len(pages) == 3
    names = {path.relative_to(tmp_path / "pages").as_posix() for path in (tmp_path / "pages").rglob("*.*")}
    assert names == {"report.html", "summary.json", "episodes.csv"} | {
        f"{policy}/{page}report.html" for policy in ("full", "confkv") for page in ("", "lamp-seed0/")
    }
    assert pages[0].read_bytes() == results.report.read_bytes()
    assert len(pages[1].read_bytes()) < len((results.directory / "full/lamp-seed0/report.html").read_bytes())
    assert 'width="100"' in pages[1].read_text()


def test_tasks_of_one_name_on_two_sites_are_two(tmp_path: Path) -> None:
    tasks = [FakeTask("read", sha256="3" * 64), FakeTask("read", sha256="4" * 64, sites=("forum",), intent="Read on")]
    page = batch(tmp_path, asked=units(tasks, seeds=(0,))).report.read_text()
    assert "<dt>Tasks</dt><dd>2<small>seed 0</small>" in page
    assert (
        page.index(">shop <small>1 episode by policy") < page.index(">forum <small>1 episode") < page.index("Read on")
    )


def test_what_a_site_asks_is_shown_in_place_of_what_its_file_says(tmp_path: Path) -> None:
    class AskingEnv(FakeEnv):
        def _observe(self, outcome: str = "") -> Any:
            return replace(super()._observe(outcome), goal="Click the seventh")

    task = FakeTask("click", intent="(the page says)", extension=FakeExtension(from_site=True))
    page = batch(tmp_path, lambda: FakeStation(make_env=AskingEnv), asked=units([task], seeds=(0,))).report.read_text()
    assert "Click the seventh" in page and "(the page says)" not in page


def test_what_comes_from_tasks_is_escaped(results: Results) -> None:
    page = results.report.read_text()
    assert EVIL not in page and "&lt;script&gt;" in page


def test_rows_become_a_table_where_pandas_is_installed(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    from confkv_agents.errors import ExtraMissingError

    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ExtraMissingError, match="pip install pandas"):
        results.to_pandas()


@pytest.fixture
def browser() -> Iterator[Browser]:
    with Browser() as own:
        yield own


@pytest.mark.browser
def test_the_report_opens_from_disk_wide_and_narrow(results: Results, browser: Browser) -> None:
    for width, height in ((1280, 800), (390, 844)):
        context = browser.new_context(viewport={"width": width, "height": height}, offline=True)

        def look(context: object = context) -> dict[str, object]:
            page = context.new_page()  # type: ignore[attr-defined]
            said: list[str] = []
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.goto(results.report.as_uri())
            found = page.evaluate(
                """() => ({
                    title: document.title,
                    overflow: document.documentElement.scrollWidth - window.innerWidth,
                    pictures: [...document.images].map(i => i.complete && i.naturalWidth > 0),
                    links: [...document.querySelectorAll("a")].map(a => a.href),
                })"""
            )
            page.click("td.cell a")
            found |= {"episode": page.title(), "said": said}
            context.close()  # type: ignore[attr-defined]
            return found

        found = browser.call(look)
        assert found["said"] == [] and found["overflow"] <= 0  # type: ignore[operator]
        assert found["title"] == f"Evaluation {results.directory.name}"
        assert found["pictures"] == [True] * 3
        links = [Path(link.removeprefix("file://")) for link in found["links"]]  # type: ignore[attr-defined]
        assert len(links) == 5 and all(link.is_file() for link in links)
        assert "lamp" in str(found["episode"])


def test_a_pipe_gets_a_line_per_episode_and_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(tmp_path, monkeypatch, terminal=False)
    lines = [line.split() for line in text.splitlines()]
    assert ["1/2", "lamp", "seed", "0", "full", "success"] in [line[:6] for line in lines]
    assert ["confkv", "1", "of", "1"] in [line[:4] for line in lines]
    assert all(len(line) <= 100 for line in text.splitlines() if "report" not in line)
    assert "\x1b" not in text


def test_a_terminal_gets_a_live_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(tmp_path, monkeypatch, terminal=True)
    assert "of 2 episodes" in text and "peak KV" in text


def test_what_has_no_verdict_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(tmp_path, monkeypatch, terminal=False, fail=True)
    assert "the browser is gone (tried again later)" in text and "2 without verdict" in text


def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, terminal: bool, fail: bool = False) -> str:
    """What a batch of two episodes writes to a console, without plots."""
    monkeypatch.setattr("os.fsync", lambda _descriptor: None)
    for name in ("memory_plot", "confidence_plot", "comparison_plot"):
        monkeypatch.setattr(f"confkv_agents.evaluation.plots.{name}", lambda *_, **__: None)
    for name in ("tradeoff_plot", "steps_plot"):
        monkeypatch.setattr(f"confkv_agents.evaluation.batch.plots.{name}", lambda *_, **__: None)
    with (tmp_path / "shown").open("w+") as stream:
        console = Console(file=stream, width=100, force_terminal=terminal, highlight=False)
        env = FakeEnv(fail_at=1) if fail else FakeEnv()
        batch(
            tmp_path / "out", lambda: FakeStation(make_env=lambda: env), [BatchConsole(console)],
            asked=units([TASK], seeds=(0,)), attempts=2,
        )  # fmt: skip
        stream.seek(0)
        return stream.read()
