from __future__ import annotations

import pytest

from .conftest import Neighbour, address

ADA = {"s_name": "Ada Byron", "s_email": "Ada@Mail.test", "password": "engine1843", "password2": "engine1843"}


def test_register_sign_out_and_in_again(guest):
    assert "Welcome to Kerbside, Ada Byron." in guest.post("register", "register", ADA)
    assert guest.state()["users"][-1]["email"] == "ada@mail.test"
    assert "You are signed out." in guest.post("main", "logout")
    assert "Sign in" in guest.get()
    assert "Ada Byron" in guest.sign_in("ADA@mail.test", "engine1843")


@pytest.mark.parametrize(
    ("change", "message"),
    [({"s_email": "lena.marsh@kerbside.test"}, "There is an account with this email already."),
     ({"password2": "other"}, "The two passwords are not the same."), ({"password": "short1"}, "8 or more characters"),
     ({"s_name": ""}, "Name is a required field.")],
)  # fmt: skip
def test_wrong_registration_is_explained(guest, change, message):
    before = guest.state()["users"]
    assert message in guest.post("register", "register", ADA | change)
    assert guest.state()["users"] == before


@pytest.mark.parametrize("password", ["", "password.123", "Password.1234"])
def test_wrong_password_does_not_sign_in(guest, password):
    page = guest.sign_in(password=password)
    assert "The email or the password is not right." in page
    assert "My listings" not in page


def test_nobody_signs_in_as_a_seeded_stranger(guest):
    stranger = guest.state()["users"][10]["email"]
    for password in ("", "$", "Password.123"):
        assert "not right" in guest.sign_in(stranger, password)


def test_signing_in_leads_to_where_one_wanted_to_go(guest):
    page = guest.get("user", "messages")
    assert "Please sign in to continue." in page
    answer = guest.client.post(address("login"), data={"email": "lena.marsh@kerbside.test", "password": "Password.123"})
    assert str(answer.url).endswith(address("user", "messages"))


def test_session_of_before_signing_out_is_worth_nothing(app, lena):
    stolen = dict(lena.client.cookies)
    lena.post("main", "logout")
    thief = Neighbour(app)
    thief.client.cookies.update(stolen)
    assert "Sign in" in thief.get()


@pytest.mark.parametrize("cookie", [b"x", b"x.y", b"", b"abc." + b"0" * 32, b"\xc3\xa9.1"])
def test_made_up_cookie_is_nobody(guest, cookie):
    answer = guest.client.get("/", headers={"cookie": b"kerbside_session=" + cookie})
    assert answer.status_code == 200
    assert "Sign in" in answer.text


def test_profile_is_changed_and_seen_by_others(app, lena):
    assert "Please enter a valid phone number." in lena.post(
        "user", "profile", {"s_name": "Lena Marsh", "s_phone": "none", "s_info": ""}
    )
    lena.post("user", "profile", {"s_name": "Lena M.", "s_phone": "555-0777", "s_info": "I mend clocks."})
    page = Neighbour(app).get("user", "pub_profile", id=1)
    assert "Lena M." in page
    assert "I mend clocks." in page


@pytest.mark.parametrize("action", ["items", "favourites", "messages", "profile"])
def test_own_pages_are_for_the_signed_in(guest, action):
    assert "Please sign in to continue." in guest.get("user", action)


def test_inbox_shows_offers_newest_first(lena):
    letters = [m for m in lena.state()["messages"] if m["to_user"] == 1]
    assert len(letters) == 5
    page = lena.get("user", "messages")
    places = [page.index(f"{m['name']}: ") for m in sorted(letters, key=lambda m: m["created"], reverse=True)]
    assert places == sorted(places)
