from __future__ import annotations

import tomllib
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from confkv_agents import plugins

from .conftest import Shopper


def test_reset_restores_the_seeded_state(shop, rows):
    before = shop.state()
    slug = rows("SELECT slug FROM product WHERE sizes = '[]' AND stock > 0")[0]["slug"]
    shop.sign_in()
    shop.add(slug)
    shop.post("/contact/", name="Ada", email="a@b.co", comment="Hello")
    assert shop.state() != before
    assert shop.client.post("/__reset__", json={"seed": 7}).status_code == 204
    assert shop.state() == before
    assert "Sign In" in shop.get("/"), "sessions are gone too"


def test_reset_to_another_seed_and_back(shop):
    before = shop.state()
    shop.client.post("/__reset__", json={"seed": 8})
    other = shop.state()
    assert other["seed"] == 8
    assert other["stock"].keys() != before["stock"].keys()
    shop.client.post("/__reset__", json={})
    assert shop.state() == other, "without a seed the present one is restored"
    for seed in range(20, 32):
        shop.client.post("/__reset__", json={"seed": seed})
    shop.client.post("/__reset__", json={"seed": 7})
    assert shop.state() == before


@pytest.mark.parametrize("body", ["{", '{"seed": "7"}', '{"seed": true}', "[7]", '{"seed": null}'])
def test_reset_refuses_what_is_no_seed(shop, body):
    before = shop.state()
    assert shop.client.post("/__reset__", content=body).status_code == 400
    assert shop.state() == before


def test_health(shop):
    assert shop.client.get("/__health__").status_code == 200


def test_two_shops_in_one_process_share_nothing(site, tmp_path, shop, rows):
    app = site.create_app(tmp_path / "other" / "shop.sqlite", 7)
    other = Shopper(app)
    before = other.state()
    shop.sign_in()
    shop.add(rows("SELECT slug FROM product WHERE sizes = '[]' AND stock > 0")[0]["slug"])
    assert other.state() == before
    other.client.cookies.update(shop.client.cookies)
    assert "Customer Login" in other.get("/customer/account/"), "cookies of one are nothing to the other"
    app.state.database.close()


def test_shop_begins_anew_on_an_old_file(site, tmp_path):
    path = tmp_path / "shop.sqlite"
    first = site.create_app(path, 7)
    fresh = Shopper(first).state()
    Shopper(first).post("/contact/", name="Ada", email="a@b.co", comment="Hello")
    first.state.database.close()
    second = site.create_app(path, 7)
    assert Shopper(second).state() == fresh
    second.state.database.close()


def test_requests_at_the_same_time_lose_nothing(shop):
    def write(n: int) -> int:
        client = Shopper(shop.client.app).client
        form = {"name": f"N{n}", "email": "a@b.co", "comment": "Hi"}
        return client.post("/contact/", data=form).status_code

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(write, range(24))) == {200}
    assert {message["name"] for message in shop.state()["messages"]} == {f"N{n}" for n in range(24)}


@pytest.mark.parametrize("path", ["/nope", "/nope.html", "/offers/nope/", "/gift-registry/x/", "/reviews/x/",
                                  "/sales/order/view/order_id/1/", "/customer/address/edit/id/x/"])  # fmt: skip
def test_missing_pages_are_a_page(shop, path):
    answer = shop.client.get(path)
    assert answer.status_code == 404
    assert "Page not found" in answer.text


def test_crash_shows_a_page_and_rolls_back(site, tmp_path):
    app = site.create_app(tmp_path / "shop.sqlite", 7)
    shopper = Shopper(app)
    with app.state.database.transaction() as db:
        db.execute("ALTER TABLE message RENAME TO gone")
    from starlette.testclient import TestClient

    client = TestClient(app, raise_server_exceptions=False)
    answer = client.post("/contact/", data={"name": "A", "email": "a@b.co", "comment": "c"})
    assert answer.status_code == 500
    assert "Something went wrong" in answer.text
    assert shopper.client.get("/").status_code == 200, "the next visitor is served"
    app.state.database.close()


def test_wrong_method_and_too_long_form(shop):
    assert shop.client.get("/checkout/cart/add/").status_code == 405
    assert shop.client.post("/contact/", data={"comment": "x" * 70_000}).status_code == 413
    assert shop.client.post("/contact/", content=b"\xff\xfe=1").status_code == 400


@pytest.mark.parametrize("goal", ["//evil.test/", "https://evil.test/", "/\\evil.test"])
def test_redirects_stay_on_the_site(site, part, goal):
    visit = part("visit").Visit.__new__(part("visit").Visit)
    assert visit.go(goal).headers["location"] == "/"


FORMS = [
    ("/contact/", ["name", "email", "telephone", "comment"]),
    ("/customer/account/login/", ["email", "password"]),
    ("/customer/account/create/", ["first", "last", "email", "password", "password2"]),
    ("/checkout/cart/coupon/", ["coupon_code", "action"]),
    ("/checkout/cart/update/", ["qty-1", "qty-x"]),
    ("/checkout/shipping/", ["email", "first", "street", "postcode", "method", "address"]),
    ("/checkout/order/", ["payment"]),
]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(form=st.sampled_from(FORMS), data=st.data())
def test_no_input_breaks_a_form(shop, form, data):
    path, fields = form
    values = data.draw(st.fixed_dictionaries({name: st.text(max_size=40) for name in fields}))
    answer = shop.client.post(path, data={k: v.encode("utf-8", "replace") for k, v in values.items()})
    assert answer.status_code == 200


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.dictionaries(st.sampled_from(["q", "sort", "page", "brand", "colour", "min", "max"]), st.text()))
def test_no_query_breaks_a_list(shop, query):
    query = {key: value.encode("utf-8", "replace").decode() for key, value in query.items()}
    for path in ("/clothing.html", "/catalogsearch/result/"):
        assert shop.client.get(path, params=query).status_code == 200


def test_other_pages(shop, rows):
    offers = shop.get("/offers/")
    for offer in rows("SELECT * FROM coupon"):
        assert f'href="/offers/{offer["slug"]}/"' in offers
        assert offer["code"] not in offers, "the code is a page further"
        assert offer["code"] in shop.get(f"/offers/{offer['slug']}/")
    for registry in rows("SELECT * FROM registry"):
        page = shop.get(f"/gift-registry/{registry['slug']}/")
        assert registry["street"] in page
        assert page.count("Wanted:") == 2
    assert "Standard" in shop.get("/delivery/")
    assert "104 cm" in shop.get("/size-guide/")


def test_contact_form_keeps_what_was_written(shop):
    page = shop.post("/contact/", name="Ada", email="ada", comment="Where is <my> order?")
    assert "Please enter a valid email address." in page
    assert "Where is &lt;my&gt; order?" in page
    page = shop.post("/contact/", name="Ada", email="ada@mail.test", comment="Where is my order?")
    assert "Thanks for contacting us." in page
    assert shop.state()["messages"][0]["comment"] == "Where is my order?"


def test_site_toml_names_users_that_exist(shop):
    settings_ = tomllib.loads((plugins.find_env("shop") / "site.toml").read_text("utf-8"))
    assert settings_["placeholder"] == "__SHOPPING__"
    users = {user["email"] for user in shop.state()["users"]}
    assert {user["email"] for user in settings_["users"]} == users
    for user in settings_["users"]:
        shop.client.cookies.clear()
        assert user["name"] in shop.sign_in(user["email"], user["password"])
    assert settings_["login"]["fields"]["email"] in users
