"""Sites start, reset, tell their state, and leave nothing behind."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from confkv_agents.errors import PluginError, SiteError
from confkv_agents.web import site_server
from confkv_agents.web.http import fetch_json, is_healthy, sign_in
from confkv_agents.web.sites import SiteServer, SiteSet, site_info
from tests.web.conftest import Pages

SITE = """
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

def create_app(database, seed):
    state = {"seed": seed, "database": str(database)}
    async def reset(request):
        state["seed"] = (await request.json())["seed"]
        return Response(status_code=204)
    async def login(request):
        answer = Response("ok")
        answer.set_cookie("session", "s1")
        return answer
    return Starlette(routes=[
        Route("/__health__", lambda request: Response("ok")),
        Route("/__state__", lambda request: JSONResponse(state)),
        Route("/__reset__", reset, methods=["POST"]),
        Route("/login", login, methods=["POST"]),
    ])
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "bookshop"
    folder.mkdir()
    (folder / "site.py").write_text(SITE)
    (folder / "site.toml").write_text(
        'title = "Books"\nplaceholder = "__SHOPPING__"\n[login]\npath = "/login"\nfields = {user = "ada"}\n'
    )
    return folder


@pytest.fixture
def server(site: Path) -> Iterator[SiteServer]:
    with SiteServer(site, seed=3) as running:
        yield running


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_start_that_is_cut_short_leaves_no_folder(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    (tmp_path / "t").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "t"))
    (site / "site.py").write_text(f"def create_app(database, seed):\n    raise {error.__name__}")
    with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else SiteError):
        SiteServer(site).start()
    assert list((tmp_path / "t").iterdir()) == []


def test_server_starts_resets_tells_its_state_and_stops(site: Path) -> None:
    server = SiteServer(site, seed=3)
    url = server.start()
    assert server.start() == url, "starting twice does nothing"
    assert server.state()["seed"] == 3
    server.reset(9)
    assert server.state()["seed"] == 9
    server.reset()
    assert server.state()["seed"] == 3
    folder = Path(str(server.state()["database"])).parent
    assert folder.is_dir()
    server.stop()
    server.stop()
    assert not folder.exists()
    assert not is_healthy(url, 1)
    assert "confkv-site-bookshop" not in [thread.name for thread in threading.enumerate()]


def test_several_copies_do_not_share_state(site: Path) -> None:
    with SiteServer(site, seed=1) as first, SiteServer(site, seed=2) as second:
        first.reset(5)
        assert (first.state()["seed"], second.state()["seed"]) == (5, 2)


def test_description_of_a_site(site: Path) -> None:
    info = site_info(site)
    assert (info.placeholder, info.title, info.names) == ("__SHOPPING__", "Books", {"bookshop", "shopping"})
    assert info.login is not None and info.login.fields == {"user": "ada"}
    (site / "site.toml").unlink()
    assert site_info(site).placeholder == "__BOOKSHOP__"
    (site / "site.toml").write_text("title =")
    with pytest.raises(SiteError, match=r"site\.toml"):
        site_info(site)


def test_signing_in_gives_cookies(server: SiteServer) -> None:
    assert sign_in(server.url, "/login", {"user": "ada"}) == [
        {"name": "session", "value": "s1", "url": server.url + "/"}
    ]
    with pytest.raises(SiteError, match="answered 404"):
        sign_in(server.url, "/nowhere", {})


def test_site_that_raises_or_lacks_its_function_is_told(tmp_path: Path) -> None:
    (tmp_path / "site.py").write_text("def create_app(database, seed):\n    raise RuntimeError('no paper')\n")
    with pytest.raises(SiteError, match="no paper"):
        SiteServer(tmp_path).start()
    other = tmp_path / "other"
    other.mkdir()
    (other / "site.py").write_text("")
    with pytest.raises(PluginError, match="create_app"):
        SiteServer(other).start()


def test_placeholders_and_shown_names(server: SiteServer) -> None:
    sites = SiteSet({"shop": server})
    assert "shopping" in sites and "bookshop" in sites and "reddit" not in sites
    assert sites.placeholders == {"__SHOPPING__": server.url}
    assert sites.resolve("__SHOPPING__/a http://bookshop.test/b") == f"{server.url}/a {server.url}/b"
    assert sites.show(f"at {server.url}/a?x=1") == "at http://bookshop.test/a?x=1"
    port = server.url.rpartition(":")[2]
    assert sites.show(f"http://localhost:{port}/") == "http://bookshop.test/"
    assert sites.show(f"{server.url}9/a") == f"{server.url}9/a", "another port is another site"
    assert sites.state("shopping")["seed"] == 3
    assert sites.health() == {"bookshop": True}
    with pytest.raises(SiteError, match="no site 'reddit' here"):
        sites.url("reddit")
    sites.close()
    assert is_healthy(server.url, 1), "a server that was passed in is not stopped"


def test_sites_by_address(pages: Pages) -> None:
    sites = SiteSet({"gitlab": pages.url + "/"})
    assert sites.placeholders == {"__GITLAB__": pages.url}
    sites.reset(4)
    assert ("POST", "/__reset__", '{"seed": 4}') in pages.requests
    with pytest.raises(SiteError, match=r"give a SiteServer or a http"):
        SiteSet({"x": "ftp://x"})
    with pytest.raises(SiteError, match="two sites stand for"):
        SiteSet({"gitlab": pages.url, "GitLab": pages.url})


def test_unknown_installed_site_names_what_there_is() -> None:
    with pytest.raises(SiteError, match=r"no installed site serves 'amazon' \(installed: "):
        SiteSet.start(["amazon"])


def test_site_that_does_not_answer_is_a_site_error() -> None:
    with pytest.raises(SiteError, match="did not answer"):
        fetch_json("http://127.0.0.1:9/__state__", deadline=1)


def test_folders_of_killed_processes_are_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    dead = tmp_path / f"confkv-site-{gone.pid}-abc"
    dead.mkdir()
    mine = tmp_path / "confkv-site-notes"
    mine.mkdir()
    site_server._remove_leftovers()
    assert not dead.exists()
    assert mine.exists()


def test_a_site_may_be_given_as_a_folder_under_its_own_name(tmp_path):
    folder = tmp_path / "mugs"
    folder.mkdir()
    (folder / "site.py").write_text(
        "from starlette.applications import Starlette\n"
        "from starlette.responses import PlainTextResponse\n"
        "from starlette.routing import Route\n"
        "def create_app(database, seed):\n"
        "    return Starlette(routes=[Route('/__health__', lambda _: PlainTextResponse('ok'))])\n"
    )
    with SiteSet.start({"mugs": str(folder)}) as sites:
        assert set(sites.placeholders) == {"__MUGS__"} and sites.health() == {"mugs": True}
    with pytest.raises(SiteError, match=r"is called mugs, not 'cups'; give it under that name"):
        SiteSet.start({"cups": str(folder)})
