from __future__ import annotations

import tomllib
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from confkv_agents import plugins

from .conftest import Neighbour, address


def comment(neighbour, listing, title="Hello"):
    form = {"title": title, "authorName": "Ada", "authorEmail": "ada@mail.test", "body": "Nice.", "rating": "4"}
    return neighbour.post("item", "add_comment", form, id=listing)


def test_reset_restores_the_seeded_state(lena):
    before = lena.state()
    listing = before["listings"][0]["id"]
    number = lena.draft()
    lena.post("item", "item_check", id=number)
    comment(lena, listing)
    lena.post("item", "mark", id=listing)
    lena.post("item", "item_delete", id=lena.listing(seller="lena.marsh@kerbside.test")["id"])
    assert lena.state() != before
    assert lena.client.post("/__reset__", json={"seed": 7}).status_code == 204
    assert lena.state() == before
    assert "Sign in" in lena.get(), "sessions are gone too"


def test_reset_to_another_seed_and_back(guest):
    before = guest.state()
    guest.client.post("/__reset__", json={"seed": 8})
    other = guest.state()
    assert other["seed"] == 8
    assert [item["title"] for item in other["listings"]] != [item["title"] for item in before["listings"]]
    guest.client.post("/__reset__", json={})
    assert guest.state() == other, "without a seed the present one is restored"
    guest.client.post("/__reset__", json={"seed": 7})
    assert guest.state() == before


@pytest.mark.parametrize("body", ["{", '{"seed": "7"}', '{"seed": true}', "[7]", '{"seed": null}', "[" * 3000])
def test_reset_refuses_what_is_no_seed(guest, body):
    before = guest.state()
    assert guest.client.post("/__reset__", content=body).status_code == 400
    assert guest.state() == before


def test_reset_refuses_an_endless_order(guest):
    assert guest.client.post("/__reset__", content="7" * 5000).status_code == 413


def test_two_sites_in_one_process_share_nothing(site, tmp_path, lena):
    app = site.create_app(tmp_path / "other" / "classifieds.sqlite", 7)
    other = Neighbour(app)
    before = other.state()
    lena.draft()
    assert other.state() == before
    other.client.cookies.update(lena.client.cookies)
    assert "Sign in" in other.get(), "cookies of one are nothing to the other"
    app.state.database.close()


def test_requests_at_the_same_time_lose_nothing(guest):
    listing = guest.state()["listings"][0]["id"]
    before = len(guest.state()["comments"])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: comment(Neighbour(guest.client.app), listing, f"T{n}"), range(16)))
    titles = {item["title"] for item in guest.state()["comments"][before:]}
    assert titles == {f"T{n}" for n in range(16)}


def test_state_tells_no_password(guest):
    assert all("password" not in user for user in guest.state()["users"])


@pytest.mark.parametrize(
    "path",
    ["/nope", address("nope"), address("item", id=1), address("item", id="x"), address("item"), address("item", "x"),
     address("user", "pub_profile", id=999), address("wanted", id=99), address("tips", region="Nowhere"),
     "/photo/999999.webp", "/icon/nope.webp", "/icon/..%2f..%2fschema.webp", "/static/..%2fapp.py"],
)  # fmt: skip
def test_missing_pages_are_a_page(guest, path):
    answer = guest.client.get(path)
    assert answer.status_code == 404
    assert "404" in answer.text
    assert "Page not found" in answer.text


@pytest.mark.parametrize(
    "name", [("item", "add_comment"), ("item", "mark"), ("item", "item_delete"), ("main", "logout")]
)
def test_what_changes_something_is_no_link(lena, name):
    before = lena.state()
    assert lena.client.get(address(*name, id=before["listings"][0]["id"])).status_code == 405
    assert lena.state() == before


def test_pages_without_a_form_take_none(guest):
    assert guest.client.post(address("search"), data={"sPattern": "x"}).status_code == 405


def test_crash_shows_a_page_and_rolls_back(app):
    with app.state.database.transaction() as db:
        db.execute("ALTER TABLE report RENAME TO gone")
    client = TestClient(app, raise_server_exceptions=False)
    with app.state.database.transaction() as db:
        (listing,) = db.execute("SELECT id FROM listing").fetchone()
    answer = client.post(address("item", "report", id=listing), data={"reason": "Spam"})
    assert answer.status_code == 500
    assert "Something went wrong" in answer.text
    assert client.get("/").status_code == 200, "the next visitor is served"


def test_headers_keep_foreign_things_out(guest):
    headers = guest.client.get("/").headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


def test_session_cookie_is_for_the_server_alone(guest):
    answer = guest.client.post(
        address("login"), data={"email": "lena.marsh@kerbside.test", "password": "Password.123"}, follow_redirects=False
    )
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie


def test_site_toml_names_users_that_can_sign_in(guest):
    known = tomllib.loads((plugins.find_env("classifieds") / "site.toml").read_text("utf-8"))
    assert known["placeholder"] == "__CLASSIFIEDS__"
    for user in known["users"]:
        guest.client.cookies.clear()
        assert user["name"] in guest.sign_in(user["email"], user["password"])
    assert known["login"]["path"] == address("login")
    assert known["login"]["fields"]["email"] == known["users"][0]["email"]


FORMS = [
    ("login", "", ["email", "password"]),
    ("register", "register", ["s_name", "s_email", "password", "password2"]),
    ("item", "add_comment", ["title", "authorName", "authorEmail", "body", "rating"]),
    ("item", "contact", ["yourName", "yourEmail", "phoneNumber", "message"]),
    ("item", "report", ["reason", "details"]),
]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(form=st.sampled_from(FORMS), data=st.data())
def test_no_input_breaks_a_form(guest, form, data):
    page, action, fields = form
    values = data.draw(st.fixed_dictionaries({name: st.text(max_size=40) for name in fields}))
    sent = {key: value.encode("utf-8", "replace") for key, value in values.items()}
    listing = guest.listing(seller="tomas.reed@kerbside.test")["id"]
    assert guest.client.post(address(page, action, id=listing), data=sent).status_code == 200


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    query=st.dictionaries(
        st.sampled_from(
            ["sPattern", "sCategory", "sRegion", "sPriceMin", "sPriceMax", "bPic", "sOrder", "iOrderType", "iPage",
             "sShowAs", "photo", "id", "tip"]
        ),
        st.text(max_size=30) | st.integers().map(str),
    ),
    page=st.sampled_from(["search", "item", "tips", "wanted", "user"]),
)  # fmt: skip
def test_no_query_breaks_a_page(guest, query, page):
    query = {key: value.encode("utf-8", "replace").decode() for key, value in query.items()}
    assert guest.client.get("/index.php", params={"page": page, **query}).status_code in (200, 404)
