"""Sites that lead: they say what is asked once the page has started, and end the episode; clocks that stand still."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from confkv_agents.errors import InfraError
from confkv_agents.web import from_site
from tests.web.conftest import Driver, task_on

pytestmark = pytest.mark.browser

LED = {
    "eval": {"eval_types": ["site_reward"]},
    "x_confkv": {"from_site": True},
}


class Game:
    """A site whose page asks for a click and says when it came."""

    def __init__(self, driver: Driver) -> None:
        self.state: dict[str, Any] = {"intent": "", "over": False, "reward": 0.0}
        page = "<button onclick=\"fetch('/won', {method: 'POST'})\">win</button><button>other</button>"
        start = "<script>fetch('/started', {method: 'POST'})</script>"
        driver.pages.pages |= {
            "/": page + start,
            "/started": self._take({"intent": "Win the game."}),
            "/won": self._take({"over": True, "reward": 1.0}),
            "/__state__": self._tell,
        }

    def _take(self, what: dict[str, Any]) -> Any:
        def take(handler: BaseHTTPRequestHandler) -> None:
            self.state |= what
            handler.send_response(204)
            handler.end_headers()

        return take

    def _tell(self, handler: BaseHTTPRequestHandler) -> None:
        data = json.dumps(self.state).encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)


def test_what_the_page_asks_for_becomes_the_intent_and_its_end_the_episodes_end(driver: Driver) -> None:
    Game(driver)
    seen = driver.env.reset(task_on(**LED))
    assert driver.env.task is not None and seen.goal == driver.env.task.intent == "Win the game."
    assert not driver.env.step(f"click [{driver.id_of('other')}]").done
    result = driver.env.step(f"click [{driver.id_of('win')}]")
    assert (result.done, result.stop_reason) == (True, "stop")
    assert result.observation.outcome.endswith("; the page ended the task")
    assert [check.ok for check in driver.env.evaluate()] == [True]


def test_a_page_that_never_says_what_is_asked_is_the_environments_fault(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = Game(driver)
    driver.pages.pages["/"] = "<button>win</button>"
    monkeypatch.setattr(from_site, "_PATIENCE_S", 0.05)
    with pytest.raises(InfraError, match=r"did not say what is asked within 0\.05 s"):
        driver.env.reset(task_on(**LED))
    assert driver.env.stop_reason == "infra_error" and game.state["intent"] == ""


TICKING = """<p id=time></p><p id=ticks>0 ticks</p><button>b</button><script>
document.getElementById('time').textContent = new Date().toISOString();
let ticks = 0;
setInterval(() => { ticks += 1; document.getElementById('ticks').textContent = ticks + ' ticks' }, 100);
</script>"""


def test_a_clock_of_steps_moves_by_a_second_an_action_and_begins_at_one_date(driver: Driver) -> None:
    driver.pages.pages["/"] = TICKING
    seen = driver.env.reset(task_on(x_confkv={"clock": "steps"}))
    assert "text '2024-01-01T00:00:00.000Z'" in seen.text and "text '10 ticks'" in seen.text
    assert "text '20 ticks'" in driver.env.step(f"hover [{driver.id_of('b')}]").observation.text
    assert "text '20 ticks'" in driver.env.step("nonsense").observation.text
    assert "text '50 ticks'" in driver.env.step("wait [3]").observation.text
