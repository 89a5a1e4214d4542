"""Evaluators read a site's state; agents and pages, which have only a browser, never do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from confkv_agents.errors import ConfigError, InfraError, SiteError
from confkv_agents.web.browser import Browser
from confkv_agents.web.doors import HEADER, VARIABLE, Locked, given_key, reset_site, site_state
from confkv_agents.web.env import WebEnv
from confkv_agents.web.sites import SiteServer, SiteSet
from confkv_agents.web.tasks import Task

SITE = """
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

def create_app(database, seed):
    state = {"secret": "blue"}
    async def reset(request):
        state["seed"] = (await request.json())["seed"]
        return Response(status_code=204)
    return Starlette(routes=[
        Route("/", lambda _: HTMLResponse("<h1>Mugs</h1><a href=/__state__>Everything</a><p id=told>nothing</p>"
            "<script>fetch('/__state__').then(r => r.text()).then(t => told.textContent = t)</script>")),
        Route("/__health__", lambda _: PlainTextResponse("ok")),
        Route("/__state__", lambda _: JSONResponse(state)),
        Route("/__reset__", reset, methods=["POST"]),
    ])
"""
DOORS = ("/__state__", "/__state__/", "//__state__", "/%5F_state__", "/__State__", "/__state__?x=1", "/x/../__state__")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "mugs"
    made.mkdir()
    (made / "site.py").write_text(SITE)
    return made


@pytest.fixture
def server(folder: Path) -> Iterator[SiteServer]:
    with SiteServer(folder, seed=1) as running:
        yield running


def task() -> Task:
    seen = {"url": "__MUGS__/__state__", "locator": "", "required_contents": {"must_include": ["blue"]}}
    raw = {
        "sites": ["mugs"],
        "task_id": 1,
        "intent": "What colour?",
        "start_url": "__MUGS__",
        "eval": {"eval_types": ["program_html"], "program_html": [seen, seen]},
    }
    return Task.read(raw, source=Path(__file__))


def served(url: str) -> Any:
    """Without the package's own client: what anybody gets."""
    import urllib.error
    import urllib.request

    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_without_the_key_the_doors_are_not_there(server: SiteServer) -> None:
    for door in DOORS:
        status, text = served(server.url + door)
        assert (status, "blue" in text) == (404, False), door
    assert served(f"{server.url}/__health__") == (200, "ok")
    for key in ("", "wrong", server.key[:-1]):
        with pytest.raises(SiteError, match=r"answered 404 .*CONFKV_SITE_KEY"):
            site_state(server.url, key)
        with pytest.raises(SiteError, match="answered 404"):
            reset_site(server.url, 7, key)
    server.reset(5)
    assert server.state() == {"secret": "blue", "seed": 5}


def test_every_start_has_a_key_of_its_own(folder: Path) -> None:
    with SiteServer(folder) as first, SiteServer(folder) as second:
        assert first.key != second.key and min(len(first.key), len(second.key)) > 20
        with pytest.raises(SiteError):
            site_state(first.url, second.key)


def test_a_key_sent_twice_opens_nothing() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"in"})

    client = TestClient(Locked(app, "a-long-key"))
    assert client.get("/__state__", headers={HEADER: "a-long-key"}).text == "in"
    twice = [(HEADER, "a-long-key"), (HEADER, "a-long-key")]
    assert client.get("/__state__", headers=twice).status_code == 404  # type: ignore[arg-type]
    assert client.get("/page").text == "in"


@pytest.mark.browser
def test_an_agent_finds_nothing_where_a_check_reads_the_state(browser: Browser, server: SiteServer) -> None:
    with SiteSet({"mugs": server}) as sites, WebEnv(browser, sites) as env:
        shown = env.reset(task(), seed=3)
        assert "'Not Found'" in shown.text, "a page's own script"
        for step, door in enumerate(("__state__", "%5F_state__", "/__state__")):
            text = env.step(f"goto [http://mugs.test/{door}]").observation.text
            assert "Not Found" in text and "blue" not in text, step
            assert [check.ok for check in env.evaluate()] == [True, True]
        text = env.step("go_back").observation.text
        assert "blue" not in text
        assert server.state()["seed"] == 3


@pytest.mark.browser
def test_a_site_of_another_process_opens_to_the_key_it_was_given(
    browser: Browser, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        SiteServer(folder, key="told-by-hand") as elsewhere,
        SiteSet.start({"mugs": elsewhere.url}) as sites,
        WebEnv(browser, sites) as env,
    ):
        with pytest.raises(InfraError, match="CONFKV_SITE_KEY"):
            env.reset(task())
        monkeypatch.setenv(VARIABLE, "told-by-hand")
        env.reset(task(), seed=9)
        assert "blue" not in env.step("goto [http://mugs.test/__state__]").observation.text
        assert all(check.ok for check in env.evaluate())
        assert sites.state("mugs")["seed"] == 9
    with SiteSet.start({"mugs": str(folder)}) as sites:
        assert json.dumps(sites.state("mugs")) == '{"secret": "blue"}'


@pytest.mark.parametrize("key", ["short", "with a space in it", "nön-ascii-key"])
def test_a_bad_key_is_refused(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, key)
    with pytest.raises(ConfigError, match="8 visible ASCII characters"):
        given_key()


def test_only_addresses_of_the_set_have_doors(server: SiteServer) -> None:
    with SiteSet({"mugs": server}) as sites:
        assert sites.behind(f"{server.url}/__state__") == {"secret": "blue"}
        for address in (server.url, f"{server.url}/__state__x", "http://127.0.0.1:9/__state__", "__state__"):
            assert sites.behind(address) is None
