"""When episodes stop, and the environment behind gymnasium."""

from __future__ import annotations

import warnings
from pathlib import Path

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from confkv_agents.errors import ActionError, SiteError, TaskError
from confkv_agents.web.browser import Browser
from confkv_agents.web.env import WebEnv
from confkv_agents.web.evaluators import succeeded
from confkv_agents.web.gym_env import ENV_ID, WebGymEnv
from confkv_agents.web.sites import SiteSet
from tests.web.conftest import Driver, Pages, task_on

pytestmark = pytest.mark.browser


def test_stop_ends_with_the_answer_and_the_checks_hold(driver: Driver) -> None:
    driver.open("<h1>x</h1>")
    result = driver.env.step("stop [Done]")
    assert (result.done, result.stop_reason, result.answer) == (True, "stop", "Done")
    assert succeeded(driver.env.evaluate())
    with pytest.raises(ActionError, match="the episode is over"):
        driver.env.step("wait")


def test_fail_answers_not_applicable(driver: Driver) -> None:
    driver.open("<h1>x</h1>", eval={"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": "N/A"}})
    result = driver.env.step("fail [there is no such product]")
    assert (result.stop_reason, result.answer) == ("stop", "N/A")
    assert succeeded(driver.env.evaluate())


def test_shown_addresses_in_answers_are_turned_back(driver: Driver) -> None:
    driver.open("<h1>x</h1>")
    assert driver.env.step("stop [http://pages.test/a]").answer == f"{driver.pages.url}/a"


def test_shown_addresses_are_typed_as_the_real_ones_and_real_ones_are_shown_by_name(driver: Driver) -> None:
    driver.open("<input aria-label=Link oninput='document.title = this.value'>")
    observation = driver.env.step("type [1] [http://pages.test/a]").observation
    assert observation.title == f"{driver.pages.url}/a"
    assert "value 'http://pages.test/a'" in observation.text
    assert driver.pages.url not in observation.text


def test_three_outputs_without_action_in_a_row_stop(driver: Driver) -> None:
    driver.open("<h1>x</h1>")
    assert driver.env.step("hm").error is not None
    driver.env.step("hm")
    assert driver.env.step("wait").error is None
    for _ in range(2):
        assert not driver.env.step("hm").done
    result = driver.env.step("hm")
    assert (result.done, result.stop_reason) == (True, "parse_failures")
    assert result.observation.outcome.startswith("no action found")
    assert "heading 'x'" in result.observation.text


def test_the_same_action_five_times_stops_and_another_between_does_not(driver: Driver) -> None:
    driver.open("<button>a</button><button>b</button>")
    for number in (1, 1, 1, 1, 2, 1, 1, 1, 1):
        assert not driver.env.step(f"click [{number}]").done
    assert driver.env.step("click [1]").stop_reason == "repeated_action"


def test_same_element_under_another_id_counts_as_repeated(driver: Driver) -> None:
    driver.open(
        "<div id=top></div><button onclick=\"document.getElementById('top').innerHTML = '<button>new</button>'\">"
        "again</button>"
    )
    numbers = [driver.id_of("again")]
    reasons = [driver.env.step(f"click [{numbers[0]}]").stop_reason]  # the page is another from here on
    for _ in range(5):
        numbers.append(driver.id_of("again"))
        reasons.append(driver.env.step(f"click [{numbers[-1]}]").stop_reason)
    assert numbers == [1, 2, 2, 2, 2, 2]
    assert reasons == [None, None, None, None, None, "repeated_action"]


def test_an_equal_action_on_a_page_that_the_last_one_changed_is_not_repeating(driver: Driver) -> None:
    driver.open("<output>0</output><button onclick='this.previousSibling.value++'>More</button>")
    assert all(not driver.env.step(f"click [{driver.id_of('More')}]").done for _ in range(7))


