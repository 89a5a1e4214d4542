"""The contract that every site keeps: the doors for tests, determinism, isolation."""

from __future__ import annotations

import tomllib
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from confkv_agents import plugins

from .conftest import SEED, Member


def test_reset_restores_the_seeded_state(guest):
    before = guest.state()
    guest.log_in().submit(title="Something new")
    guest.post(f"/sv/{before['posts'][0]['id']}", choice="1")
    assert guest.state() != before
    assert guest.client.post("/__reset__", json={"seed": SEED}).status_code == 204
    assert guest.state() == before
    assert "Log in" in guest.get("/"), "sessions are gone too"


def test_reset_to_another_seed_and_back(guest):
    before = guest.state()
    guest.client.post("/__reset__", json={"seed": 8})
    other = guest.state()
    assert other["seed"] == 8
    assert [post["title"] for post in other["posts"]] != [post["title"] for post in before["posts"]]
    guest.client.post("/__reset__", json={})
    assert guest.state() == other, "without a seed the present one is restored"
    guest.client.post("/__reset__", json={"seed": SEED})
    assert guest.state() == before


@pytest.mark.parametrize("body", ["{", '{"seed": "7"}', '{"seed": true}', "[7]", '{"seed": null}'])
def test_reset_refuses_what_is_no_seed(guest, body):
    before = guest.state()
    assert guest.client.post("/__reset__", content=body).status_code == 400
    assert guest.state() == before


def test_health(guest):
    assert guest.client.get("/__health__").status_code == 200


def test_two_forums_in_one_process_share_nothing(site, tmp_path, guest):
    app = site.create_app(tmp_path / "other" / "forum.sqlite", SEED)
    other = Member(app)
    before = other.state()
    guest.log_in().submit()
    assert other.state() == before
    other.client.cookies.update(guest.client.cookies)
    assert "Log in" in other.get("/"), "cookies of one are nothing to the other"
    app.state.database.close()


def test_requests_at_the_same_time_lose_nothing(guest, app):
    post = guest.state()["posts"][0]["id"]

    def vote(n: int) -> int:
        member = Member(app)
        member.post("/registration", username=f"member_{n}", password="long enough", password2="long enough")
        return member.client.post(f"/sv/{post}", data={"choice": "1"}).status_code

    before = guest.state()["posts"][0]["score"]
    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(vote, range(12))) == {200}
    assert guest.state()["posts"][0]["score"] == before + 12


@pytest.mark.parametrize(
    "path",
    ["/nope", "/nope/hot", "/all/nope", "/f/nope", "/f/birds/nope", "/f/birds/1", "/forums/nope", "/user/nope", "/99",
     "/picture/1", "/saved_copy/1", "/polls/999", "/submission_images/nope.webp", "/submission_images/..%2fapp.webp",
     "/static/../app.py", "/static/%2e%2e/app.py", "/report/user/1"],
)  # fmt: skip
def test_missing_pages_are_a_page(wren, path):
    answer = wren.client.get(path)
    assert answer.status_code == 404


def test_wrong_method_and_bad_forms(wren):
    assert wren.client.put("/login").status_code == 405
    assert wren.client.post("/submit", content=b"\xff\xfe=1").status_code == 400
    broken = {"Content-Type": "multipart/form-data; boundary=x"}
    assert wren.client.post("/submit", content=b"no boundary here", headers=broken).status_code in (200, 400)
    assert wren.client.post("/submit", content=b"x", headers={"Content-Type": "multipart/form-data"}).status_code == 400


FORMS = [
    ("/login", ["_username", "_password"]), ("/registration", ["username", "password", "password2"]),
    ("/submit", ["title", "body", "url", "forum", "kind"]), ("/create_forum", ["name", "title", "description"]),
    ("/user/wren_hollis/edit_biography", ["biography"]), ("/user/otto_bright/compose_message", ["message"]),
    ("/user/wren_hollis/account", ["name", "password", "password2", "current"]), ("/messages/thread/1", ["message"]),
]  # fmt: skip
LOOSE = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@LOOSE
@given(form=st.sampled_from(FORMS), data=st.data())
def test_no_input_breaks_a_form(wren, form, data):
    path, fields = form
    values = data.draw(st.fixed_dictionaries({name: st.text(max_size=40) for name in fields}))
    answer = wren.client.post(path, data={k: v.encode("utf-8", "replace") for k, v in values.items()})
    assert answer.status_code in (200, 403, 404), "a renamed member is no longer found under the old name"


@LOOSE
@given(query=st.dictionaries(st.sampled_from(["q", "sort", "page", "t", "forum", "kind", "in"]), st.text(max_size=20)))
def test_no_query_breaks_a_list(guest, query):
    query = {key: value.encode("utf-8", "replace").decode() for key, value in query.items()}
    for path in ("/search", "/all/top", "/f/pets/most_commented"):
        assert guest.client.get(path, params=query).status_code == 200


def test_site_toml_names_members_that_can_log_in(guest):
    known = tomllib.loads((plugins.find_env("forum") / "site.toml").read_text("utf-8"))
    assert known["placeholder"] == "__REDDIT__"
    for user in known["users"]:
        guest.client.cookies.clear()
        guest.log_in(user["name"], user["password"])
        assert f'href="/user/{user["name"]}"' in guest.get("/")
    assert known["login"]["fields"]["_username"] == known["users"][0]["name"]
