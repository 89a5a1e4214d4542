from __future__ import annotations

import re

import pytest

NEW = {
    "first": "Ada", "last": "Berg", "email": "Ada@Mail.test", "password": "Secret.123", "password2": "Secret.123",
}  # fmt: skip


def test_demo_user_signs_in_and_out(shop):
    page = shop.sign_in()
    assert "emma.lopez@shop.test" in page
    assert "My Account" in shop.get("/")
    assert "You are signed out." in shop.post("/customer/account/logout/")
    assert "Customer Login" in shop.get("/customer/account/")


def test_the_account_menu_marks_the_page_one_is_on(shop):
    shop.sign_in()
    for path in ("/customer/account/", "/sales/order/history/", "/wishlist/"):
        assert re.findall(r'<a href="([^"]+)" class="current">', shop.get(path)) == [path]


@pytest.mark.parametrize(
    ("email", "password"),
    [("emma.lopez@shop.test", "wrong"), ("nobody@shop.test", "Password.123"), ("' OR 1=1 --@x.yz", "Password.123")],
)
def test_wrong_password_and_unknown_user_read_the_same(shop, email, password):
    page = shop.sign_in(email, password)
    assert "The email or the password is not right." in page or "valid email" in page
    assert "Customer Login" in shop.get("/customer/account/")


def test_sign_in_leads_to_the_page_that_asked_for_it(shop):
    assert "Please sign in to continue." in shop.get("/sales/order/history/")
    assert "My Orders" in shop.sign_in().split("<h1")[1].split("</h1>")[0]


def test_session_changes_at_sign_in_and_cookie_is_signed(shop):
    shop.get("/sales/order/history/")
    before = shop.client.cookies["shop_session"]
    shop.sign_in()
    after = shop.client.cookies["shop_session"]
    assert before != after
    shop.client.cookies.set("shop_session", after[:-1] + ("0" if after[-1] != "0" else "1"), domain="testserver.local")
    assert "Customer Login" in shop.get("/customer/account/")


def test_guest_cart_becomes_the_customers(shop, rows):
    slug, sku = rows("SELECT slug, sku FROM product WHERE sizes = '[]' AND stock > 9")[0]
    shop.add(slug, "2")
    shop.sign_in()
    carts = shop.state()["carts"]
    assert [(cart["email"], [(i["sku"], i["quantity"]) for i in cart["items"]]) for cart in carts] == [
        ("emma.lopez@shop.test", [(sku, 2)])
    ]
    shop.post("/customer/account/logout/")
    assert "no items" in shop.get("/checkout/cart/")
    shop.add(slug)
    shop.sign_in()
    assert [item["quantity"] for item in shop.state()["carts"][0]["items"]] == [3]


def test_new_customer_registers(shop):
    assert "Thank you for registering" in shop.post("/customer/account/create/", **NEW, newsletter="1")
    user = shop.state()["users"][-1]
    assert (user["email"], user["first"], user["newsletter"]) == ("ada@mail.test", "Ada", 1)
    shop.post("/customer/account/logout/")
    shop.sign_in("ADA@mail.test", "Secret.123")
    assert "Ada Berg" in shop.get("/customer/account/")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"email": "emma.lopez@shop.test"}, "There is already an account with this email address."),
        ({"email": "a@b"}, "Please enter a valid email address."),
        ({"password": "short1"}, "Please use 8 or more characters"),
        ({"password2": "Other.1234"}, "The two passwords are not the same."),
        ({"first": "x" * 41}, "First name may have 40 characters at most."),
        ({"last": " "}, "Last name is a required field."),
    ],
)
def test_registration_is_refused_with_a_reason(shop, change, message):
    assert message in shop.post("/customer/account/create/", **(NEW | change))
    assert len(shop.state()["users"]) == 3


def test_profile_changes_and_password_needs_the_old_one(shop):
    shop.sign_in()
    same = {"first": "Emma", "last": "Stone", "email": "emma.lopez@shop.test"}
    assert "You saved the account information." in shop.post("/customer/account/edit/", **same, newsletter="1")
    assert shop.state()["users"][0]["last"] == "Stone"
    new = {"password": "Another.123", "password2": "Another.123"}
    assert "Please enter your current password" in shop.post("/customer/account/edit/", **same, **new)
    shop.post("/customer/account/edit/", **same, **new, current="Password.123")
    shop.post("/customer/account/logout/")
    assert "is not right" in shop.sign_in()
    assert "Emma Stone" in shop.sign_in(password="Another.123")


ADDRESS = {
    "first": "Emma", "last": "Lopez", "street": "9 New Road", "city": "Carden", "postcode": "31875",
    "country": "United States", "telephone": "555-0111",
}  # fmt: skip


def test_address_book_adds_edits_and_deletes(shop):
    shop.sign_in()
    assert "You saved the address." in shop.post("/customer/address/new/", **ADDRESS)
    added = shop.state()["addresses"][-1]
    assert (added["street"], added["shipping"]) == ("9 New Road", 0)
    shop.post(f"/customer/address/edit/id/{added['id']}/", **(ADDRESS | {"street": "10 New Road"}), shipping="1")
    mine = [a for a in shop.state()["addresses"] if a["customer_id"] == 1]
    assert [(a["shipping"], a["billing"]) for a in mine] == [(0, 1), (1, 0)], "one default of each kind"
    assert "cannot be deleted" in shop.post(f"/customer/address/delete/id/{added['id']}/")
    shop.post("/customer/address/new/", **ADDRESS)
    last = shop.state()["addresses"][-1]["id"]
    assert "You deleted the address." in shop.post(f"/customer/address/delete/id/{last}/")
    assert "City is a required field." in shop.post("/customer/address/new/", **(ADDRESS | {"city": ""}))


def test_address_of_someone_else_is_out_of_reach(shop):
    shop.sign_in()
    assert shop.client.get("/customer/address/edit/id/2/").status_code == 404
    assert shop.client.post("/customer/address/delete/id/2/").status_code == 404
    assert len(shop.state()["addresses"]) == 3


def test_wish_list_needs_an_account_and_feeds_the_cart(shop, rows):
    slug, sku = rows("SELECT slug, sku FROM product WHERE sizes = '[]' AND stock > 9")[-1]
    assert "Please sign in to use your wish list." in shop.post("/wishlist/change/", product=slug)
    shop.sign_in()
    shop.post("/wishlist/change/", product=slug)
    shop.post("/wishlist/change/", product=slug)
    assert shop.state()["wishlists"]["emma.lopez@shop.test"].count(sku) == 1
    assert "products-grid wishlist" in shop.get("/wishlist/?limit=50")
    shop.add(slug, from_="wishlist")
    state = shop.state()
    assert sku not in state["wishlists"]["emma.lopez@shop.test"]
    assert [item["sku"] for item in state["carts"][0]["items"]] == [sku]


def test_order_history_lists_own_orders_only(shop):
    shop.sign_in()
    page = shop.get("/sales/order/history/")
    for order in shop.state()["orders"]:
        assert (order["number"] in page) == (order["customer_id"] == 1)