def test_scrolling_on_inside_the_page_is_not_repeating_until_it_changes_nothing(driver: Driver) -> None:
    lines = "".join(f"<p style='height:300px'>line {number}" for number in range(24))
    driver.open(f"<body style='margin:0;overflow:hidden'><div style='height:700px;overflow:auto'>{lines}</div>")
    reasons: list[str | None] = [None]
    while len(reasons) < 30 and reasons[-1] is None:
        reasons.append(driver.env.step("scroll [down]").stop_reason)
    assert "line 23" in driver.env.observation.text  # type: ignore[union-attr]
    assert reasons[-1] == "repeated_action" and len(reasons) > 10


def test_steps_are_bounded_by_reset_task_and_environment(driver: Driver) -> None:
    driver.pages.pages["/"] = "<h1>x</h1>"
    driver.env.reset(task_on(x_confkv={"max_steps": 2}), max_steps=1)
    assert driver.env.step("wait").stop_reason == "max_steps"
    driver.env.reset(task_on(x_confkv={"max_steps": 2}))
    assert driver.env.step("wait").stop_reason is None
    assert driver.env.step("hm").stop_reason == "max_steps"


def test_wall_clock_stops_an_episode(driver: Driver) -> None:
    driver.env._episode_seconds = 0.0
    driver.open("<h1>x</h1>")
    assert driver.env.step("wait").stop_reason == "timeout"


def test_episodes_do_not_share_cookies_tabs_or_storage(driver: Driver) -> None:
    html = "<script>document.cookie = 'a=1'; localStorage.b = 1; window.open('about:blank')</script>"
    driver.open(html)
    observation = driver.open("<p id=p></p><script>p.textContent = document.cookie + localStorage.length</script>")
    assert "text '0'" in observation.text
    assert len(observation.tabs) == 1


def test_seed_goes_to_the_sites(driver: Driver) -> None:
    driver.pages.pages["/"] = "<h1>x</h1>"
    driver.env.reset(task_on(x_confkv={"seed": 5}))
    driver.env.reset(task_on(x_confkv={"seed": 5}), seed=6)
    bodies = [body for method, _, body in driver.pages.requests if method == "POST"]
    assert bodies == ['{"seed": 5}', '{"seed": 6}']


def test_the_tasks_viewport_holds(driver: Driver) -> None:
    observation = driver.open(
        "<p id=p></p><script>p.textContent = innerWidth + 'x' + innerHeight</script>", viewport_size={"width": 430}
    )
    assert "430x720" in observation.text


def test_step_before_reset_and_missing_sites_are_told(browser: Browser, pages: Pages) -> None:
    with WebEnv(browser, SiteSet({"pages": pages.url})) as env:
        with pytest.raises(ActionError, match="call reset"):
            env.step("wait")
        with pytest.raises(SiteError, match="needs the sites gitlab"):
            env.reset(task_on(sites=["gitlab"]))
        judged = {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": ["x"]}}
        with pytest.raises(TaskError, match="cannot be run"):
            env.reset(task_on(eval=judged))


def test_gymnasium_checks_pass(driver: Driver) -> None:
    driver.pages.pages["/"] = "<title>T</title><h1>x</h1><button>b</button>"
    env = WebGymEnv(task_on(), env=driver.env, render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # remarks about spaces without a flat form
        check_env(env)
    observation, info = env.reset(seed=1)
    assert observation["screenshot"].shape == (720, 1280, 3)
    assert info["observation"].goal == observation["goal"] == "Do what the test does."
    _, reward, terminated, truncated, info = env.step("stop [done]")
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["checks"][0]["ok"] is True
    env.reset(seed=1, options={"max_steps": 1})
    _, reward, terminated, truncated, info = env.step("wait")
    assert (reward, terminated, truncated, info["stop_reason"]) == (0.0, False, True, "max_steps")


def test_gymnasium_knows_the_environment(tmp_path: Path) -> None:
    import json

    file = tmp_path / "task.json"
    file.write_text(
        json.dumps([dict(task_on().raw, sites=["shopping"], start_url="__SHOPPING__", task_id=n) for n in (0, 1)])
    )
    with pytest.raises(TaskError, match="say which by task_id"):
        gymnasium.make(ENV_ID, task=file)
    env = gymnasium.make(ENV_ID, task=file, task_id=1, max_steps=2)
    assert env.unwrapped.task.task_id == 1  # type: ignore[attr-defined]
    env.close()
