"""The dialect `browsergym`: judged after every step, ended by success or by a tab outside of the sites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from confkv_agents.web.env import WebEnv
from confkv_agents.web.evaluators import succeeded
from confkv_agents.web.settle import SettleLimits
from confkv_agents.web.sites import SiteSet
from confkv_agents.web.tasks import Task
from tests.web.conftest import Driver, Pages

pytestmark = pytest.mark.browser
START = "<title>Start</title><a href=/end>Go on</a><a href=/more>More</a>"
TITLE = {"url": "last", "locator": "document.title", "required_contents": {"exact_match": "End"}}


def task(dialect: str = "browsergym", start: str = "__PAGES__/", **evaluation: Any) -> Task:
    whole = evaluation or {"eval_types": ["program_html"], "program_html": [TITLE]}
    raw = {"sites": ["pages"], "intent": "x", "start_url": start, "eval": whole}
    return Task.read(raw, dialect, Path(__file__))


@pytest.fixture(autouse=True)
def served(driver: Driver) -> None:
    driver.pages.pages |= {"/": START, "/end": "<title>End</title>", "/more": "<title>More</title>"}


def test_an_episode_ends_as_soon_as_its_checks_hold(driver: Driver) -> None:
    driver.env.reset(task())
    result = driver.env.step(f"click [{driver.id_of('Go on')}]")
    assert (result.done, result.stop_reason, result.answer) == (True, "stop", None)
    assert succeeded(driver.env.evaluate())


def test_it_goes_on_while_they_do_not_and_in_other_dialects(driver: Driver) -> None:
    driver.env.reset(task())
    assert not driver.env.step(f"click [{driver.id_of('More')}]").done
    driver.env.reset(task("vwa"))
    assert not driver.env.step(f"click [{driver.id_of('Go on')}]").done


def test_the_agents_own_page_stays_where_it_is(driver: Driver) -> None:
    elsewhere = TITLE | {"url": "__PAGES__/more"}
    driver.env.reset(task(eval_types=["program_html"], program_html=[elsewhere]))
    result = driver.env.step("scroll [down]")
    assert not result.done and result.observation.title == "Start" and len(result.observation.tabs) == 1


def test_an_answer_counts_when_it_is_given_and_the_stand_in_does_not(driver: Driver) -> None:
    wanted = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "12"}}
    driver.env.reset(task(**wanted))
    assert not driver.env.step("scroll [down]").done
    driver.env.step("stop [12]")
    assert succeeded(driver.env.evaluate())


def test_giving_up_is_the_answer_not_applicable(driver: Driver) -> None:
    wanted = {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": "N/A"}, "string_note": "sold out"}
    driver.env.reset(task(**wanted))
    result = driver.env.step("fail [it is sold out]")
    assert result.answer == "N/A" and succeeded(driver.env.evaluate())


def test_a_tab_outside_of_the_sites_ends_it_without_success(driver: Driver, other_pages: Pages) -> None:
    other_pages.pages["/"] = "<title>End</title>"
    limits = SettleLimits(navigation=3.0, still=0.5)
    sites = SiteSet({"pages": driver.pages.url})
    with WebEnv(driver.env.browser, sites, allow_hosts=[other_pages.url.removeprefix("http://")], limits=limits) as env:
        env.reset(task("vwa"))
        assert not env.step(f"goto [{other_pages.url}/]").done
        env.reset(task())
        result = env.step(f"goto [{other_pages.url}/]")
        assert (result.done, result.stop_reason) == (True, "stop")
        (check,) = env.evaluate()
        assert not check.ok and other_pages.url in check.got


def test_one_machine_under_two_names_is_one_site(driver: Driver) -> None:
    driver.env.reset(task())
    there = driver.pages.url.replace("127.0.0.1", "localhost")
    assert not driver.env.step(f"goto [{there}/more]").done


@pytest.mark.parametrize(("dialect", "active"), [("vwa", 0), ("browsergym", 1)])
def test_which_of_several_start_pages_is_active(driver: Driver, dialect: str, active: int) -> None:
    seen = driver.env.reset(task(dialect, "__PAGES__/ |AND| __PAGES__/more"))
    assert [tab.active for tab in seen.tabs].index(True) == active
