from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from confkv_agents.web.sitekit import (
    Database,
    Field,
    Visit,
    check,
    check_new_password,
    check_password,
    door_routes,
    endpoint,
    hash_password,
    whole_number,
)
from confkv_agents.web.sitekit.visit import sign, unsign

SCHEMA = "CREATE TABLE note (text TEXT); CREATE TABLE session (id TEXT PRIMARY KEY, data TEXT NOT NULL);"


def fill(db: Any, seed: int) -> None:
    db.execute("INSERT INTO note VALUES (?)", (f"seed {seed}",))


def echo(visit: Visit) -> Response:
    if visit.form.get("keep"):
        visit.session["kept"] = visit.form["keep"]
    files = {name: [(u.name, len(u.data)) for u in ups] for name, ups in visit.files.items()}
    return JSONResponse({"form": visit.form, "files": files, "session": visit.session})


@pytest.fixture
def client(tmp_path: Path):
    database = Database(tmp_path / "x.sqlite", 1, SCHEMA, fill)
    routes = [
        *door_routes(lambda db, seed: {"seed": seed, "notes": [row[0] for row in db.execute("SELECT text FROM note")]}),
        Route("/", endpoint(echo, Visit, largest=2000), methods=["GET", "POST"]),
    ]
    app = Starlette(routes=routes)
    app.state.database, app.state.secret = database, b"s" * 32
    yield TestClient(app)
    database.close()


def test_doors(client):
    assert client.get("/__state__").json() == {"seed": 1, "notes": ["seed 1"]}
    assert client.post("/__reset__", json={"seed": 5}).status_code == 204
    assert client.get("/__state__").json() == {"seed": 5, "notes": ["seed 5"]}
    assert client.get("/__health__").text == "ok"


def test_fields_and_files_of_a_form(client):
    answer = client.post("/", data={"a": " x "}, files=[("f", ("../n.txt", b"12345")), ("f", ("m", b""))]).json()
    assert answer["form"] == {"a": "x"}
    assert answer["files"] == {"f": [["../n.txt", 5], ["m", 0]]}
    assert client.post("/", content="a=1&a=2&b=").json()["form"] == {"a": "2", "b": ""}


@pytest.mark.parametrize("size", [1990, 2100, 300_000])
def test_longer_bodies_than_allowed_are_refused_whatever_their_form(client, size):
    for send in ({"content": b"a=" + b"x" * (size - 2)}, {"files": {"f": ("n", b"x" * (size - 250))}}):
        assert client.post("/", **send).status_code == (200 if size < 2000 else 413)


@pytest.mark.parametrize("body", [b"no parts", b"--b\r\nbroken", b""])
def test_broken_multipart_is_refused(client, body):
    answer = client.post("/", content=body, headers={"content-type": "multipart/form-data; boundary=b"})
    assert answer.status_code in (200, 400)
    assert client.post("/", content=body, headers={"content-type": "multipart/form-data"}).status_code == 400


def test_session_lasts_and_a_forged_one_does_not(client):
    client.post("/", data={"keep": "this"})
    assert client.get("/").json()["session"] == {"kept": "this"}
    value = client.cookies["session"]
    client.cookies.clear()
    forged = ("A" if value[0] != "A" else "B") + value[1:]
    assert client.get("/", headers={"cookie": f"session={forged}"}).json()["session"] == {}


def test_signature():
    assert unsign(b"k", sign(b"k", "abc")) == "abc"
    assert unsign(b"other", sign(b"k", "abc")) is None
    assert unsign(b"k", "abc") is None


def test_check_of_fields():
    fields = (Field("a", "Name", shortest=2), Field("b", "Mail", kind="email", required=False),
              Field("c", "Text", kind="lines", longest=5, required=False))  # fmt: skip
    values, errors = check(fields, {"a": " x\x00  y ", "b": "", "c": "1\r\n2"})
    assert (values, errors) == ({"a": "x y", "b": "", "c": "1\n2"}, {})
    _, errors = check(fields, {"a": "x", "b": "no", "c": "123456"})
    assert errors == {
        "a": "Name needs 2 characters or more.",
        "b": "Please enter a valid email address.",
        "c": "Text may have 5 characters at most.",
    }


def test_numbers_and_passwords():
    assert whole_number("12", 1, 20) == 12
    assert [whole_number(text, 1, 20) for text in ("0", "21", "-1", "1.0", "\u0663", "")] == [None] * 6
    stored = hash_password("Password.123", b"salt")
    assert check_password("Password.123", stored)
    assert not check_password("Password.124", stored)
    assert check_new_password("abc", "abc").keys() == {"password"}
    assert check_new_password("engine1843", "engine1844").keys() == {"password2"}
    assert check_new_password("engine1843", "engine1843") == {}
