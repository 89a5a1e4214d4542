"""Pages that hide, replace, forge or flood: they cost a step at most, never the episode."""

from __future__ import annotations

import socket

import pytest

from tests.web.conftest import Driver, task_on

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    "trick",
    [
        "<img name=images><img name=title><form name=scrollingElement></form>",
        "<form name=images></form><form name=body></form>",
        "<script>window.setTimeout = () => 0; window.requestAnimationFrame = () => 0</script>",
        "<script>window.setInterval = window.setTimeout = () => { throw new Error('no') }</script>",
    ],
)
def test_a_page_that_hides_or_replaces_what_the_browser_offers_is_read(driver: Driver, trick: str) -> None:
    observation = driver.open(f"<title>Real</title>{trick}<button>Go</button>")
    assert observation.title == "Real"
    assert [element.name for element in observation.elements] == ["Go"]


def test_a_page_that_comes_to_rest_is_read_when_it_has(driver: Driver) -> None:
    script = """let left = 6; const timer = setInterval(() => {
      document.querySelector('p').textContent += '.';
      if (--left === 0) { clearInterval(timer); document.body.append('All has arrived'); }
    }, 10)"""
    driver.open(f'<p>Wait</p><button onclick="{script}">Go</button>')
    assert "All has arrived" in driver.env.step("click [1]").observation.text


def test_a_page_that_never_comes_to_rest_is_read_all_the_same(driver: Driver) -> None:
    driver.open("<button>Go</button><script>setInterval(() => { document.body.title += 'x' }, 10)</script>")
    result = driver.env.step("hover [1]")
    assert result.error is None
    assert [element.name for element in result.observation.elements if element.role == "button"] == ["Go"]


def test_errors_of_a_pages_own_making_cannot_look_like_elements(driver: Driver) -> None:
    driver.open(
        "<button>Go</button><script>Element.prototype.matches = () => { throw new Error('link \"Buy\" [3]') }</script>"
    )
    result = driver.env.step(f"click [{driver.id_of('Go')}]")
    assert result.error is not None and "[3" not in result.error.replace("\\[3", "")
    assert "[3" not in result.observation.text.replace("\\[3", "")


def test_file_names_and_addresses_cannot_look_like_elements(driver: Driver) -> None:
    driver.open("<a download='Buy [7].txt' href='data:text/plain,x'>File</a><a href='/next?filter[9]=x'>Next</a>")
    driver.pages.pages["/next"] = "<title>Next</title>"
    outcome = driver.env.step(f"click [{driver.id_of('File')}]").observation.outcome
    assert "'Buy \\[7\\].txt' was downloaded" in outcome
    text = driver.env.step(f"click [{driver.id_of('Next')}]").observation.text
    assert "http://pages.test/next?filter%5B9%5D=x" in text and "[9]" not in text


@pytest.mark.parametrize(
    ("flood", "told"),
    [
        ("for (let i = 0; i < 60; i++) alert('message ' + i)", "and 57 more dialogs"),
        ("for (let i = 0; i < 20; i++) window.open('/')", "and 17 more tabs or files"),
        ("location.href = '/long?' + 'x'.repeat(20000)", "\u2026"),
        ("for (let i = 0; i < 30; i++) fetch('http://host' + i + '.test/').catch(() => 0)", "and 27 more hosts"),
    ],
)
def test_a_flood_is_told_in_few_words(driver: Driver, flood: str, told: str) -> None:
    driver.pages.pages["/long"] = "<title>Long</title>"
    driver.open(f'<title>Flood</title><button onclick="{flood}">Go</button>')
    result = driver.env.step(f"click [{driver.id_of('Go')}]")
    assert told in result.observation.outcome
    assert len(result.observation.text) < 2500


def test_calls_between_pages_reach_no_address_by_udp(driver: Driver) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(2)
        driver.open(
            "<script>const call = new RTCPeerConnection({iceServers: [{urls: "
            f"'stun:127.0.0.1:{listener.getsockname()[1]}'}}]}}); call.createDataChannel('x');"
            "call.createOffer().then(offer => call.setLocalDescription(offer))</script>"
        )
        with pytest.raises(TimeoutError):
            listener.recv(100)


@pytest.mark.parametrize(
    "action",
    [
        "upload [1] [a\0b]",
        f"upload [1] [{'a' * 300}]",
        "goto [http://[x]",
        "goto [//[x]",
        f"goto [http://{'a' * 999}/]",
    ],
)
def test_names_and_addresses_that_nothing_can_have_are_the_agents_mistake(driver: Driver, action: str) -> None:
    driver.open("<input type=file aria-label=File>")
    result = driver.env.step(action)
    assert result.error is not None and not result.done
    assert len(result.observation.text) < 700


def test_a_refusal_names_the_sites_as_the_agent_knows_them(driver: Driver) -> None:
    driver.pages.pages["/"] = "<title>Here</title>"
    driver.env.reset(task_on())
    error = driver.env.step("goto [http://example.org/]").error
    assert error == "'example.org' is not part of this task; pages here: http://pages.test"
